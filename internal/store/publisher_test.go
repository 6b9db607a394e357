package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// The publisher alone: syncs return in any order, and maybe one fails.
func TestPublisherOrder(t *testing.T) {
	failed := errors.New("failed")
	for _, fail := range []int{-1, 0, 3, 19} {
		t.Run(fmt.Sprint(fail), func(t *testing.T) {
			const n = 20
			var q publisher
			q.init(100)
			var mu sync.Mutex
			var announced []uint64
			q.subs = append(q.subs, &subscription{func(changes []*Change) {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range changes {
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
					if i == fail {
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

// Nobody may be woken before the writes in front of it are durable.
func TestPublisherWaitsForEarlierWrites(t *testing.T) {
	var q publisher
	first, second := &pending{change: &Change{Entry: Entry{Revision: 1}}}, &pending{change: &Change{Entry: Entry{Revision: 2}}}
	q.enqueue(first)
	q.enqueue(second)
	done := make(chan error)
	go func() { done <- q.finish(second, nil) }()
	for {
		q.mu.Lock()
		waits := second.wake != nil
		q.mu.Unlock()
		if waits {
			break
		}
	}
	if q.current.Load() != 0 {
		t.Errorf("revision %d is visible, the one before it is not durable", q.current.Load())
	}
	if err := q.finish(first, nil); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil || q.current.Load() != 2 {
		t.Errorf("%v, newest visible %d", err, q.current.Load())
	}
}
