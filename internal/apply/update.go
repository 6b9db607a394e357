package apply

import "github.com/capstan-dev/capstan/internal/document"

// Update records a write other than an apply in obj's metadata.managedFields. live is the
// object that obj replaces, absent if obj is new. obj is as the client sent it (or as a
// patch made it), with defaults; its managedFields may be those of the client, which may
// change or reset them.
//
// Mistakes in managedFields do not fail a write: unreadable entries are ignored. Errors
// are those of Versions.
func (k *Kind) Update(live, obj document.Value, w Write) error {
	meta, liveList := obj.SetObject("metadata"), live.At("metadata", "managedFields")
	managers := clientLedger(meta.Get("managedFields"), liveList, w)
	replaced := managers != nil
	if !replaced {
		if !document.Equal(meta.Get("managedFields"), liveList) {
			meta.Put("managedFields", liveList)
		}
		var err error
		if managers, err = readLedger(meta.Get("managedFields"), false); err != nil {
			managers = nil
		}
	}
	if len(managers) == 0 {
		meta.Remove("managedFields")
		if !live.Exists() {
			k.create(obj, meta, w)
		}
		return nil // ownership of an object without entries is not tracked before the first apply
	}
	g := k.grammar()
	g.repeats = w.Lists
	d := g.compare(k.Type, live, obj)
	if d.vague {
		meta.Remove("managedFields") // ownership is reset, as in 1.25
		return nil
	}
	managers, err := k.update(live, obj, managers, d.without(w.Reset), w)
	if err != nil {
		return err
	}
	if replaced {
		managers.store(meta)
	} else {
		managers.edit(meta)
	}
	return nil
}

// create records the creator of a new object.
func (k *Kind) create(obj, meta document.Value, w Write) {
	e := &entry{id: k.updater(w), version: k.APIVersion, time: w.Time, changed: true, known: true}
	g := k.grammar().fieldsWriter()
	g.repeats = w.Lists
	defer g.release()
	text := e.appendHead(append(g.out[:0], '['))
	start := len(text)
	text = g.created(text, k.Type, obj, w.Reset)
	owned := len(text) - start
	text = append(e.appendTail(text), ']')
	g.out = text
	if g.vague || owned <= len("{}") || meta.SetStored("managedFields", text) != nil {
		meta.Remove("managedFields")
	}
}

// clientLedger is the list of entries that a client sent; nil if it sent none that count
// and those of the live object are kept. A list with one empty entry resets them.
func clientLedger(sent, live document.Value, w Write) ledger {
	if w.Subresource != "" || sent.Len() == 0 || document.Equal(sent, live) {
		return nil
	}
	if sent.Len() == 1 && sent.Index(0).Len() == 0 {
		return ledger{}
	}
	managers, err := readLedger(sent, true)
	if err != nil {
		return nil
	}
	return managers
}

// update adds the changes of a write to its manager's entry and removes them from others.
func (k *Kind) update(live, obj document.Value, managers ledger, d difference, w Write) (ledger, error) {
	mine := d.changed().Difference(neverOwned)
	managers, err := k.take(managers, live, obj, d, nil, w)
	if err != nil {
		return nil, err
	}
	if !mine.Empty() {
		me := managers.find(k.updater(w))
		if me == nil {
			me = &entry{id: k.updater(w), version: k.APIVersion}
			managers = append(managers, me)
		}
		if me.known || !me.stored.Exists() || !holds(me.fields(), mine) {
			me.own(me.owned().Union(mine))
		}
		me.time, me.changed = w.Time, true
	}
	return managers.withoutEmpty().limit(), nil
}

// updater is the identity of the entry of a write other than an apply.
func (k *Kind) updater(w Write) identity {
	return identity{named(w.Manager), opUpdate, k.APIVersion, w.Subresource}
}

func named(manager string) string {
	if manager == "" {
		return "unknown"
	}
	return manager
}

// take removes the changed or removed fields from the entries of all but one manager.
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
		gone := diff.removed
		if except != nil || e.id != mine { // the writer keeps the fields that it changed
			gone = diff.changed().Union(gone)
		}
		if e.known || touches(e.fields(), gone) {
			e.own(e.owned().Difference(gone))
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// diffIn is the difference in a version, nil if the kind does not have that version.
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

// KeepTimes gives obj, which replaces old, the managedFields of old if only their times
// differ, so that a write without effect stays one. Call it when obj is complete but for
// its resourceVersion.
func KeepTimes(obj, old document.Value) {
	meta, oldMeta := obj.Get("metadata"), old.Get("metadata")
	list, oldList := meta.Get("managedFields"), oldMeta.Get("managedFields")
	if !list.Exists() || document.Equal(list, oldList) || !equalBut(obj, old, "metadata", "") {
		return
	}
	if !equalButTimes(list, oldList) || !equalBut(meta, oldMeta, "managedFields", "resourceVersion") {
		return
	}
	meta.Put("managedFields", oldList)
}

// equalButTimes compares entries in any order.
func equalButTimes(a, b document.Value) bool {
	x, err1 := readLedger(a, false)
	y, err2 := readLedger(b, false)
	if err1 != nil || err2 != nil || len(x) != len(y) {
		return false
	}
	byID := make(map[identity]*entry, len(y))
	for _, e := range y {
		byID[e.id] = e
	}
	for _, e := range x {
		other := byID[e.id]
		if other == nil || other.version != e.version || !document.Equal(e.fields(), other.fields()) {
			return false
		}
	}
	return true
}

// equalBut compares objects without two of their members.
func equalBut(a, b document.Value, but1, but2 string) bool {
	same := true
	members(nil, a, b, func(name string, x, y document.Value) {
		if same && name != but1 && name != but2 && !document.Equal(x, y) {
			same = false
		}
	})
	return same
}
