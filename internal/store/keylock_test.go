package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func TestKeyLocksExclude(t *testing.T) {
	var locks KeyLocks
	counts := map[string]*int{}
	for i := range 3 {
		counts[fmt.Sprint(i)] = new(int)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 300 {
				key := fmt.Sprint(i % 3)
				l, err := locks.Acquire(context.Background(), key)
				if err != nil {
					t.Error(err)
					return
				}
				*counts[key]++ // a race unless the lock excludes
				locks.Release(key, l)
			}
		})
	}
	all.Wait()
	for key, n := range counts {
		if *n != 800 {
			t.Errorf("key %s was counted to %d, expected 800", key, *n)
		}
	}
	if len(locks.held) != 0 {
		t.Errorf("%d locks are left", len(locks.held))
	}
}

func TestKeyLocksForgetWhoGivesUp(t *testing.T) {
	var locks KeyLocks
	l, err := locks.Acquire(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := locks.Acquire(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	locks.Release("a", l)
	if len(locks.held) != 0 || len(locks.free) != 1 {
		t.Errorf("%d held, %d free; expected none and the one", len(locks.held), len(locks.free))
	}
}
