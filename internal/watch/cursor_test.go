package watch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// TestEveryBorder tries every position of a cursor against every revision at which its
// ring can begin: rings of several sizes that were made after k of the writes, cursors
// after every revision, some of them not written yet, drained at once or only at the end.
func TestEveryBorder(t *testing.T) {
	const writes = 14
	s := newStore(t)
	type watcher struct {
		*Cursor
		prefix string
		after  uint64
		got    []*Event
	}
	var truth []store.Change
	var watchers []*watcher
	for k := range writes + 1 {
		for _, size := range []int{1, 2, 3, 5, 100} {
			h := newHub(t, s, Config{RingEvents: size})
			for after := range uint64(writes + 3) {
				for i, prefix := range []string{"core/pods/", "core/pods/a/"} {
					w := &watcher{Cursor: h.Watch(prefix, after), prefix: prefix, after: after}
					if (int(after)+i+size)%2 == 0 {
						w.got = drain(t, w.Cursor)
					}
					watchers = append(watchers, w)
				}
			}
		}
		switch k {
		case writes:
		case 3, 8:
			truth = append(truth, write(t, s, "core/nodes/n"))
		case 5, 11:
			truth = append(truth, remove(t, s, "core/pods/a/x"))
		default:
			truth = append(truth, write(t, s, "core/pods/"+[]string{"a/x", "a/y", "ab/x"}[k%3]))
		}
	}
	for _, w := range watchers {
		w.got = append(w.got, drain(t, w.Cursor)...)
		expect(t, w.got, truth, w.prefix, w.after)
		if want := max(w.after, s.Current()); w.Revision() != want {
			t.Errorf("%q after %d ended at %d, want %d", w.prefix, w.after, w.Revision(), want)
		}
	}
}

// A cursor far behind reads the log in batches and crosses into the ring, whose
// events all watchers share.
func TestCatchUpCrossesIntoTheRing(t *testing.T) {
	const writes, ring = 3*batchSize + 10, batchSize + 20
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: ring})
	a, b := h.Watch("core/pods/", 0), h.Watch("core/pods/", 0)
	var truth []store.Change
	for i := range writes {
		truth = append(truth, write(t, s, fmt.Sprintf("core/pods/a/p-%d", i%7)))
	}
	fromA, fromB := drain(t, a), drain(t, b)
	expect(t, fromA, truth, "", 0)
	expect(t, fromB, truth, "", 0)
	for i := range fromA {
		// The batch that begins in the log may reach into the ring.
		if inLog, inRing := i < writes-ring, i >= writes-ring+batchSize; fromA[i] == fromB[i] && inLog {
			t.Fatalf("event %d was read from the ring, which has lost it", i)
		} else if fromA[i] != fromB[i] && inRing {
			t.Fatalf("event %d was read from the log, although the ring has it", i)
		}
	}
}

func TestNamespaceOfTheSameBeginning(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: 3})
	inside, behind := h.Watch("core/pods/a/", 0), h.Watch("core/pods/a/", 0)
	var truth []store.Change
	for _, key := range []string{"core/pods/a/x", "core/pods/ab/x", "core/pods/b/x", "core/pods/a/y", "core/pods/aa/y"} {
		truth = append(truth, write(t, s, key))
		expect(t, drain(t, inside), truth[len(truth)-1:], "core/pods/a/", 0)
		if inside.Revision() != s.Current() {
			t.Errorf("after %s the cursor is at %d, want %d", key, inside.Revision(), s.Current())
		}
	}
	expect(t, drain(t, behind), truth, "core/pods/a/", 0)
}

