package references_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// place is an object of the storm.
type place struct {
	Metadata struct {
		Name, UID, DeletionTimestamp string
		OwnerReferences              []reference
	}
	Data  map[string]string
	key   string
	freed bool // the collector has ended its blocking, to break a circle; it then deletes the object whatever it has become meanwhile
}

// reference is an owner reference.
type reference struct {
	Kind, Name, UID    string
	BlockOwnerDeletion bool
}

// The keys that the fields of trucks name objects by.
var (
	keeps   = map[string]string{"depot": prefix + "depots/default/", "yard": prefix + "yards/"}
	cascade = map[string]string{"home": prefix + "depots/default/", "base": prefix + "yards/", "towed": prefix + "trucks/default/"}
)

const prefix = "fleet.example.com/"

// named are the keys of the objects that a truck names by some fields, without its own.
func (p *place) named(by map[string]string) (keys []string) {
	for field, in := range by {
		if key := in + p.Data[field]; p.Data[field] != "" && key != p.key && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// owner is the key of an owner.
func owner(kind, name string) string {
	if kind == "Yard" {
		return prefix + "yards/" + name
	}
	return prefix + strings.ToLower(kind) + "s/default/" + name
}

// settle takes the finalizers away, and waits until what has no owner any more is gone.
func (s *storm) settle() {
	for n := range depots {
		for _, in := range []string{harness.Depots, harness.Yards} {
			s.send(0, http.MethodPatch, fmt.Sprintf("%s/p%d", in, n), harness.MergePatchMedia, `{"metadata":{"finalizers":null}}`)
		}
	}
	var left []string
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = s.unsettled(); left == nil {
			return
		}
	}
	s.t.Errorf("90 s after the last request: %s", strings.Join(left, "; "))
}

// unsettled finds objects that are about to go, or that have outlived an owner.
func (s *storm) unsettled() (left []string) {
	live := map[string]bool{}
	var all []place
	for _, in := range []string{harness.Depots, harness.Yards, harness.Trucks} {
		var list struct{ Items []place }
		code, text := s.send(0, http.MethodGet, in, "", "")
		if err := json.Unmarshal(text, &list); err != nil || code != http.StatusOK {
			return []string{fmt.Sprintf("%s: %d %v", in, code, err)}
		}
		all = append(all, list.Items...)
	}
	for _, p := range all {
		live[p.Metadata.UID] = true
		if p.Metadata.DeletionTimestamp != "" {
			left = append(left, p.Metadata.Name+" is being deleted")
		}
	}
	for _, p := range all {
		for _, o := range p.Metadata.OwnerReferences {
			if !live[o.UID] {
				left = append(left, fmt.Sprintf("%s is owned by %s %s, which has gone", p.Metadata.Name, o.Kind, o.Name))
			}
		}
	}
	return left
}

// judge follows the history of the store.
func (s *storm) judge() {
	running := s.members[0].running
	state, changes := map[string]*place{}, 0
	_, err := running.Store.Changes(s.t.Context(), prefix, running.Store.Oldest(), func(c *store.Change) bool {
		changes++
		now := &place{key: strings.Clone(c.Entry.Key)}
		if err := json.Unmarshal(c.Entry.Body, now); err != nil {
			s.t.Error(err)
		}
		before := state[now.key]
		now.freed = before != nil && before.freed || slices.ContainsFunc(now.Metadata.OwnerReferences, func(o reference) bool { return !o.BlockOwnerDeletion })
		for _, wrong := range wrongIn(state, before, now, c.Op == store.OpDelete) {
			s.t.Errorf("at %d %s: %s", c.Entry.Revision, now.key, wrong)
		}
		if state[now.key] = now; c.Op == store.OpDelete {
			delete(state, now.key)
		}
		for _, p := range state {
			for _, key := range p.named(keeps) {
				if state[key] == nil {
					s.t.Errorf("at %d %s names %s, which is not there", c.Entry.Revision, p.key, key)
				}
			}
		}
		return !s.t.Failed()
	})
	if err != nil || changes < 100 {
		s.t.Errorf("%d changes are known: %v", changes, err)
	}
	s.t.Logf("%d changes, %d objects are left", changes, len(state))
	for _, p := range state {
		if n := 0; strings.HasPrefix(p.key, prefix+"trucks/") {
			if _, err := fmt.Sscanf(p.Metadata.Name, "t%d", &n); err == nil && n < alone && p.Data["home"] != "" && state[owner("Depot", p.Data["home"])] == nil {
				s.t.Errorf("%s has outlived its home", p.key)
			}
		}
	}
}

// wrongIn lists the mistakes in a change of a truck, by the state before it.
func wrongIn(state map[string]*place, before, now *place, gone bool) (wrong []string) {
	if !strings.HasPrefix(now.key, prefix+"trucks/") {
		return nil
	}
	if before == nil {
		before = &place{key: now.key}
	}
	there := func(key, uid string) bool {
		p := state[key]
		return p != nil && p.Metadata.UID == uid && p.Metadata.DeletionTimestamp == ""
	}
	if gone || now.Metadata.DeletionTimestamp != "" {
		if number := 0; before.Metadata.DeletionTimestamp == "" && !before.freed {
			_, _ = fmt.Sscanf(now.Metadata.Name, "t%d", &number)
			for _, o := range before.Metadata.OwnerReferences {
				if number < never && there(owner(o.Kind, o.Name), o.UID) {
					wrong = append(wrong, fmt.Sprintf("nobody deletes it, and it goes while %s %s is there", o.Kind, o.Name))
				}
			}
			if number < never && len(before.Metadata.OwnerReferences) == 0 {
				wrong = append(wrong, "nobody deletes it, and it goes without an owner")
			}
		}
		return wrong
	}
	names, named := now.named(cascade), before.named(cascade)
	var owners []string
	for _, o := range now.Metadata.OwnerReferences {
		key := owner(o.Kind, o.Name)
		owners = append(owners, key)
		known := slices.ContainsFunc(before.Metadata.OwnerReferences, func(b reference) bool { return b.UID == o.UID })
		switch {
		case !slices.Contains(names, key):
			wrong = append(wrong, "it is owned by "+key+", which it does not name")
		case !known && !there(key, o.UID) && !slices.Contains(named, key):
			wrong = append(wrong, "it gets the owner "+key+", which is not there")
		}
	}
	for _, key := range names {
		known := slices.ContainsFunc(before.Metadata.OwnerReferences, func(o reference) bool { return owner(o.Kind, o.Name) == key })
		switch {
		case slices.Contains(owners, key):
		case !slices.Contains(named, key):
			wrong = append(wrong, "it begins to name "+key+", and is not owned by it")
		case known && len(owners) == 0:
			wrong = append(wrong, "it still names "+key+", its last owner, and is not owned by it any more")
		}
	}
	return wrong
}
