package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
)

// newStore opens the real engine in memory.
func newStore(t testing.TB) *store.Engine {
	t.Helper()
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newHub(t testing.TB, s store.Store, cfg Config) *Hub {
	t.Helper()
	h := NewHub(s, cfg)
	t.Cleanup(h.Close)
	return h
}

// within bounds a test that would otherwise wait for ever.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// write creates or updates an object and returns the change as its writer saw it.
func write(t testing.TB, s store.Store, key string) store.Change {
	t.Helper()
	return change(t, s, key, func(current *store.Entry) store.Op {
		if current == nil {
			return store.OpCreate
		}
		return store.OpUpdate
	})
}

func remove(t testing.TB, s store.Store, key string) store.Change {
	t.Helper()
	return change(t, s, key, func(*store.Entry) store.Op { return store.OpDelete })
}

func change(t testing.TB, s store.Store, key string, op func(*store.Entry) store.Op) store.Change {
	t.Helper()
	var c store.Change
	entry, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		c = store.Change{Op: op(current)}
		if current != nil {
			c.Prev = *current
		}
		body := fmt.Sprintf(`{"key":%q,"rev":""}`, key)
		return store.Write{Op: c.Op, Value: store.Value{Meta: []byte(key), Body: []byte(body), RevisionAt: len(body) - 2}}, nil
	})
	if err != nil {
		t.Error(err) // not Fatal: writers run in goroutines of their own
	}
	c.Entry = entry
	return c
}

// batch is a batch of one change.
func batch(c *store.Change) store.Batch {
	return store.Batch{Changes: []*store.Change{c}, Revision: c.Entry.Revision}
}

// shown is a change in a form that can be compared and read.
func shown(c *store.Change) string {
	return fmt.Sprintf("%d %s@%d %s %s after %s@%d %s %s", c.Op,
		c.Entry.Key, c.Entry.Revision, c.Entry.Body, c.Entry.Meta, c.Prev.Key, c.Prev.Revision, c.Prev.Body, c.Prev.Meta)
}

// expect compares the events of a cursor with the truth: the changes after a revision
// that have the prefix, each once and in order.
func expect(t testing.TB, got []*Event, truth []store.Change, prefix string, after uint64) {
	t.Helper()
	var want []string
	for i := range truth {
		if truth[i].Entry.Revision > after && strings.HasPrefix(truth[i].Entry.Key, prefix) {
			want = append(want, shown(&truth[i]))
		}
	}
	for i, e := range got {
		switch {
		case i >= len(want):
			t.Errorf("%q after %d: event %d is too many: %s", prefix, after, i, shown(&e.Change))
			return
		case shown(&e.Change) != want[i]:
			t.Errorf("%q after %d: event %d is\n%s, want\n%s", prefix, after, i, shown(&e.Change), want[i])
			return
		}
	}
	if len(got) < len(want) {
		t.Errorf("%q after %d: got %d events, want %d; the first that lacks is\n%s", prefix, after, len(got), len(want), want[len(got)])
	}
}

