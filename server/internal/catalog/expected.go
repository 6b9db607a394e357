package catalog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// expected says whether the store has announced definitions of resource types whose rows
// are not in the catalog yet.
//
// A client that has read that its definition is established may use the type at once. The
// row comes a moment later: a request that finds no row waits for those that were expected
// when the request came.
type expected struct {
	newest  atomic.Uint64 // revision of the newest definition that changes rows
	arrived atomic.Uint64 // revision up to which the catalog has the rows of all definitions

	mu   sync.Mutex
	more chan struct{} // closed when arrived grows; nil while nobody waits
}

// longestWait bounds the time for which a request waits for rows.
const longestWait = time.Second

// Expect announces that a definition changes rows at a revision. It does not block.
func (c *Catalog) Expect(revision uint64) { c.expected.newest.Store(revision) }

// Arrived says that the catalog has the rows of all definitions as they are at a revision.
func (c *Catalog) Arrived(revision uint64) {
	e := &c.expected
	e.arrived.Store(revision)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.more != nil {
		close(e.more)
		e.more = nil
	}
}

// Await waits until the rows that are expected now are in the catalog, for a second at most.
func (c *Catalog) Await(ctx context.Context) {
	e := &c.expected
	wanted := e.newest.Load()
	if e.arrived.Load() >= wanted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for {
		more := e.next()
		if e.arrived.Load() >= wanted {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

func (e *expected) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.more == nil {
		e.more = make(chan struct{})
	}
	return e.more
}
