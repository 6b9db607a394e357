package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing happened in ten seconds")
		panic("unreachable")
	}
}

func TestQueueDoesEveryKeyOnceMore(t *testing.T) {
	began, goOn := make(chan string), make(chan struct{})
	q := newQueue(t.Context(), "test", 2, silent(), func(_ context.Context, key string) error {
		began <- key
		<-goOn
		return nil
	})
	defer q.close()
	q.add("a")
	if key := receive(t, began); key != "a" {
		t.Fatalf("began with %s", key)
	}
	for range 5 {
		q.add("a") // while it runs: once more afterwards
	}
	q.add("b")
	q.add("b")
	if key := receive(t, began); key != "b" {
		t.Fatalf("a runs twice at the same time, or %s", key)
	}
	goOn <- struct{}{}
	goOn <- struct{}{}
	if key := receive(t, began); key != "a" {
		t.Fatalf("repeated %s, want a", key)
	}
	q.add("c")
	if key := receive(t, began); key != "c" {
		t.Fatalf("then %s, want c: a and b were done", key)
	}
	close(goOn)
}

func TestQueueRepeatsWhatFails(t *testing.T) {
	done := make(chan int)
	tries := 0
	q := newQueue(t.Context(), "test", 1, silent(), func(_ context.Context, _ int) error {
		switch tries++; tries {
		case 1:
			return errors.New("not yet")
		case 2:
			panic("worse")
		}
		done <- tries
		return nil
	})
	q.add(1)
	if got := receive(t, done); got != 3 {
		t.Errorf("done at try %d", got)
	}
	q.close()
	if len(q.items) != 0 || q.workers != 0 {
		t.Errorf("the queue holds %d keys and %d workers when all is done", len(q.items), q.workers)
	}
}

func TestQueueDelaysGrow(t *testing.T) {
	q := newQueue(t.Context(), "test", 1, silent(), func(context.Context, int) error { return nil })
	defer q.close()
	var delays []time.Duration
	it := q.item(1)
	for range 20 {
		begin := time.Now()
		q.settle(1, it, errors.New("no"))
		delays = append(delays, it.at.Sub(begin).Round(time.Millisecond))
		it.timer.Stop()
		it.timer = nil
	}
	if !slices.IsSorted(delays) || delays[0] != firstDelay || delays[19] != longestDelay {
		t.Errorf("delays %v", delays)
	}
}

func TestQueueAddAfter(t *testing.T) {
	did := make(chan time.Time, 4)
	q := newQueue(t.Context(), "test", 1, silent(), func(context.Context, int) error { did <- time.Now(); return nil })
	defer q.close()
	begin := time.Now()
	q.addAfter(1, 30*time.Millisecond)
	q.addAfter(1, time.Hour) // the earlier time holds
	if at := receive(t, did); at.Sub(begin) < 30*time.Millisecond {
		t.Errorf("done after %v", at.Sub(begin))
	}
	q.addAfter(2, time.Hour)
	q.add(2) // now
	receive(t, did)
}

func TestQueueEnds(t *testing.T) {
	started := make(chan struct{}, 1)
	q := newQueue(t.Context(), "test", 3, silent(), func(ctx context.Context, _ int) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	q.add(1)
	receive(t, started)
	q.addAfter(2, time.Hour)
	q.close() // returns, although 1 runs and 2 is queued
	q.add(3)
	select {
	case <-started:
		t.Error("work began after the end")
	default:
	}
}

func TestEach(t *testing.T) {
	var mu sync.Mutex
	running, most, sum := 0, 0, 0
	errs := forEach(t.Context(), 3, []int{1, 2, 3, 4, 5, 6, 7, 8}, func(_ context.Context, n int) error {
		mu.Lock()
		running++
		most, sum = max(most, running), sum+n
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		if n%4 == 0 {
			return errors.New("four")
		}
		return nil
	})
	if sum != 36 || most > 3 || len(errs) != 2 {
		t.Errorf("sum %d, %d at the same time, %d errors", sum, most, len(errs))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if errs := forEach(ctx, 2, []int{1, 2}, func(context.Context, int) error { t.Error("begun after the end"); return nil }); len(errs) != 1 {
		t.Errorf("errors of a context that ended: %v", errs)
	}
}
