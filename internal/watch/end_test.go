package watch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// tape is a store whose changes a test announces, and which keeps them as a log.
type tape struct {
	silent
	changes []*store.Change
}

func (s *tape) Changes(_ context.Context, prefix string, after uint64, visit func(*store.Change) bool) (uint64, error) {
	read, more := after, true
	for _, c := range s.changes {
		if c.Entry.Revision <= after {
			continue
		}
		if !more && c.Entry.Revision > read {
			return read, nil
		}
		if read = c.Entry.Revision; strings.HasPrefix(c.Entry.Key, prefix) && !visit(c) {
			more = false
		}
	}
	return read, nil
}

// ending is a model of a hub whose resources end: what each cursor has to return.
type ending struct {
	t       *testing.T
	random  *rand.Rand
	hub     *Hub
	tape    *tape
	cursors []*ended
}

// ended is a cursor and what the model knows about it.
type ended struct {
	*Cursor
	at   uint64 // everything up to here has been returned
	end  uint64 // of its resource
	over bool   // its resource has ended
	done bool   // ErrClosed was returned
	wake <-chan struct{}
}

func (m *ending) write() {
	resource := []string{"core/pods/", "core/nodes/", "core/secrets/"}[m.random.IntN(3)]
	c := &store.Change{Op: store.OpUpdate, Entry: store.Entry{Key: resource + []string{"a/x", "b/x"}[m.random.IntN(2)], Revision: uint64(len(m.tape.changes) + 1)}}
	m.tape.changes = append(m.tape.changes, c)
	m.hub.publish(batch(c))
}

func (m *ending) end(resource string) {
	m.hub.End(resource)
	for _, c := range m.cursors {
		if resourcePrefix(c.prefix) == resource && !c.over {
			c.over, c.end = true, uint64(len(m.tape.changes))
			if c.wake != nil && !closed(c.wake) {
				m.t.Fatalf("the end of %s at %d does not wake a cursor at %d", resource, c.end, c.at)
			}
		}
	}
}

// expected are the revisions that a cursor has not returned.
func (m *ending) expected(c *ended) (all []uint64) {
	for _, change := range m.tape.changes {
		if r := change.Entry.Revision; r > c.at && (!c.over || r <= c.end) && strings.HasPrefix(change.Entry.Key, c.prefix) {
			all = append(all, r)
		}
	}
	return all
}

func (m *ending) poll(c *ended) {
	want := m.expected(c)
	events, wake, err := c.Poll(context.Background())
	switch {
	case errors.Is(err, ErrClosed):
		if !c.over || len(want) > 0 {
			m.t.Fatalf("a cursor of %s at %d is closed (ended: %v at %d) and has not returned %v", c.prefix, c.at, c.over, c.end, want)
		}
		c.done, c.wake = true, nil
		return
	case err != nil:
		m.t.Fatal(err)
	case c.done:
		m.t.Fatal("a closed cursor goes on")
	case len(events) > len(want):
		m.t.Fatalf("%d events, want %v", len(events), want)
	case len(events) == 0 && c.over:
		m.t.Fatalf("a cursor of %s at %d waits, which ended at %d", c.prefix, c.at, c.end)
	}
	for i, e := range events {
		if e.Entry.Revision != want[i] {
			m.t.Fatalf("event at %d, want one of %v", e.Entry.Revision, want)
		}
		c.at = e.Entry.Revision
	}
	c.wake = wake
}

// claims checks the revision that a bookmark would have.
func (m *ending) claims(c *ended) {
	revision, want := c.Revision(), m.expected(c)
	if len(want) > 0 && revision >= want[0] || c.over && revision > max(c.end, c.at) {
		m.t.Fatalf("a cursor of %s (ended: %v at %d) claims to be at %d and has not returned %v", c.prefix, c.over, c.end, revision, want)
	}
	c.at = max(c.at, revision)
}

// TestEndOfAResource compares random programs with the model: writes, ends, pauses, and
// cursors that begin anywhere, are quick, slow or behind their ring.
func TestEndOfAResource(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &ending{t: t, random: rand.New(rand.NewPCG(seed, 26)), tape: &tape{}}
				m.hub = NewHub(m.tape, Config{RingEvents: []int{1, 4, 1000}[seed%3]})
				m.run(600)
			})
		})
	}
}

