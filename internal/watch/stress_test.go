package watch

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// TestConcurrentWatchers lets writers and cursors run against each other: rings of
// several sizes, cursors that begin at any time after any revision and pause for random
// numbers of writes. Every cursor has to see the truth, the changes that were
// acknowledged to the writers. CAPSTAN_STRESS=1 makes it long.
func TestConcurrentWatchers(t *testing.T) {
	rounds := 1
	if os.Getenv("CAPSTAN_STRESS") != "" {
		rounds = 100
	}
	for range rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) { concurrentWatchers(t, seed) })
	}
}

func concurrentWatchers(t *testing.T, seed uint64) {
	const writers, each, watchers = 8, 100, 200
	end := uint64(writers * each) // every write is one revision
	resources := []string{"core/pods/", "core/nodes/", "apps/deployments/"}
	namespaces := []string{"a/", "b/"}
	s := newStore(t)
	ctx := within(t)
	hubs := []*Hub{
		newHub(t, s, Config{RingEvents: 1}), newHub(t, s, Config{RingEvents: 5}),
		newHub(t, s, Config{RingBytes: 2000}), newHub(t, s, Config{}),
	}

	var wg sync.WaitGroup
	told := make([][]store.Change, writers)
	for w := range writers {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		wg.Go(func() {
			for range each {
				key := resources[random.IntN(len(resources))] + namespaces[random.IntN(2)] + fmt.Sprint(random.IntN(5))
				told[w] = append(told[w], change(t, s, key, func(current *store.Entry) store.Op {
					switch {
					case current == nil:
						return store.OpCreate
					case random.IntN(3) == 0:
						return store.OpDelete
					}
					return store.OpUpdate
				}))
			}
		})
	}

	type result struct {
		prefix string
		after  uint64
		got    []*Event
	}
	results := make([]result, watchers)
	for i := range watchers {
		random := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		wg.Go(func() {
			r := &results[i]
			r.prefix = resources[random.IntN(len(resources))]
			if random.IntN(2) == 0 {
				r.prefix += namespaces[random.IntN(2)]
			}
			if err := s.WaitFor(ctx, random.Uint64N(end)); err != nil {
				t.Error(err)
				return
			}
			r.after = random.Uint64N(s.Current() + 1)
			var err error
			if r.got, err = follow(ctx, s, hubs[i%len(hubs)].Watch(r.prefix, r.after), random, end); err != nil {
				t.Errorf("%q after %d: %v", r.prefix, r.after, err)
			}
		})
	}
	wg.Wait()

	truth := slices.Concat(told...)
	slices.SortFunc(truth, func(a, b store.Change) int { return cmp.Compare(a.Entry.Revision, b.Entry.Revision) })
	if n := uint64(len(truth)); n != end || truth[n-1].Entry.Revision != end {
		t.Fatalf("%d changes up to %d, want %d", n, truth[n-1].Entry.Revision, end)
	}
	for _, r := range results {
		expect(t, r.got, truth, r.prefix, r.after)
	}
}

// follow reads a cursor until it has reached a revision. Between reads it sometimes
// pauses until others have written some more.
func follow(ctx context.Context, s store.Store, c *Cursor, random *rand.Rand, end uint64) (got []*Event, err error) {
	for {
		if random.IntN(3) == 0 {
			if err := s.WaitFor(ctx, min(s.Current()+random.Uint64N(200), end)); err != nil {
				return got, err
			}
		}
		before := c.Revision()
		events, wake, err := c.Poll(ctx)
		if err != nil {
			return got, err
		}
		got = append(got, events...)
		for _, e := range events {
			if e.Entry.Revision <= before || e.Entry.Revision > c.Revision() {
				return got, fmt.Errorf("the event at %d is not between %d and %d, where the cursor was and is", e.Entry.Revision, before, c.Revision())
			}
		}
		switch {
		case c.Revision() >= end:
			return got, nil
		case len(events) > 0:
		default:
			// A write of another resource wakes no cursor, so the last write might not
			// wake this one: wait for it as well.
			last := make(chan error, 1)
			stop, cancel := context.WithCancel(ctx)
			go func() { last <- s.WaitFor(stop, end) }()
			select {
			case <-wake:
			case err = <-last:
			}
			cancel()
			if err != nil {
				return got, err
			}
		}
	}
}
