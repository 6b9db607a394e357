package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// The publisher alone: syncs end in any order, and from some write on they may fail.
func TestPublisherOrder(t *testing.T) {
	failed := errors.New("failed")
	for _, fail := range []int{-1, 0, 3, 19} {
		t.Run(fmt.Sprint(fail), func(t *testing.T) {
			const n = 20
			var q publisher
			q.init(100, newTestCache(1<<20, 100), new(presence))
			var mu sync.Mutex
			var announced []uint64
			q.subs = append(q.subs, &subscription{fn: func(b Batch) {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range b.Changes {
					announced = append(announced, c.Entry.Revision)
				}
			}})
			queue := make([]*pending, n)
			for i := range queue {
				queue[i] = &pending{change: &Change{Entry: Entry{Revision: uint64(101 + i)}}}
				q.enqueue(queue[i])
			}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			var writers sync.WaitGroup
			for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(n) {
				writers.Go(func() {
					var err error
					if fail >= 0 && i >= fail {
						err = failed
					}
					got := q.finish(queue[i], err)
					visible := fail < 0 || i < fail
					if (got == nil) != visible {
						t.Errorf("write %d got %v", i, got)
					}
					if got == nil && q.current.Load() < uint64(101+i) {
						t.Errorf("write %d was acknowledged when %d was visible", i, q.current.Load())
					}
				})
			}
			writers.Wait()
			want := n
			if fail >= 0 {
				want = fail
			}
			if len(announced) != want || q.current.Load() != uint64(100+want) || len(q.queue) != 0 {
				t.Errorf("%d announced, newest visible %d, %d left; expected %d", len(announced), q.current.Load(), len(q.queue), want)
			}
			for i, revision := range announced {
				if revision != uint64(101+i) {
					t.Errorf("announced %d in place %d", revision, i)
				}
			}
		})
	}
}

// A durable write makes the ones before it visible too, in one announcement.
func TestPublisherTakesEarlierWritesAlong(t *testing.T) {
	var q publisher
	q.init(0, newTestCache(1<<20, 0), new(presence))
	var announced [][]*Change
	q.subs = append(q.subs, &subscription{fn: func(b Batch) { announced = append(announced, b.Changes) }})
	queue := make([]*pending, 3)
	for i := range queue {
		queue[i] = &pending{change: &Change{Op: OpCreate, Entry: Entry{Key: "k", Revision: uint64(i + 1)}}}
		q.enqueue(queue[i])
	}
	if err := q.finish(queue[1], nil); err != nil || q.current.Load() != 2 {
		t.Errorf("%v, newest visible %d, expected 2", err, q.current.Load())
	}
	if err := q.finish(queue[0], nil); err != nil || len(announced) != 1 || len(announced[0]) != 2 {
		t.Errorf("%v, announced %v, expected two changes in one call", err, announced)
	}
	if err := q.finish(queue[2], nil); err != nil || q.current.Load() != 3 || len(q.queue) != 0 {
		t.Errorf("%v, newest visible %d, %d left", err, q.current.Load(), len(q.queue))
	}
}

// After a failure no write becomes visible.
func TestPublisherRefusesAfterFailure(t *testing.T) {
	failed := errors.New("failed")
	var q publisher
	q.init(0, newTestCache(1<<20, 0), new(presence))
	first, second := &pending{change: &Change{Entry: Entry{Revision: 1}}}, &pending{change: &Change{Entry: Entry{Revision: 2}}}
	q.enqueue(first)
	if err := q.finish(first, failed); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	q.enqueue(second)
	if err := q.finish(second, nil); !errors.Is(err, failed) || q.current.Load() != 0 {
		t.Errorf("got %v, newest visible %d", err, q.current.Load())
	}
}
