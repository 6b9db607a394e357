package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// newest finds the revision of etcd's newest state for reads.
//
// Invariant: the answer that a read waits for is to a question that was asked after the read began.
// A read that begins while a question is under way joins the next one, with all others that do.
type newest struct {
	mu     sync.Mutex
	asking bool
	next   *question // of the reads that have begun since the last question was asked; nil for none
}

// question is one question to etcd.
type question struct {
	answered chan struct{}
	reads    int // that wait for its answer; guarded by newest.mu until it is asked
	revision uint64
	err      error
}

// reachNewest returns when the replica has the state that etcd has now, or a newer one; at once for
// reads of any state.
func (e *Engine) reachNewest(ctx context.Context) error {
	if e.other.Load() {
		return errOther
	}
	if err := ctx.Err(); err != nil || store.MayBeStale(ctx) {
		return err
	}
	q := e.newest.join(e.revision)
	select {
	case <-q.answered:
	case <-ctx.Done():
		return ctx.Err()
	}
	if q.err != nil {
		return q.err
	}
	return e.reach(ctx, q.revision)
}

// join is the next question, which is asked soon.
func (n *newest) join(ask func() (uint64, error)) *question {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = &question{answered: make(chan struct{})}
	}
	n.next.reads++
	if !n.asking {
		n.asking = true
		go n.askAll(ask)
	}
	return n.next
}

// sharedPause is the time from one question to the next for each read that shared the first one, at most longestShared.
// So the more reads come at once, the more of them share a question; a lone client never waits for others.
const (
	sharedPause   = 200 * time.Microsecond
	longestShared = 2 * time.Millisecond
)

// askAll asks one question after the other, as long as reads wait for some.
func (n *newest) askAll(ask func() (uint64, error)) {
	for {
		n.mu.Lock()
		q := n.next
		n.next = nil
		n.asking = q != nil
		n.mu.Unlock()
		if q == nil {
			return
		}
		begin := time.Now()
		q.revision, q.err = ask()
		close(q.answered)
		if q.reads > 1 {
			time.Sleep(time.Until(begin.Add(min(time.Duration(q.reads)*sharedPause, longestShared))))
		}
	}
}

// revision is the revision of etcd's newest state.
func (e *Engine) revision() (uint64, error) {
	select {
	case <-e.stopped:
		return 0, store.ErrClosed
	default:
	}
	had, begin := e.replica.Current(), time.Now()
	r, err := e.ask(context.Background(), e.cfg.Prefix+"/", clientv3.WithCountOnly())
	e.cfg.Observe("get", "", time.Since(begin))
	if err != nil {
		return 0, e.plain(err)
	}
	if err := e.same(r.Header, had); err != nil {
		return 0, err
	}
	return uint64(r.Header.Revision), nil
}

// nudgeAfter is the time after which a wait for a revision asks etcd for its progress: others than
// servers may have moved the revision, by keys that the replica does not follow.
const nudgeAfter = 20 * time.Millisecond

// reach returns when the replica has a revision.
func (e *Engine) reach(ctx context.Context, revision uint64) error {
	for e.replica.Current() < revision {
		soon, cancel := context.WithTimeout(ctx, nudgeAfter)
		err := e.replica.WaitFor(soon, revision)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case soon.Err() == nil: // it is the store's
			return err
		}
		select {
		case <-e.stopped:
			return store.ErrClosed
		case e.nudges <- struct{}{}:
		default: // one is on its way
		}
	}
	return nil
}
