package index

import (
	"context"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// build reads a resource's headers from the store. The goroutine that set r.built calls
// it; mu is not held.
func (x *Index) build(ctx context.Context, r *resource) {
	defer close(r.built)
	b := builder{x: x, r: r, tree: new(tree)}
	revision, err := b.scan(ctx)

	x.mu.Lock()
	defer x.mu.Unlock()
	x.held -= b.reserved + r.waiting
	if x.resources[r.prefix] != r {
		return // the index is closed, or postpone gave up
	}
	if err != nil {
		delete(x.resources, r.prefix)
		return
	}
	pending := r.pending
	r.built, r.pending, r.waiting = nil, nil, 0
	r.base, r.size, r.tree = revision, b.size, b.tree
	if r.tree != nil {
		x.held += r.size
	}
	for _, d := range pending {
		x.apply(r, d)
	}
	x.shrink()
}

// builder reads headers into a tree of its own.
type builder struct {
	x        *Index
	r        *resource
	tree     *tree // nil once it does not fit
	size     int64 // of all headers, also of those that do not fit
	reserved int64 // part of x.held
}

// reserveBytes is the memory that a builder reserves at a time.
const reserveBytes = 64 << 10

// scan visits every header and returns the revision of its view.
func (b *builder) scan(ctx context.Context) (uint64, error) {
	reader, err := b.x.store.At(ctx, 0)
	if err != nil {
		return 0, err
	}
	err = reader.ScanMeta(ctx, b.r.prefix, "", func(e *store.Entry) bool {
		b.size += cost(e.Key, e.Meta)
		if b.tree != nil && b.size > b.reserved && !b.reserve() {
			b.tree = nil
		}
		if b.tree != nil {
			b.tree.Load(strings.Clone(e.Key), b.x.header(e.Meta))
		}
		return true
	})
	if closed := reader.Close(); err == nil {
		err = closed
	}
	return reader.Revision(), err
}

// reserve makes room for size bytes and some more.
func (b *builder) reserve() bool {
	x := b.x
	x.mu.Lock()
	defer x.mu.Unlock()
	step := b.size - b.reserved + min(reserveBytes, x.cfg.Bytes/16)
	now := x.cfg.Clock()
	for x.closed || x.held+step > x.cfg.Bytes {
		victim := x.leastAsked(func(r *resource) bool { return r.unused(now) })
		if victim == nil {
			x.held -= b.reserved
			b.reserved = 0
			return false
		}
		x.drop(victim)
	}
	x.held += step
	b.reserved += step
	return true
}

// postpone keeps a change for the end of the build. When the postponed changes do not
// fit, the build is given up.
func (x *Index) postpone(r *resource, d delta) {
	size := cost(d.key, d.header.meta)
	r.pending = append(r.pending, d)
	r.waiting += size
	x.held += size
	x.shrink()
	if x.held > x.cfg.Bytes {
		x.held -= r.waiting
		r.pending, r.waiting = nil, 0
		delete(x.resources, r.prefix)
	}
}

// entryBytes is the memory of a header besides the bytes of its key and itself: a slot,
// with its bits, in a node that is half empty, the node's share, and the allocator's
// overhead for two small pieces of memory. TestCost measures it.
const entryBytes = 112

func cost[T string | []byte](key string, meta T) int64 {
	return int64(entryBytes + len(key) + len(meta))
}

// protected is the time after a request during which a tree is not dropped for another
// resource. Without it two resources that do not fit together, requested in turn, would
// be read in again for every list.
const protected = 10 * time.Second

func (r *resource) unused(now time.Time) bool { return now.Sub(r.asked) >= protected }

// worthBuilding reports whether a resource whose size is known would fit, with an eighth
// to spare: one without spare room would come and go.
func (x *Index) worthBuilding(r *resource, now time.Time) bool {
	room := x.cfg.Bytes - x.held
	for _, other := range x.resources {
		if other.tree != nil && other.unused(now) {
			room += other.size
		}
	}
	return r.size <= room-x.cfg.Bytes/8
}

// shrink drops trees, the least recently requested first, until the rest fits.
func (x *Index) shrink() {
	for x.held > x.cfg.Bytes {
		victim := x.leastAsked(func(*resource) bool { return true })
		if victim == nil {
			return // builders have reserved the rest
		}
		x.drop(victim)
	}
}

// leastAsked returns the least recently requested tree of those that qualify, or nil.
func (x *Index) leastAsked(qualifies func(*resource) bool) *resource {
	var least *resource
	for _, r := range x.resources {
		if r.tree != nil && qualifies(r) && (least == nil || r.asked.Before(least.asked)) {
			least = r
		}
	}
	return least
}

// drop removes a tree. Its size stays known.
func (x *Index) drop(r *resource) {
	x.held -= r.size
	r.tree, r.shared = nil, nil
}

// sweep drops trees that have not been requested for a while.
func (x *Index) sweep(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for prefix, r := range x.resources {
		if r.built != nil || now.Sub(r.asked) < x.cfg.Idle {
			continue
		}
		if r.tree != nil {
			x.drop(r)
		}
		delete(x.resources, prefix)
	}
}

func (x *Index) sweepAtTimes() {
	defer close(x.done)
	ticker := time.NewTicker(max(x.cfg.Idle/4, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			x.sweep(x.cfg.Clock())
		case <-x.stop:
			return
		}
	}
}
