package live

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Config describes a collection.
type Config[T any] struct {
	Store store.Store
	// Prefixes are those of the keys ("core/services/"). None begins with another.
	Prefixes []string
	// Decode makes the value of an object, each time a new one, and may keep nothing of
	// the entry in it. A nil value leaves the object out. It runs while the store
	// announces, so it may neither block nor call the store. It is called once for each
	// existing object and once for each change but deletions. An object for which it
	// fails, or panics, is logged and left out until it changes.
	Decode func(e *store.Entry) (T, error)
	Logger *slog.Logger
}

// Read makes a Decode from a function that reads objects of one type.
func Read[T any](row *catalog.Row, read func(obj document.Value) T) func(e *store.Entry) (T, error) {
	return func(e *store.Entry) (none T, _ error) {
		doc, err := document.ReadStored(row.GV.Types(), row.Type, e.Body)
		if err != nil {
			return none, err
		}
		defer doc.Release()
		return read(doc.Root()), nil
	}
}

// Collection is all objects under some prefixes, in memory. It is safe for concurrent
// use. T has to be a pointer type, so that all collections share their code.
//
// Invariants:
//
//	L1. A state holds all objects, and the indexes derived from them, as at its
//	    revision, and never changes. latest is the newest state, and no change of the
//	    collection is between its revision and announced.
//	L2. The first state is a scan of the store at base; every later change is applied
//	    once, in the order of revisions: the collection subscribes before the scan, and
//	    skips announcements up to base.
//	L3. A change is in latest before announced reaches it, and announced reaches it
//	    before the store acknowledges it. So a view is not older than any write
//	    acknowledged before it was taken; AtLeast waits for a revision that is known
//	    otherwise, from a read of the store. This holds in the process that writes the
//	    store, of which there is one.
//	L4. Announcing does not block on readers, nor readers on anything: announced
//	    changes are applied, so there is neither a queue that could overflow nor a history
//	    that could be trimmed. A slow follower sees fewer states, never one without a
//	    change.
//	L5. The memory is the value of each object that Decode kept, its key, some 40
//	    bytes of the tree, and the indexes; nothing of the entries. A view of an older
//	    state holds the objects that have changed since, and all changes of them.
//	L6. A state knows the next one, and what changes there, so that a follower sees what
//	    changed without comparing; none knows the one before, so those that no view has
//	    are freed.
//
// Example: the store is at 7 and has announced 6. Open subscribes, scans at 7, and makes
// that the first state. The store announces 7, which the scan has seen, and 8: the second
// state is that at 8.
type Collection[T any] struct {
	cfg    Config[T]
	cancel func() // of the subscription

	announced atomic.Uint64
	latest    atomic.Pointer[state[T]]

	mu      ranks.Mutex[ranks.Follower]
	base    uint64
	objects btree.Map[string, T] // of latest; states share its nodes
	derived []func(index any, changes []Change[T]) any
	late    map[string]late[T] // changes since the scan began; nil after the scan
	moved   bell               // announced has grown, or closed is set
	changed bell               // latest has changed, or closed is set
	closed  bool
}

// state is the objects at a revision.
type state[T any] struct {
	revision uint64
	objects  *btree.Map[string, T]
	indexes  []any // in the order of Derive

	next    atomic.Pointer[state[T]] // nil in the newest
	changes []Change[T]              // from the state before
}

// late is a change of an object during the scan.
type late[T any] struct {
	revision uint64
	value    T
}

