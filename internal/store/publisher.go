package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// publisher makes writes visible in revision order.
//
// Invariants:
//
//	P1. queue holds the writes that are in Pebble's log and not yet visible, in
//	    revision order.
//	P2. A write leaves the queue as visible only from its front and only when
//	    it is durable: Current() never passes a write that might be lost.
//	P3. From the first failed sync on, no write from that one on becomes
//	    visible.
//	P4. Subscribers are called with mu held: in order, and never after their
//	    cancel has returned.
//
// Example: writes 7, 8 and 9 are queued and 8 and 9 are synced first. Nothing
// happens; their callers wait. When 7 is synced, its caller makes 7, 8 and 9
// visible in one step, calls the subscribers once with the three changes and
// wakes the two others.
type publisher struct {
	current atomic.Uint64 // newest visible revision

	mu      sync.Mutex
	queue   []*pending
	broken  error // of the first failed write
	closed  bool
	subs    []*subscription
	waiters []*waiter
}

// pending is a write on its way to being visible. It is guarded by publisher.mu.
type pending struct {
	change  *Change
	synced  bool  // the sync has returned, with err
	settled bool  // it is out of the queue; err is final
	err     error // why it did not become visible
	wake    chan struct{}
}

type subscription struct{ fn func([]*Change) }

type waiter struct {
	revision uint64
	done     chan struct{}
	err      error // set before done is closed
}

func (q *publisher) init(current uint64) { q.current.Store(current) }

// enqueue adds a write. The caller holds the lock that orders writes.
func (q *publisher) enqueue(p *pending) {
	q.mu.Lock()
	q.queue = append(q.queue, p)
	q.mu.Unlock()
}

// finish reports the outcome of a write's sync, waits until the write is
// settled and returns nil when it is visible.
func (q *publisher) finish(p *pending, err error) error {
	q.mu.Lock()
	p.synced, p.err = true, err
	q.drain()
	if p.settled {
		q.mu.Unlock()
		return p.err
	}
	p.wake = make(chan struct{})
	q.mu.Unlock()
	<-p.wake
	return p.err
}

// drain settles what can be settled.
func (q *publisher) drain() {
	n := 0
	if q.broken == nil {
		for n < len(q.queue) && q.queue[n].synced && q.queue[n].err == nil {
			n++
		}
		if n > 0 {
			q.publish(q.queue[:n])
		}
		if n < len(q.queue) && q.queue[n].synced {
			q.broken = q.queue[n].err
		}
	}
	if q.broken != nil {
		for _, p := range q.queue[n:] {
			if p.synced {
				p.err = q.broken
				p.settle()
			}
		}
	}
	q.queue = slices.DeleteFunc(q.queue, func(p *pending) bool { return p.settled })
}

func (p *pending) settle() {
	p.settled = true
	if p.wake != nil {
		close(p.wake)
	}
}

// publish makes durable writes visible and announces them.
func (q *publisher) publish(group []*pending) {
	newest := group[len(group)-1].change.Entry.Revision
	q.current.Store(newest)
	if len(q.subs) > 0 {
		changes := make([]*Change, len(group))
		for i, p := range group {
			changes[i] = p.change
		}
		for _, s := range q.subs {
			s.fn(changes)
		}
	}
	for _, p := range group {
		p.settle()
	}
	q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool {
		if w.revision <= newest {
			close(w.done)
		}
		return w.revision <= newest
	})
}

// close ends all waiting with ErrClosed. Writes in flight still settle.
func (q *publisher) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.waiters {
		w.err = ErrClosed
		close(w.done)
	}
	q.waiters = nil
}

// Subscribe implements Store.
func (e *Engine) Subscribe(fn func([]*Change)) (current uint64, cancel func()) {
	q, s := &e.publisher, &subscription{fn}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.subs = append(q.subs, s)
	return q.current.Load(), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.subs = slices.DeleteFunc(q.subs, func(other *subscription) bool { return other == s })
	}
}

// WaitFor implements Store. It returns ErrClosed when the store is closed
// meanwhile.
func (e *Engine) WaitFor(ctx context.Context, revision uint64) error {
	q := &e.publisher
	if q.current.Load() >= revision {
		return nil
	}
	q.mu.Lock()
	if q.current.Load() >= revision {
		q.mu.Unlock()
		return nil
	}
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	w := &waiter{revision: revision, done: make(chan struct{})}
	q.waiters = append(q.waiters, w)
	q.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiters = slices.DeleteFunc(q.waiters, func(other *waiter) bool { return other == w })
		return ctx.Err()
	}
}
