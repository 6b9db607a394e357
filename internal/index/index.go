package index

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tidwall/btree"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
)

// Config bounds an Index.
type Config struct {
	Bytes int64            // memory for all headers; 0 means 128 MiB, 400,000 pods
	Idle  time.Duration    // headers not requested for so long are dropped; 0 means 5 minutes
	Clock func() time.Time // nil means time.Now
	// Bits makes the summary kept next to a header, see View.Scan; nil means none. The
	// same bytes must always give the same summary.
	Bits func(meta []byte) [2]uint64
}

func (c Config) withDefaults() Config {
	if c.Bytes <= 0 {
		c.Bytes = 128 << 20
	}
	if c.Idle <= 0 {
		c.Idle = 5 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Bits == nil {
		c.Bits = func([]byte) (none [2]uint64) { return none }
	}
	return c
}

// Index holds the headers of resources. It is safe for concurrent use.
//
// Invariants:
//
//	I1. announced is the newest revision that the store has announced, and the tree of
//	    a resource is its state at max(announced, base).
//	I2. A View is not older than any write that was acknowledged, or visible to
//	    readers of the store, before it was requested: View reads the store's current
//	    revision first and waits until announced has reached it. The wait is short,
//	    because the store calls its subscribers right after it has made a write visible,
//	    and acknowledges the write only then.
//	I3. held, the bytes of all trees, of those being built and of the changes
//	    postponed for them, is at most Bytes whenever mu is free. Nodes that only a view
//	    in use still holds are not counted.
//	I4. Nothing is called with mu held but the trees and the clock; so publish, which
//	    the store calls, blocks on nothing.
//
// The first request builds a tree (build.go). Example: the store is at 7 and has
// announced 6. The builder enters the resource, so that changes from 7 on go to pending,
// and scans a view of the store, which is at 7. Meanwhile the store announces 7 and 8.
// The builder makes the scan the tree, sets base to 7, skips the pending 7, which the
// scan has seen, and applies 8.
type Index struct {
	cfg    Config
	store  store.Store
	cancel func()
	stop   chan struct{} // closed to end sweeping
	done   chan struct{} // closed when sweeping has ended

	mu        ranks.Mutex[ranks.Follower]
	advanced  *sync.Cond // announced has grown, or closed is set
	announced uint64
	closed    bool
	held      int64
	resources map[string]*resource // by prefix, "apps/deployments/"
}

// New subscribes to the store. Close ends the subscription.
func New(s store.Store, cfg Config) *Index {
	x := &Index{cfg: cfg.withDefaults(), store: s, resources: make(map[string]*resource), stop: make(chan struct{}), done: make(chan struct{})}
	x.advanced = sync.NewCond(&x.mu)
	current, cancel := s.Subscribe(store.States, x.publish)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.announced, x.cancel = max(x.announced, current), cancel
	go x.sweepAtTimes()
	return x
}

// Close drops everything. Views in use stay valid; new ones are refused.
func (x *Index) Close() {
	x.cancel() // waits for a call of publish, so mu is not held
	x.mu.Lock()
	first := !x.closed
	x.closed, x.resources = true, nil
	x.mu.Unlock()
	if first {
		x.advanced.Broadcast()
		close(x.stop)
	}
	<-x.done
}

// View returns the headers of the resource that the prefix belongs to ("core/pods/" or
// "core/pods/default/"), at a revision that includes every write visible when View was
// called. While another goroutine reads the headers in, it waits: a scan of the objects
// would take longer. It reports false when the caller must scan the store: the headers do
// not fit, or reading them failed (the scan will report why).
func (x *Index) View(ctx context.Context, prefix string) (View, bool) {
	visible, err := x.store.Newest(ctx)
	if err != nil {
		return View{}, false // the scan will report it
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.announced < visible && !x.closed {
		x.advanced.Wait()
	}
	if x.closed || visible == 0 { // an empty store has no revision for store.At
		return View{}, false
	}
	now := x.cfg.Clock()
	r := x.resources[resourceOf(prefix)]
	unknown := r == nil
	if unknown {
		r = &resource{prefix: resourceOf(prefix)}
		x.resources[r.prefix] = r
	}
	r.asked = now
	switch {
	case r.built != nil:
		x.wait(ctx, r.built)
	case r.tree == nil && (unknown || x.worthBuilding(r, now)):
		r.built = make(chan struct{})
		x.mu.Unlock()
		x.build(ctx, r)
		x.mu.Lock()
	}
	if r.tree == nil || x.closed {
		return View{}, false
	}
	return View{tree: r.share(), revision: max(x.announced, r.base)}, true
}

// wait waits until a build has ended. mu is held, but not meanwhile.
func (x *Index) wait(ctx context.Context, built <-chan struct{}) {
	x.mu.Unlock()
	defer x.mu.Lock()
	select {
	case <-built:
	case <-ctx.Done():
	}
}

// publish is called by the store with every batch of changes, in revision order.
func (x *Index) publish(batch store.Batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range batch.Changes {
		if r := x.resources[resourceOf(c.Entry.Key)]; r != nil {
			x.note(r, c)
		}
	}
	x.announced = batch.Revision
	x.advanced.Broadcast()
}

// note brings a resource up to date with a change that was announced.
func (x *Index) note(r *resource, c *store.Change) {
	d := delta{key: c.Entry.Key, revision: c.Entry.Revision}
	if c.Op != store.OpCreate {
		d.grows -= cost(c.Entry.Key, c.Prev.Meta)
	}
	if c.Op != store.OpDelete {
		d.grows += cost(c.Entry.Key, c.Entry.Meta)
	}
	switch {
	case c.Op == store.OpDelete:
		d.gone = true
	case c.Op == store.OpUpdate && bytes.Equal(c.Entry.Meta, c.Prev.Meta):
		return // as in nearly every update
	case r.built != nil || r.tree != nil:
		d.header = x.header(c.Entry.Meta) // a copy: the change's slice would keep the whole object
	}
	if r.built != nil {
		x.postpone(r, d)
		return
	}
	x.apply(r, d)
}

// apply brings a resource up to date with a change.
func (x *Index) apply(r *resource, d delta) {
	if d.revision <= r.base {
		return
	}
	r.size += d.grows
	if r.tree == nil {
		return
	}
	x.held += d.grows
	r.shared = nil
	if d.gone {
		r.tree.Delete(d.key)
	} else {
		r.tree.Set(d.key, d.header)
	}
	x.shrink()
}

// resource is the index of one resource.
//
// Invariant: when it is not being built, size is the memory of its headers, in the tree
// or if they were there, at the index's revision; so one that did not fit is known to fit
// again without reading it.
type resource struct {
	prefix string
	base   uint64 // revision of the scan; the tree has the changes up to it
	size   int64
	asked  time.Time

	tree   *tree // nil while the headers are not held
	shared *tree // copy of tree, for views; nil after a change

	built   chan struct{} // while it is being built; closed when that has ended
	pending []delta       // changes since building began
	waiting int64         // bytes in pending, part of held
}

// delta is the effect of a change on the headers.
type delta struct {
	key      string
	revision uint64
	grows    int64 // in bytes, negative when it shrinks
	gone     bool
	header   header
}

// tree is the headers of a resource by key.
type tree = btree.Map[string, header]

// header is an object's header in memory. It fits into four words, so it is passed in
// registers; with an array or a slice in it going along a tree takes twice as long
// (BenchmarkScan).
//
// Invariant: low and high are Config.Bits of meta.
type header struct {
	low, high uint64
	meta      string
}

// header copies the header of a change or an iterator.
func (x *Index) header(meta []byte) header {
	bits := x.cfg.Bits(meta)
	return header{bits[0], bits[1], string(meta)}
}

// has reports whether all bits of need are set.
func (h header) has(need [2]uint64) bool { return need[0]&^h.low|need[1]&^h.high == 0 }

// bytes are the bytes of meta, which must not be changed.
func (h header) bytes() []byte { return unsafe.Slice(unsafe.StringData(h.meta), len(h.meta)) }

// share returns a tree that does not change any more. A copy is one allocation: it shares
// all nodes with the tree until a write replaces some there.
func (r *resource) share() *tree {
	if r.shared == nil {
		r.shared = r.tree.Copy()
	}
	return r.shared
}

// resourceOf returns the "group/plural/" of a key.
func resourceOf(key string) string {
	group := strings.IndexByte(key, '/') + 1
	return key[:group+strings.IndexByte(key[group:], '/')+1]
}
