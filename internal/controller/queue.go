package controller

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Delays before failed work is repeated: the first, and the longest.
const (
	firstDelay   = 5 * time.Millisecond
	longestDelay = time.Minute
)

// queue runs the work of a controller, one piece per key.
//
// Invariants:
//
//	Q1. A key is worked on by one goroutine at a time.
//	Q2. After add(key) the work of that key begins once more, however often it was
//	    added before: additions while it waits are one piece of work, those while it runs
//	    are done when that has ended.
//	Q3. Work that failed is repeated, after a delay that doubles each time.
//	Q4. There are at most limit goroutines, and none without work.
type queue[K comparable] struct {
	name  string
	limit int
	log   *slog.Logger
	work  func(ctx context.Context, key K) error

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      ranks.Mutex[ranks.Inner]
	ready   []K
	items   map[K]*item
	workers int
}

// item is a key with work.
type item struct {
	ready    bool // it is in queue.ready
	running  bool
	again    bool // it was added while it ran
	failures int
	timer    *time.Timer // of a later add; nil for none
	at       time.Time   // when timer fires
}

// newQueue returns a queue that works until ctx ends or close is called.
func newQueue[K comparable](ctx context.Context, name string, limit int, log *slog.Logger, work func(context.Context, K) error) *queue[K] {
	q := &queue[K]{name: name, limit: limit, log: log, work: work, items: make(map[K]*item)}
	q.ctx, q.stop = context.WithCancel(ctx)
	return q
}

// close ends the work and returns when it has ended.
func (q *queue[K]) close() {
	q.stop()
	q.mu.Lock()
	for _, it := range q.items {
		if it.timer != nil {
			it.timer.Stop()
		}
	}
	q.mu.Unlock()
	q.wg.Wait()
}

// add queues the work of a key.
func (q *queue[K]) add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(key)
}

// addAfter queues the work of a key after a delay, or earlier if it is added meanwhile.
func (q *queue[K]) addAfter(key K, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.later(key, delay)
}

func (q *queue[K]) item(key K) *item {
	it := q.items[key]
	if it == nil {
		it = &item{}
		q.items[key] = it
	}
	return it
}

// push makes a key ready. The lock is held.
func (q *queue[K]) push(key K) {
	if q.ctx.Err() != nil {
		return
	}
	it := q.item(key)
	if it.timer != nil {
		it.timer.Stop()
		it.timer = nil
	}
	switch {
	case it.ready:
		return
	case it.running:
		it.again = true
		return
	}
	it.ready = true
	q.ready = append(q.ready, key)
	if q.workers < q.limit {
		q.workers++
		q.wg.Add(1)
		go q.run()
	}
}

// later makes a key ready after a delay. The lock is held.
func (q *queue[K]) later(key K, delay time.Duration) {
	if q.ctx.Err() != nil {
		return
	}
	it := q.item(key)
	at := time.Now().Add(delay)
	if it.ready || it.again || it.timer != nil && !at.Before(it.at) {
		return
	}
	if it.timer != nil {
		it.timer.Stop()
	}
	it.at = at
	it.timer = time.AfterFunc(delay, func() { q.add(key) })
}

// run works until nothing is ready.
func (q *queue[K]) run() {
	defer q.wg.Done()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 && q.ctx.Err() == nil {
		key := q.ready[0]
		q.ready = q.ready[1:]
		it := q.items[key]
		it.ready, it.running = false, true
		q.mu.Unlock()
		err := q.do(key)
		q.mu.Lock()
		it.running = false
		q.settle(key, it, err)
	}
	if len(q.ready) == 0 {
		q.ready = nil // its memory was that of the longest queue so far
	}
	q.workers--
}

// settle queues or drops a key after its work. The lock is held.
func (q *queue[K]) settle(key K, it *item, err error) {
	if err == nil {
		it.failures = 0
	} else if q.ctx.Err() == nil {
		delay := longestDelay
		if it.failures < 14 { // 5 ms doubled that often is above the longest
			delay = min(firstDelay<<it.failures, longestDelay)
		}
		it.failures++
		q.log.Debug("controller repeats its work later", "controller", q.name, "key", fmt.Sprint(key), "failures", it.failures, "delay", delay, "error", err)
		if !it.again {
			q.later(key, delay)
		}
	}
	if it.again {
		it.again = false
		q.push(key)
	}
	if !it.ready && it.timer == nil && it.failures == 0 {
		delete(q.items, key)
	}
}

// do runs one piece of work. A panic is a failure.
func (q *queue[K]) do(key K) (err error) {
	defer func() {
		if v := recover(); v != nil {
			q.log.Error("controller panicked", "controller", q.name, "key", fmt.Sprint(key), "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return q.work(q.ctx, key)
}

// forEach calls do for all of list, at most limit of them at a time, and returns
// the errors. It stops early when ctx ends.
func forEach[T any](ctx context.Context, limit int, list []T, do func(context.Context, T) error) []error {
	var (
		mu   ranks.Mutex[ranks.Leaf]
		wg   sync.WaitGroup
		errs []error
		next int
	)
	take := func() (T, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(list) || ctx.Err() != nil {
			var none T
			return none, false
		}
		next++
		return list[next-1], true
	}
	for range min(limit, len(list)) {
		wg.Go(func() {
			for v, ok := take(); ok; v, ok = take() {
				if err := do(ctx, v); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		errs = append(errs, err)
	}
	return errs
}
