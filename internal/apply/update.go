package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// Update records a write that is no apply in obj's metadata.managedFields. live
// is the object that obj replaces, absent if obj is new. obj is as the client
// sent it (or as a patch made it), with defaults; its managedFields may be the
// client's, who may change or reset them.
//
// Nothing that is wrong with managedFields fails a write: what cannot be read is
// ignored. Errors are those of Versions.
func (k *Kind) Update(live, obj document.Value, w Write) error {
	meta, liveList := obj.SetObject("metadata"), live.At("metadata", "managedFields")
	sent := meta.Get("managedFields")
	if live.Exists() && document.Equal(sent, liveList) {
		sent = document.Value{}
	}
	managers, err := startLedger(liveList, sent, w)
	if err != nil {
		return err
	}
	if len(managers) == 0 && live.Exists() {
		meta.Remove("managedFields") // ownership is not tracked until somebody applies
		return nil
	}
	if managers, err = k.update(live, obj, managers, w); err != nil {
		return err
	}
	if len(managers) > 0 && len(managers) == liveList.Len() && !managers.changed() {
		if !document.Equal(meta.Get("managedFields"), liveList) {
			meta.Put("managedFields", liveList)
		}
		return nil
	}
	managers.store(meta)
	return nil
}

// startLedger decides where the entries come from: a list that the client sent,
// if it is one, or the live object. A list with one empty entry resets it.
func startLedger(live, sent document.Value, w Write) (ledger, error) {
	if w.Subresource == "" && sent.Len() > 0 {
		if sent.Len() == 1 && sent.Index(0).Len() == 0 {
			return nil, nil
		}
		if managers, err := readLedger(sent, true); err == nil && len(managers) > 0 {
			return managers, nil
		}
	}
	managers, err := readLedger(live, false)
	if err != nil {
		managers = nil
	}
	return managers, nil
}

// changed reports whether an entry has to be written anew.
func (l ledger) changed() bool {
	for _, e := range l {
		if e.changed {
			return true
		}
	}
	return false
}

// update gives what the write changed to its manager and takes it from others.
func (k *Kind) update(live, obj document.Value, managers ledger, w Write) (ledger, error) {
	g := k.grammar()
	d := g.compare(k.Type, live, obj).without(w.Reset)
	managers, err := k.take(managers, live, obj, d, nil, w)
	if err != nil {
		return nil, err
	}
	mine := d.changed().Difference(never)
	if !mine.Empty() {
		me := managers.find(k.updater(w))
		if me == nil {
			me = &entry{id: k.updater(w), version: k.APIVersion, known: true}
			managers = append(managers, me)
		}
		if me.known || !holds(me.fields(), mine) {
			me.own(me.owned().Union(mine))
		}
		me.time, me.changed = w.Time, true
	}
	return managers.withoutEmpty().limit(), nil
}

// updater is the identity of the entry of a write that is no apply.
func (k *Kind) updater(w Write) identity {
	return identity{named(w.Manager), opUpdate, k.APIVersion, w.Subresource}
}

func named(manager string) string {
	if manager == "" {
		return "unknown"
	}
	return manager
}

// take removes what was changed or removed from the entries of all but one.
func (k *Kind) take(managers ledger, live, obj document.Value, d difference, except *entry, w Write) (ledger, error) {
	diffs := map[string]*difference{k.APIVersion: &d}
	mine := k.updater(w)
	kept := managers[:0]
	for _, e := range managers {
		if e == except {
			kept = append(kept, e)
			continue
		}
		diff, err := k.diffIn(diffs, e.version, live, obj, w)
		if err != nil {
			return nil, err
		}
		if diff == nil {
			continue
		}
		gone := diff.changed().Union(diff.removed)
		if except == nil && e.id == mine {
			gone = diff.removed // what it changed stays with it
		}
		if e.known || touches(e.fields(), gone) {
			e.own(e.owned().Difference(gone))
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// diffIn is the difference in a version, nil for a version that does not exist.
func (k *Kind) diffIn(diffs map[string]*difference, version string, live, obj document.Value, w Write) (*difference, error) {
	if d, ok := diffs[version]; ok {
		return d, nil
	}
	v, err := k.view(version, live, obj)
	if err != nil || v == nil {
		diffs[version] = nil
		return nil, err
	}
	defer v.release()
	d := v.compare(v.typ, v.old, v.new).without(w.Reset)
	diffs[version] = &d
	return &d, nil
}

// store writes the entries into an object's metadata.
func (l ledger) store(meta document.Value) {
	l.sort()
	if len(l) == 0 || meta.SetRaw("managedFields", l.appendJSON(nil)) != nil {
		meta.Remove("managedFields")
	}
}

// KeepTimes gives obj, which is to replace old, the managedFields of old if
// nothing differs but their times, so that a write without effect stays one.
// Call it when obj is complete but for its resourceVersion.
func KeepTimes(obj, old document.Value) {
	meta, oldMeta := obj.Get("metadata"), old.Get("metadata")
	list, oldList := meta.Get("managedFields"), oldMeta.Get("managedFields")
	if !list.Exists() || document.Equal(list, oldList) || !equalButTimes(list, oldList) {
		return
	}
	if !equalBut(obj, old, "metadata", "") || !equalBut(meta, oldMeta, "managedFields", "resourceVersion") {
		return
	}
	meta.Put("managedFields", oldList)
}

// equalButTimes compares entries, in whatever order.
func equalButTimes(a, b document.Value) bool {
	x, err1 := readLedger(a, false)
	y, err2 := readLedger(b, false)
	if err1 != nil || err2 != nil || len(x) != len(y) {
		return false
	}
	for _, e := range x {
		other := y.find(e.id)
		if other == nil || other.version != e.version || !document.Equal(e.fields(), other.fields()) {
			return false
		}
	}
	return true
}

// equalBut compares objects without two of their members.
func equalBut(a, b document.Value, but1, but2 string) bool {
	same := true
	members(a, b, func(name string, x, y document.Value) {
		if same && name != but1 && name != but2 && !document.Equal(x, y) {
			same = false
		}
	})
	return same
}