func (m *ending) run(steps int) {
	resources := []string{"core/pods/", "core/nodes/"}
	for range steps {
		switch n := m.random.IntN(40); {
		case n < 12:
			m.write()
		case n < 17:
			prefix := resources[m.random.IntN(2)] + []string{"", "a/"}[m.random.IntN(2)]
			after := m.random.Uint64N(uint64(len(m.tape.changes)) + 3)
			m.cursors = append(m.cursors, &ended{Cursor: m.hub.Watch(prefix, after), at: after})
		case n < 18:
			m.end(resources[m.random.IntN(2)])
		case n < 20:
			time.Sleep(time.Duration(m.random.IntN(3)) * time.Millisecond)
			synctest.Wait()
		case len(m.cursors) == 0:
		case n < 22:
			m.claims(m.cursors[m.random.IntN(len(m.cursors))])
		case n < 24: // many wait, so that changes are held back
			for _, c := range m.cursors {
				m.poll(c)
			}
		default:
			m.poll(m.cursors[m.random.IntN(len(m.cursors))])
		}
	}
	time.Sleep(time.Second)
	synctest.Wait()
	for _, c := range m.cursors {
		if c.wake != nil && !closed(c.wake) && len(m.expected(c)) > 0 {
			m.t.Fatalf("a cursor of %s at %d sleeps and has not returned %v", c.prefix, c.at, m.expected(c))
		}
	}
	m.end(resources[0])
	m.write()
	m.end(resources[1])
	m.write()
	for _, c := range m.cursors {
		for polls := 0; !c.done; polls++ {
			if m.poll(c); polls > len(m.tape.changes)+1 {
				m.t.Fatalf("a cursor of %s at %d, which ended at %d, does not end", c.prefix, c.at, c.end)
			}
		}
		c.Close()
	}
	if len(m.hub.rings) > 0 {
		m.t.Errorf("%d rings are left", len(m.hub.rings))
	}
}

// TestGenerationsOfAResource ends a resource again and again while many watchers read:
// each sees all changes of its generation, and ends. Those that begin beside the end either
// do as well, or find out by looking once more.
func TestGenerationsOfAResource(t *testing.T) {
	const generations, watchers, objects = 5, 200, 50
	s := newStore(t)
	h := newHub(t, s, Config{RingEvents: 30, Writing: func() int64 { return 16 }})
	ctx := within(t)
	var served atomic.Int64 // the generation that a watcher finds; negative for none
	for generation := range int64(generations) {
		served.Store(generation)
		begin := s.Current()
		var all sync.WaitGroup
		for range watchers {
			c := h.Watch("example.com/things/", begin)
			all.Go(func() {
				defer c.Close()
				if got, err := toTheEnd(ctx, c); !errors.Is(err, ErrClosed) || got != 2*objects {
					t.Errorf("generation %d: a watcher saw %d of %d changes: %v", generation, got, 2*objects, err)
				}
			})
		}
		for range 4 { // more come all the time
			all.Go(func() {
				for served.Load() == generation {
					c := h.Watch("example.com/things/", s.Current())
					if served.Load() == generation {
						if _, err := toTheEnd(ctx, c); !errors.Is(err, ErrClosed) {
							t.Errorf("generation %d: a late watcher ended with %v", generation, err)
						}
					}
					c.Close()
				}
			})
		}
		keys := make([]string, objects)
		for i := range keys {
			keys[i] = fmt.Sprintf("example.com/things/n/%d", i)
			write(t, s, keys[i])
		}
		var deletions sync.WaitGroup
		for part := range slices.Chunk(keys, 10) {
			deletions.Go(func() {
				for _, key := range part {
					remove(t, s, key)
				}
			})
		}
		deletions.Wait()
		served.Store(-1)
		h.End("example.com/things/")
		write(t, s, "example.com/things/n/later") // of no watcher's generation
		remove(t, s, "example.com/things/n/later")
		all.Wait()
	}
}

// toTheEnd counts the events of a cursor.
func toTheEnd(ctx context.Context, c *Cursor) (n int, err error) {
	for {
		events, err := c.Next(ctx)
		if n += len(events); err != nil {
			return n, err
		}
	}
}
