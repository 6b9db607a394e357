package custom

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// arrivals say which definitions the catalog has the rows of.
//
// A client that has read that its definition is established may use the type at once. The
// rows come a moment later: a request that finds none waits for the definitions that were
// stored when the request came (Follower.Await).
type arrivals struct {
	view atomic.Pointer[live.View[*definition]] // the catalog has the rows of its definitions

	mu   ranks.Mutex[ranks.Leaf]
	more chan struct{} // closed when view moves; nil while nobody waits
}

func (a *arrivals) move(view live.View[*definition]) {
	a.view.Store(&view)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}

func (a *arrivals) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.more == nil {
		a.more = make(chan struct{})
	}
	return a.more
}

// longestWait bounds the time for which a request waits for rows.
const longestWait = time.Second

// Await waits until the catalog has the rows of the definitions that are stored now, for a
// second at most.
func (f *Follower) Await(ctx context.Context) {
	have := *f.arrived.view.Load() // first: the wanted view must not be older
	wanted := f.all.View()
	if current := f.Store.Current(); wanted.Revision() >= current && !differ(wanted, have) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	wanted, err := f.all.AtLeast(ctx, f.Store.Current())
	if err != nil {
		return
	}
	for {
		more := f.arrived.next()
		if have := *f.arrived.view.Load(); have.Revision() >= wanted.Revision() || !differ(wanted, have) {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// differ reports whether definitions have changed since an earlier view.
func differ(now, earlier live.View[*definition]) bool {
	for range now.Since(earlier) {
		return true
	}
	return false
}
