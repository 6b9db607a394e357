package store

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// publisher makes writes visible in revision order.
//
// The log on disk is one sequence in revision order, and a sync covers everything written
// before. So a durable write implies that all earlier ones are durable: the first caller
// to return from a shared sync publishes the whole group, and no caller waits for
// another.
//
// Invariants:
//
//	P1. queue holds the writes that are in Pebble's log and not yet visible, in
//	    revision order.
//	P2. A write leaves the queue as visible only from its front and only when it
//	    or a later one is durable: Current() never passes a write that might be
//	    lost.
//	    Those of a batch leave together: they are next to each other, and the
//	    last of them is the one that finish gets.
//	P3. From the first failed sync on, no write from that one on becomes
//	    visible.
//	P4. Subscribers are called with mu held: in the order of their turns, and never
//	    after their cancel has returned. subs are in that order.
//	P5. The cache gets writes in revision order, before they are visible; so does
//	    presence creates, while it gets deletions when they are visible.
//	P6. gap moves before current: the history before a change that replaces others is
//	    refused when the change can be seen.
//
// Example: writes 7, 8 and 9 are queued and share a sync. 8's caller is the
// first to run: it makes 7 and 8 visible in one step and calls the subscribers
// once with the two changes. 7's caller finds its write settled. 9's publishes 9.
type publisher struct {
	current atomic.Uint64 // newest visible revision
	gap     atomic.Uint64 // revision of the newest change that replaces others; 0 for none

	cache    *cache
	presence *presence
	replica  bool // revisions have gaps, and several changes may have one

	mu      ranks.Mutex[ranks.Publisher]
	queue   []*pending
	broken  error // of the first failed write
	closed  bool
	subs    []*subscription
	waiters []*waiter
}

// pending is a write on its way to being visible. It is guarded by publisher.mu.
type pending struct {
	change  *Change
	stored  []byte // the change's value in the form of decodeValue, or of decodeLast
	seen    []Seen // the read set
	marks   []string
	short   bool   // stored is the short record of a deletion
	seal    Seal   // encrypts the records; nil for none
	sealsBy uint64 // the generation of the cipher that made seal, or an earlier one
	place   int    // among the changes at its revision, from 0 on
	gap     bool   // it replaces changes that the replica lacks, see Batch
	settled bool   // it has left the queue; err is final
	err     error  // the reason why it did not become visible
}

type subscription struct {
	turn Turn
	fn   func(Batch)
}

type waiter struct {
	revision uint64
	done     chan struct{}
	err      error // set before done is closed
}

func (q *publisher) init(current uint64, c *cache, p *presence) {
	q.cache, q.presence = c, p
	q.current.Store(current)
}

// enqueue adds the writes of a batch. The caller holds Engine.write, which orders writes.
func (q *publisher) enqueue(all ...*pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.broken != nil {
		for _, p := range all {
			p.settled, p.err = true, q.broken
		}
		return
	}
	q.queue = append(q.queue, all...)
}

// finish settles a write whose sync has ended: if it is durable, all writes before it
// too; if it failed, all after it. It returns nil when the write is visible.
func (q *publisher) finish(p *pending, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.settled {
		return p.err
	}
	at := slices.Index(q.queue, p)
	if err == nil {
		q.publish(q.queue[:at+1])
		q.queue = slices.Delete(q.queue, 0, at+1)
		return nil
	}
	q.broken = err
	for _, other := range q.queue[at:] {
		other.settled, other.err = true, err
	}
	q.queue = slices.Delete(q.queue, at, len(q.queue))
	q.wake(err)
	return err
}

// wake ends all waiting with an error: no further write becomes visible.
func (q *publisher) wake(err error) {
	for _, w := range q.waiters {
		w.err = err
		close(w.done)
	}
	q.waiters = nil
}

// publish makes durable writes visible and announces them.
func (q *publisher) publish(group []*pending) {
	if invariants.Enabled {
		q.checkGroup(group)
	}
	deletions := false
	for _, p := range group {
		p.settled = true
		switch e := &p.change.Entry; p.change.Op {
		case OpDelete:
			deletions = true
			q.cache.drop(e.Key, e.Revision)
		case OpCreate:
			q.presence.change(e.Key, 1)
			fallthrough
		default:
			q.cache.put(e.Key, e.Revision, p.sealsBy, p.stored)
		}
	}
	newest := group[len(group)-1].change.Entry.Revision
	if group[0].gap {
		q.gap.Store(newest)
	}
	q.current.Store(newest)
	if deletions {
		for _, p := range group {
			if p.change.Op == OpDelete {
				q.presence.change(p.change.Entry.Key, -1)
			}
		}
	}
	if len(q.subs) > 0 {
		changes := make([]*Change, len(group))
		for i, p := range group {
			changes[i] = p.change
		}
		q.announce(Batch{Changes: changes, Revision: newest, Gap: group[0].gap})
	}
	q.release(newest)
}

// announce calls the subscribers.
func (q *publisher) announce(b Batch) {
	for _, s := range q.subs {
		s.fn(b)
	}
}

// release ends the waiting for revisions that are visible.
func (q *publisher) release(newest uint64) {
	q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool {
		if w.revision <= newest {
			close(w.done)
		}
		return w.revision <= newest
	})
}

// Announced returns when the subscribers have got all changes that were visible when Announced
// was called.
func (e *Engine) Announced() {
	e.publisher.mu.Lock()
	defer e.publisher.mu.Unlock()
}

// close ends all waiting with ErrClosed. Writes in flight are still settled.
func (q *publisher) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake(ErrClosed)
}

// Subscribe implements Store.
func (e *Engine) Subscribe(turn Turn, fn func(Batch)) (current uint64, cancel func()) {
	q, s := &e.publisher, &subscription{turn, fn}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.subs = append(q.subs, s)
	slices.SortStableFunc(q.subs, func(a, b *subscription) int { return cmp.Compare(a.turn, b.turn) })
	return q.current.Load(), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.subs = slices.DeleteFunc(q.subs, func(other *subscription) bool { return other == s })
	}
}

// ended is the reason why no further write becomes visible; nil while they do.
func (q *publisher) ended() error {
	if q.closed {
		return ErrClosed
	}
	return q.broken
}

// Newest implements Store.
func (e *Engine) Newest(ctx context.Context) (uint64, error) { return e.Current(), ctx.Err() }

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
	if ended := q.ended(); ended != nil {
		q.mu.Unlock()
		return ended
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