// A watcher of a quiet resource keeps up with writes of others, which do not wake it, and
// skips no event that it has not seen. Bookmarks depend on it.
func TestRevisionFollowsOtherWrites(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{})
	all, one := h.Watch("core/pods/", 0), h.Watch("core/pods/a/", 0)
	drain(t, all)
	drain(t, one)
	quiet := write(t, s, "core/nodes/n").Entry.Revision
	if all.Revision() != quiet || one.Revision() != quiet {
		t.Errorf("the cursors are at %d and %d, want %d", all.Revision(), one.Revision(), quiet)
	}
	other := write(t, s, "core/pods/b/x").Entry.Revision
	if all.Revision() != quiet || one.Revision() != other {
		t.Errorf("the cursors are at %d and %d, want %d and %d", all.Revision(), one.Revision(), quiet, other)
	}
	unseen := write(t, s, "core/pods/a/x")
	newest := write(t, s, "core/nodes/n").Entry.Revision
	if one.Revision() != other {
		t.Errorf("the cursor is at %d and has not returned %d", one.Revision(), unseen.Entry.Revision)
	}
	expect(t, drain(t, one), []store.Change{unseen}, "", 0)
	if one.Revision() != newest {
		t.Errorf("the cursor ended at %d, want %d", one.Revision(), newest)
	}
}

// A cursor behind its ring does not claim to be further than its log.
func TestRevisionOfACursorThatIsBehind(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: 1})
	c := h.Watch("core/pods/", 0)
	for range 3 {
		write(t, s, "core/pods/a/x")
	}
	if c.Revision() != 0 {
		t.Errorf("it has returned nothing and is at %d", c.Revision())
	}
}

func TestTrimmed(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: 4})
	ctx := within(t)
	var truth []store.Change
	old, half, warm := h.Watch("core/pods/", 0), h.Watch("core/pods/", 0), h.Watch("core/pods/", 0)
	for range 2*batchSize + 10 {
		truth = append(truth, write(t, s, "core/pods/a/x"))
		drain(t, warm)
	}
	if events, _, err := half.Poll(ctx); err != nil || len(events) != batchSize {
		t.Fatalf("got %d events, error %v", len(events), err)
	}
	oldest := uint64(batchSize + 1)
	if err := s.Trim(ctx, oldest); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		*Cursor
		asked uint64
	}{"never read": {old, 0}, "trimmed between two batches": {half, batchSize}, "new": {h.Watch("core/pods/", 5), 5}, "new resource": {h.Watch("core/nodes/", oldest-1), oldest - 1}} {
		for range 2 { // the answer stays
			_, err := test.Next(ctx)
			var trimmed *store.TrimmedError
			if !errors.As(err, &trimmed) || trimmed.Asked != test.asked || trimmed.Oldest != oldest {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	// A cursor at the oldest revision misses nothing.
	expect(t, drain(t, h.Watch("core/pods/", oldest)), truth, "", oldest)

	// A cursor inside the ring does not need history.
	if err := s.Trim(ctx, s.Current()); err != nil {
		t.Fatal(err)
	}
	expect(t, drain(t, h.Watch("core/pods/", s.Current()-3)), truth, "", s.Current()-3)
	last := write(t, s, "core/pods/a/x")
	expect(t, drain(t, warm), []store.Change{last}, "", 0)
}

// A resource without watchers costs nothing, and a returning watcher misses nothing.
func TestUnusedRingsGo(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{})
	a, b, other := h.Watch("core/pods/", 0), h.Watch("core/pods/a/", 0), h.Watch("core/nodes/", 0)
	truth := []store.Change{write(t, s, "core/pods/a/x")}
	expect(t, drain(t, a), truth, "core/pods/", 0)
	a.Close()
	a.Close() // again is fine
	truth = append(truth, write(t, s, "core/pods/a/y"))
	expect(t, drain(t, b), truth, "core/pods/", 0)
	b.Close()
	if len(h.rings) != 1 || h.rings["core/nodes/"] != other.ring {
		t.Errorf("%d rings are left, one is in use", len(h.rings))
	}
	truth = append(truth, write(t, s, "core/pods/a/x"))
	expect(t, drain(t, h.Watch("core/pods/", 1)), truth, "core/pods/", 1)
}
