package watch

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// together announces a change of each object at the next revision.
func together(h *Hub, tape *tape, revision uint64, names ...string) {
	b := store.Batch{Revision: revision}
	for _, name := range names {
		b.Changes = append(b.Changes, &store.Change{Op: store.OpUpdate, Entry: store.Entry{Key: "core/pods/a/" + name, Revision: revision}})
	}
	tape.changes = append(tape.changes, b.Changes...)
	h.publish(b)
}

// keysOf are the names of the objects of events, with their revisions.
func keysOf(events []*Event) (all []string) {
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s@%d", e.Entry.Key[len("core/pods/a/"):], e.Entry.Revision))
	}
	return all
}

// TestSharedRevisions: the changes at one revision are never split, neither in the ring nor in the
// log, and a watcher that resumes at one with several gets all of them.
func TestSharedRevisions(t *testing.T) {
	for _, ring := range []int{3, 1000} { // most changes are in the log, or none
		var several []string
		for i := range batchSize + 10 {
			several = append(several, fmt.Sprint("s", i))
		}
		tape := &tape{}
		h := newHub(t, tape, Config{RingEvents: ring, Shared: true})
		first := h.Watch("core/pods/", 0)
		together(h, tape, 1, "x")
		together(h, tape, 2, "x", "y")
		together(h, tape, 3, "z")
		together(h, tape, 4, several...)
		for _, after := range []struct {
			revision uint64
			prefix   string
			want     []string
		}{
			{1, "core/pods/", []string{"x@2", "y@2", "z@3", "s0@4"}},
			{2, "core/pods/", []string{"x@2", "y@2", "z@3", "s0@4"}},
			{2, "core/pods/a/y", nil},
			{3, "core/pods/", []string{"s0@4", "s1@4"}},
		} {
			c := h.Resume(after.prefix, after.revision)
			if got := keysOf(drain(t, c)); len(got) < len(after.want) || !slices.Equal(got[:len(after.want)], after.want) {
				t.Errorf("ring of %d: a watcher of %s after %d gets %q", ring, after.prefix, after.revision, got)
			}
			c.Close()
		}
		events, _, err := first.Poll(t.Context())
		for err == nil && first.Revision() < 4 {
			var more []*Event
			more, _, err = first.Poll(t.Context())
			events = append(events, more...)
		}
		if err != nil || len(events) != 4+len(several) {
			t.Errorf("ring of %d: %d events, %v", ring, len(events), err)
		}
	}
}

// TestGap: watchers before a gap have to begin anew, those after it see what follows.
func TestGap(t *testing.T) {
	tape := &tape{}
	h := newHub(t, tape, Config{})
	before := h.Watch("core/pods/", 0)
	together(h, tape, 1, "x")
	if got := keysOf(drain(t, before)); !slices.Equal(got, []string{"x@1"}) {
		t.Errorf("before the gap: %q", got)
	}
	_, wake, err := before.Poll(t.Context())
	if err != nil || closed(wake) {
		t.Fatalf("%v, woken: %t", err, closed(wake))
	}
	h.publish(store.Batch{Changes: []*store.Change{{Op: store.OpDelete, Entry: store.Entry{Key: "core/pods/a/x", Revision: 9}}}, Revision: 9, Gap: true})
	if !closed(wake) {
		t.Error("the gap does not wake a watcher")
	}
	var trimmed *store.TrimmedError
	if events, _, err := before.Poll(t.Context()); len(events) > 0 || !errors.As(err, &trimmed) || trimmed.Asked != 1 || trimmed.Oldest != 9 {
		t.Errorf("%d events, %v", len(events), err)
	}
	before.Close()
	after := h.Watch("core/pods/", 9)
	together(h, tape, 10, "y")
	if got := keysOf(drain(t, after)); !slices.Equal(got, []string{"y@10"}) {
		t.Errorf("after the gap: %q", got)
	}
}