// drain polls until the cursor has caught up.
func drain(t testing.TB, c *Cursor) []*Event {
	t.Helper()
	var all []*Event
	for {
		before := c.rev
		events, wake, err := c.Poll(context.Background()) // does not wait
		if err != nil {
			t.Fatal(err)
		}
		if n := len(events); n > batchSize && events[n-1].Entry.Revision != events[batchSize-1].Entry.Revision {
			t.Errorf("%d events at once, at most %d are allowed", len(events), batchSize)
		}
		if len(events) == 0 {
			if wake == nil {
				t.Fatal("no events, no error and nothing to wait for")
			}
			return all
		}
		if c.rev <= before {
			t.Fatalf("events were returned and the cursor stayed at %d", c.rev)
		}
		all = append(all, events...)
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestWakeOnlyForTheResource(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{})
	c := h.Watch("core/pods/", 0)
	events, wake, err := c.Poll(within(t))
	if len(events) > 0 || err != nil || closed(wake) {
		t.Fatalf("an empty store gave %d events, error %v", len(events), err)
	}
	write(t, s, "core/configmaps/a/x")
	if closed(wake) {
		t.Error("a write of configmaps woke a watcher of pods")
	}
	write(t, s, "core/pods/a/x") // announced when it returns
	if !closed(wake) {
		t.Error("a write of pods did not wake a watcher of pods")
	}
	if got := drain(t, c); len(got) != 1 {
		t.Errorf("got %d events", len(got))
	}
}

func TestCloseWakesEverybody(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: 2})
	ctx := within(t)
	failed := make(chan error)
	const watchers = 300
	for i := range watchers {
		c := h.Watch([]string{"core/pods/", "core/pods/a/", "core/nodes/"}[i%3], 0)
		go func() {
			_, err := c.Next(ctx)
			failed <- err
		}()
	}
	h.Close()
	h.Close() // again is fine
	for range watchers {
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Fatalf("a waiting cursor returned %v", err)
		}
	}
	c := write(t, s, "core/pods/a/x") // announced to no hub
	h.publish(batch(&c))              // a store may call once more while the subscription ends
	for _, prefix := range []string{"core/pods/", "core/secrets/"} {
		if _, err := h.Watch(prefix, 0).Next(ctx); !errors.Is(err, ErrClosed) {
			t.Errorf("a cursor of a closed hub on %s returned %v", prefix, err)
		}
	}
}

// subscriptions counts the subscriptions to a store.
type subscriptions struct {
	store.Store
	open int
}

func (s *subscriptions) Subscribe(turn store.Turn, fn func(store.Batch)) (uint64, func()) {
	current, cancel := s.Store.Subscribe(turn, fn)
	s.open++
	return current, func() { s.open--; cancel() }
}

func TestCloseEndsTheSubscription(t *testing.T) {
	s := &subscriptions{Store: newStore(t)}
	h := NewHub(s, Config{})
	if s.open != 1 {
		t.Errorf("%d subscriptions", s.open)
	}
	if h.Close(); s.open != 0 {
		t.Errorf("%d subscriptions of a closed hub", s.open)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: 1})
	c := h.Watch("core/pods/", 0)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := c.Next(ctx)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("a cursor that waits returned %v", err)
	}
	write(t, s, "core/pods/a/x")
	write(t, s, "core/pods/a/y")
	if _, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cursor that reads the log returned %v", err)
	}
	if got := drain(t, c); len(got) != 2 {
		t.Errorf("after that it gave %d events, want both", len(got))
	}
}

// A cursor may be behind when the store closes first.
func TestClosedStore(t *testing.T) {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, "core/pods/a/x")
	h := newHub(t, s, Config{})
	c := h.Watch("core/pods/", 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(within(t)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestResourcePrefix(t *testing.T) {
	for key, want := range map[string]string{
		"core/pods/": "core/pods/", "core/pods/a/": "core/pods/", "core/pods/a/x": "core/pods/", "core/nodes/n": "core/nodes/",
		"apps.example.org/things/a/b/c": "apps.example.org/things/", "core/pods": "core/pods", "core": "core", "": "", "/": "/", "//x": "//",
	} {
		if got := resourcePrefix(key); got != want {
			t.Errorf("%q is of %q, want %q", key, got, want)
		}
	}
}

// Two hubs on one store, one of which opens late and closes early.
func TestHubsAreIndependent(t *testing.T) {
	s := newStore(t)
	a := newHub(t, s, Config{})
	first := a.Watch("core/pods/", 0)
	truth := []store.Change{write(t, s, "core/pods/a/x")}
	b := newHub(t, s, Config{})
	second := b.Watch("core/pods/", truth[0].Entry.Revision)
	truth = append(truth, write(t, s, "core/pods/a/x"))
	expect(t, drain(t, second), truth, "core/pods/", truth[0].Entry.Revision)
	b.Close()
	truth = append(truth, remove(t, s, "core/pods/a/x"))
	got := drain(t, first)
	expect(t, got, truth, "core/pods/", 0)
	ops := []store.Op{store.OpCreate, store.OpUpdate, store.OpDelete}
	if !slices.EqualFunc(got, ops, func(e *Event, op store.Op) bool { return e.Op == op }) {
		t.Errorf("the operations differ from %v", ops)
	}
}
