package watch

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// silent is a store whose changes a test announces.
type silent struct{ store.Store }

func (silent) Subscribe(store.Turn, func(store.Batch)) (uint64, func()) { return 0, func() {} }

// crowd is a hub with watchers, in a time that tests control.
type crowd struct {
	t        *testing.T
	hub      *Hub
	start    time.Time
	writing  atomic.Int64
	revision uint64
	cursors  []*Cursor
	wake     <-chan struct{}
}

func newCrowd(t *testing.T, watchers int) *crowd {
	c := &crowd{t: t, start: time.Now()}
	c.hub = NewHub(silent{}, Config{Writing: c.writing.Load})
	for range watchers {
		c.cursors = append(c.cursors, c.hub.Watch("core/pods/", 0))
	}
	c.poll(0)
	return c
}

// at waits until a time after the start.
func (c *crowd) at(ms float64) {
	time.Sleep(time.Until(c.start.Add(time.Duration(ms * float64(time.Millisecond)))))
	synctest.Wait()
}

// write announces a change at a time.
func (c *crowd) write(ms float64) {
	c.at(ms)
	c.revision++
	c.hub.publish(batch(&store.Change{Op: store.OpCreate, Entry: store.Entry{Key: "core/pods/a/x", Revision: c.revision}}))
}

// poll lets all watchers read and wait, and expects that each sees that many changes.
func (c *crowd) poll(want int) {
	c.t.Helper()
	for i, cursor := range c.cursors {
		events, wake, err := cursor.Poll(context.Background())
		if err != nil || len(events) != want {
			c.t.Fatalf("at %v watcher %d sees %d changes, want %d; error %v", time.Since(c.start), i, len(events), want, err)
		}
		c.wake = wake
	}
}

// wave expects that the watchers are woken at a time, not before, for that many changes.
func (c *crowd) wave(ms float64, want int) {
	c.t.Helper()
	c.at(ms - 0.001)
	if closed(c.wake) {
		c.t.Fatalf("a wave comes before %v ms", ms)
	}
	c.at(ms)
	if !closed(c.wake) {
		c.t.Fatalf("no wave at %v ms", ms)
	}
	c.poll(want)
}

// TestPace is the example of the comment on pace.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 100)
		c.write(0)
		c.poll(1) // at once
		c.write(0.4)
		if events, _, err := c.cursors[0].Poll(context.Background()); len(events) > 0 || err != nil {
			t.Errorf("%d changes are seen that are held, error %v", len(events), err)
		}
		c.write(0.9)
		c.wave(2.5, 2)
		c.write(3.0)
		c.wave(5.025, 1) // the extra poll above counts as a watcher
		c.write(100)
		c.poll(1) // at once: it was quiet
	})
}

// TestPaceWithSeveralWriters prolongs the pause while few changes are held.
func TestPaceWithSeveralWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 100)
		c.writing.Store(4)
		c.write(0)
		c.poll(1)
		for i := range enough {
			c.write(0.5 + float64(i)*0.5)
		}
		c.wave(5.0, enough)
		c.write(5.5)
		c.wave(15.0, 1) // not for ever
		c.write(15.1)
		c.at(17)
		c.writing.Store(1) // the other writers have ended
		c.wave(17.5, 1)
	})
}

// TestPaceForCrowds: with more watchers a wave takes longer, and so does the pause after
// it, up to a bound; it is not prolonged.
func TestPaceForCrowds(t *testing.T) {
	for watchers, pause := range map[int]float64{1000: 25, 5000: 50} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, watchers)
			c.writing.Store(4)
			c.write(0)
			c.poll(1)
			c.write(1)
			c.write(2)
			c.wave(pause, 2)
		})
	}
}

// TestPaceForFewWatchers: for few watchers changes are not held.
func TestPaceForFewWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, int(leastPause/perWatcher)-1)
		c.writing.Store(4)
		for range 10 {
			c.write(0)
			c.poll(1)
		}
	})
}

// TestHeldChanges: a cursor does not claim to have seen held changes; one that has fallen
// out of the ring continues in the log.
func TestHeldChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 100)
		c.write(0)
		c.poll(1)
		c.write(0.1)
		if got := c.cursors[0].Revision(); got != 1 {
			t.Errorf("the cursor is at %d, it has seen 1", got)
		}
		c.hub.publish(batch(&store.Change{Op: store.OpCreate, Entry: store.Entry{Key: "core/nodes/n", Revision: 3}}))
		if got := c.cursors[0].Revision(); got != 1 {
			t.Errorf("after a write of others the cursor is at %d, it has seen 1", got)
		}
		late := c.hub.Watch("core/pods/", 2)
		if events, _, err := late.Poll(context.Background()); len(events) > 0 || err != nil || late.rev != 2 {
			t.Errorf("who begins after what is held sees %d changes, is at %d, error %v", len(events), late.rev, err)
		}
		c.hub.Close()
		c.at(10) // the timer of a closed hub does nothing
		if !closed(c.wake) {
			t.Error("closing woke nobody")
		}
	})
}

// TestLargeChangesComeInSmallBatches bounds the bytes that a watcher holds.
func TestLargeChangesComeInSmallBatches(t *testing.T) {
	h := NewHub(silent{}, Config{})
	c := h.Watch("core/pods/", 0)
	const each, changes = 100 << 10, 20
	for i := range uint64(changes) {
		h.publish(batch(&store.Change{Op: store.OpCreate, Entry: store.Entry{Key: "core/pods/a/x", Revision: i + 1, Value: store.Value{Body: make([]byte, each)}}}))
	}
	for seen := 0; seen < changes; {
		events, wake, err := c.Poll(context.Background())
		if err != nil || len(events) == 0 || len(events) > batchBytes/each {
			t.Fatalf("%d changes at once, error %v", len(events), err)
		}
		if seen += len(events); seen < changes && !closed(wake) {
			t.Fatal("there is more, and it does not say so")
		}
	}
}