// Open reads the collection from the store and follows it until Close. A client that sees a
// change in a watch finds it in the collection, see store.Streams.
func Open[T any](ctx context.Context, cfg Config[T]) (*Collection[T], error) {
	c := &Collection[T]{cfg: cfg, late: map[string]late[T]{}}
	var current uint64
	current, c.cancel = cfg.Store.Subscribe(store.States, c.publish)
	base, err := c.scan(ctx)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("reading %s: %w", strings.Join(cfg.Prefixes, ", "), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, l := range c.late {
		if l.revision > base {
			c.set(key, l.value)
		}
	}
	c.base, c.late = base, nil
	c.announced.Store(max(base, current, c.announced.Load()))
	c.latest.Store(&state[T]{revision: c.announced.Load(), objects: c.objects.Copy()})
	return c, nil
}

// scan reads the existing objects and returns the revision of its view. Nothing else uses
// the objects meanwhile.
func (c *Collection[T]) scan(ctx context.Context) (uint64, error) {
	reader, err := c.cfg.Store.At(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reader.Close() }()
	for _, prefix := range c.cfg.Prefixes {
		err = store.ScanReadable(ctx, reader, prefix, func(e *store.Entry) bool {
			c.set(strings.Clone(e.Key), c.decode(e))
			return true
		}, func(u *store.UnreadableError) { c.leftOut(u.Key, u.Cause) })
		if err != nil {
			return 0, err
		}
	}
	return reader.Revision(), nil
}

// decode makes the value of an object, nil for one that is left out.
func (c *Collection[T]) decode(e *store.Entry) (none T) {
	value, err := c.try(e)
	if err != nil {
		c.leftOut(e.Key, err)
		return none
	}
	return value
}

func (c *Collection[T]) leftOut(key string, err error) {
	c.cfg.Logger.Error("an object that is kept in memory cannot be read; rules go on without it", "key", key, "error", err)
}

func (c *Collection[T]) try(e *store.Entry) (value T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return c.cfg.Decode(e)
}

// same compares pointers. A constraint that permits == would end the sharing of code.
func same[T any](a, b T) bool { return any(a) == any(b) }

func (c *Collection[T]) set(key string, value T) (before T) {
	var none T
	if same(value, none) {
		before, _ = c.objects.Delete(key)
	} else {
		before, _ = c.objects.Set(key, value)
	}
	return before
}

// publish is called by the store with every batch of changes, in the order of revisions.
func (c *Collection[T]) publish(batch store.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changes []Change[T]
	for _, change := range batch.Changes {
		key, revision := change.Entry.Key, change.Entry.Revision
		if revision <= c.base || !slices.ContainsFunc(c.cfg.Prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			continue
		}
		var value T
		if change.Op != store.OpDelete {
			value = c.decode(&change.Entry)
		}
		if c.late != nil {
			c.late[key] = late[T]{revision, value}
		} else if before := c.set(key, value); !same(before, value) {
			changes = append(changes, Change[T]{key, before, value})
		}
	}
	if len(changes) > 0 {
		c.advance(batch.Revision, changes)
	}
	if batch.Revision > c.base {
		c.announced.Store(batch.Revision)
		c.moved.ring()
	}
}

// advance makes the objects the newest state. mu is held.
func (c *Collection[T]) advance(revision uint64, changes []Change[T]) {
	next := &state[T]{revision: revision, objects: c.objects.Copy(), indexes: make([]any, len(c.derived)), changes: changes}
	for i, derive := range c.derived {
		next.indexes[i] = derive(c.latest.Load().indexes[i], changes)
	}
	c.follow(next)
	c.changed.ring()
}

// follow makes a state the newest. mu is held.
func (c *Collection[T]) follow(next *state[T]) {
	c.latest.Load().next.Store(next)
	c.latest.Store(next)
}

// View returns the present objects.
func (c *Collection[T]) View() View[T] {
	announced := c.announced.Load() // first, so that latest is not older
	latest := c.latest.Load()
	return View[T]{latest, max(announced, latest.revision)}
}

// AtLeast waits until the objects are at a revision or a later one. Errors: ctx's,
// store.ErrClosed when the collection is closed meanwhile.
func (c *Collection[T]) AtLeast(ctx context.Context, revision uint64) (View[T], error) {
	return c.await(ctx, &c.moved, func(v View[T]) bool { return v.revision >= revision })
}

// Next waits until the objects differ from those of a view; the zero View has none, and
// is before all others. Errors are those of AtLeast.
func (c *Collection[T]) Next(ctx context.Context, after View[T]) (View[T], error) {
	return c.await(ctx, &c.changed, func(v View[T]) bool { return v.state != after.state })
}

func (c *Collection[T]) await(ctx context.Context, b *bell, enough func(View[T]) bool) (View[T], error) {
	if v := c.View(); enough(v) {
		return v, nil
	}
	for {
		rung, closed := c.listen(b) // first, so that nothing between is missed
		if v := c.View(); enough(v) {
			return v, nil
		}
		if closed {
			return View[T]{}, store.ErrClosed
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return View[T]{}, ctx.Err()
		}
	}
}

func (c *Collection[T]) listen(b *bell) (rung <-chan struct{}, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return b.listen(), c.closed
}

// Close ends following and waiting. Views stay valid; a new one shows the state at the
// end.
func (c *Collection[T]) Close() {
	c.cancel() // waits for publish, so mu is not held
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.moved.ring()
	c.changed.ring()
}

// bell wakes all listeners. Its owner's lock guards it.
type bell struct{ rung chan struct{} }

func (b *bell) listen() <-chan struct{} {
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

func (b *bell) ring() {
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
