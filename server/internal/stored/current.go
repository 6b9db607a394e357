package stored

import (
	"context"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// CurrentStore shows objects that were stored under other documents, or in another
// version, as they would be stored today: with the defaults added since, in the present
// storage version; but in their own version if only a remote converter could turn it,
// since nothing may wait here. Writes through it have that form, so the number of old
// objects falls; migrate ends it.
//
// Built-in kinds are in it only while it is needed, see storedVersions, custom ones when
// their definition changes.
//
// In a shared store each server decodes what others have written, by the definition that it has at
// that moment, which may not be the one of the writer. So all custom objects count as old there,
// and there are no records about their forms.
type CurrentStore struct {
	store.Store
	shared bool
	kinds  atomic.Pointer[MixedKinds]

	mu  ranks.Mutex[ranks.Leaf] // held while kinds is replaced
	now MixedKinds              // that kinds is a copy of
}

// MixedKinds are kinds of which there may be old objects, by the beginning of their keys.
// One that is in use never changes.
type MixedKinds struct{ btree.Map[string, *Kind] }

// NewCurrent makes a store that knows of kinds of which there may be old objects.
func NewCurrent(s store.Store, kinds Kinds) *CurrentStore {
	c := &CurrentStore{Store: s}
	c.change(func(now *MixedKinds) {
		for prefix, kind := range kinds {
			now.Set(prefix, kind)
		}
	})
	return c
}

// NewShared makes a store of objects that other servers write, too.
func NewShared(s store.Store) *CurrentStore {
	c := NewCurrent(s, nil)
	c.shared = true
	return c
}

// Kinds are those of which there may be old objects.
func (c *CurrentStore) Kinds() *MixedKinds { return c.kinds.Load() }

// Custom are the kinds of custom resources.
func (c *CurrentStore) Custom() Kinds {
	all := Kinds{}
	c.Kinds().Scan(func(prefix string, kind *Kind) bool {
		if kind.res.Definition != nil {
			all[prefix] = kind
		}
		return true
	})
	return all
}

// Put records that objects of a type up to a revision may be stored in another form or
// version than the type's. If same is set, a known type keeps its revision and an unknown type is
// ignored.
func (c *CurrentStore) Put(t *catalog.Type, since uint64, same bool) {
	c.change(func(now *MixedKinds) {
		before, known := now.Get(t.Prefix)
		if same && !known && !c.shared {
			return
		}
		kind := &Kind{versions: t, res: t.Stored, since: since}
		if c.shared {
			kind.since = Newest
		} else if same {
			kind.since = before.since
			kind.migrated.Store(before.migrated.Load())
		}
		now.Set(t.Prefix, kind)
	})
}

// Forget takes a type out of those of which there may be old objects.
func (c *CurrentStore) Forget(prefix string) {
	c.change(func(now *MixedKinds) { now.Delete(prefix) })
}

func (c *CurrentStore) change(edit func(now *MixedKinds)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit(&c.now)
	c.kinds.Store(&MixedKinds{*c.now.Copy()})
}

// of is the kind of the objects at a key, or at the common beginning of a kind's keys;
// nil when none of them can be old.
func (k *MixedKinds) of(key string) *Kind {
	kind, _ := k.Get(catalog.KeyPrefix(key))
	return kind
}

// current is an entry of a view at a revision as it would be stored today.
func (k *MixedKinds) current(e *store.Entry, at uint64) (store.Entry, error) {
	return k.of(e.Key).current(e, at)
}

// Old reports whether a view at a revision may show old objects.
func (k *MixedKinds) Old(at uint64) (old bool) {
	k.Scan(func(_ string, kind *Kind) bool {
		old = kind.old(&store.Entry{}, at)
		return !old
	})
	return old
}

// At implements store.Snapshots.
func (c *CurrentStore) At(ctx context.Context, at uint64) (store.Reader, error) {
	r, err := c.Store.At(ctx, at)
	if err != nil || !c.Kinds().Old(r.Revision()) {
		return r, err
	}
	return &currentReader{r, c.Kinds()}, nil
}

// Get implements store.Snapshots.
func (c *CurrentStore) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := c.Store.Get(ctx, key)
	if err != nil {
		return e, err
	}
	return c.Kinds().current(&e, Newest)
}

// Update implements store.Transactions.
func (c *CurrentStore) Update(ctx context.Context, key string, fn func(*store.Entry) (store.Write, error)) (store.Entry, error) {
	e, err := c.Store.Update(ctx, key, func(old *store.Entry) (store.Write, error) {
		if old == nil {
			return fn(nil)
		}
		turned, err := c.Kinds().current(old, Newest)
		if err != nil {
			return store.Write{}, err
		}
		return fn(&turned)
	})
	if err != nil || e.Body == nil {
		return e, err
	}
	return c.Kinds().current(&e, Newest)
}

// UpdateAll implements store.Transactions.
func (c *CurrentStore) UpdateAll(ctx context.Context, keys []string, fn func([]*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	all, err := c.Store.UpdateAll(ctx, keys, func(old []*store.Entry) ([]store.Write, error) {
		turned := make([]*store.Entry, len(old))
		for i, e := range old {
			if e == nil {
				continue
			}
			now, err := c.Kinds().current(e, Newest)
			if err != nil {
				return nil, err
			}
			turned[i] = &now
		}
		return fn(turned)
	})
	for i := range all {
		if all[i].Body != nil && err == nil {
			all[i], err = c.Kinds().current(&all[i], Newest)
		}
	}
	return all, err
}

// Changes implements store.Feed.
func (c *CurrentStore) Changes(ctx context.Context, prefix string, after uint64, visit func(*store.Change) bool) (uint64, error) {
	if !c.Kinds().Old(after) {
		return c.Store.Changes(ctx, prefix, after, visit)
	}
	var failure error
	read, err := c.Store.Changes(ctx, prefix, after, func(ch *store.Change) bool {
		var turned store.Change
		if turned, failure = c.Kinds().change(ch); failure != nil {
			return false
		}
		return visit(&turned)
	})
	if err == nil {
		err = failure
	}
	return read, err
}

// Subscribe implements store.Feed. A change that cannot be converted is shown as it is.
func (c *CurrentStore) Subscribe(turn store.Turn, fn func(store.Batch)) (uint64, func()) {
	return c.Store.Subscribe(turn, func(batch store.Batch) {
		if len(batch.Changes) == 0 || !c.Kinds().Old(batch.Changes[0].Entry.Revision-1) {
			fn(batch)
			return
		}
		turned := make([]*store.Change, len(batch.Changes))
		for i, ch := range batch.Changes {
			t, err := c.Kinds().change(ch)
			if err != nil {
				t = *ch
			}
			turned[i] = &t
		}
		batch.Changes = turned
		fn(batch)
	})
}

// change is a change with objects as they would be stored today. The state before it is
// that of a view just before it.
func (k *MixedKinds) change(c *store.Change) (turned store.Change, err error) {
	turned = *c
	if turned.Entry, err = k.current(&c.Entry, c.Entry.Revision); err != nil || c.Prev.Body == nil {
		return turned, err
	}
	turned.Prev, err = k.current(&c.Prev, c.Entry.Revision-1)
	return turned, err
}

// currentReader is the view of a CurrentStore.
type currentReader struct {
	store.Reader
	kinds *MixedKinds
}

// Get implements store.Reader.
func (r *currentReader) Get(key string) (store.Entry, error) {
	e, err := r.Reader.Get(key)
	if err != nil {
		return e, err
	}
	return r.kinds.current(&e, r.Revision())
}

// turning wraps a visit so that it gets converted entries; an error that stopped it is
// left in failure.
func (r *currentReader) turning(of func(key string) *Kind, visit func(*store.Entry) bool, failure *error) func(*store.Entry) bool {
	at := r.Revision()
	return func(e *store.Entry) bool {
		kind := of(e.Key)
		if kind == nil || !kind.old(e, at) {
			return visit(e)
		}
		turned, err := kind.current(e, at)
		if err != nil {
			*failure = err
			return false
		}
		return visit(&turned)
	}
}

// GetEach implements store.Reader.
func (r *currentReader) GetEach(ctx context.Context, keys []string, visit func(*store.Entry) bool) error {
	var failure error
	if err := r.Reader.GetEach(ctx, keys, r.turning(r.kinds.of, visit, &failure)); err != nil {
		return err
	}
	return failure
}

// Scan implements store.Reader.
func (r *currentReader) Scan(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	kind := r.kinds.of(prefix)
	if kind == nil {
		return r.Reader.Scan(ctx, prefix, from, visit)
	}
	var failure error
	if err := r.Reader.Scan(ctx, prefix, from, r.turning(func(string) *Kind { return kind }, visit, &failure)); err != nil {
		return err
	}
	return failure
}

// ScanMeta implements store.Reader. The header of an old object is outdated, so its body
// is read too.
func (r *currentReader) ScanMeta(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	kind := r.kinds.of(prefix)
	if kind == nil {
		return r.Reader.ScanMeta(ctx, prefix, from, visit)
	}
	var failure error
	err := r.Reader.ScanMeta(ctx, prefix, from, func(e *store.Entry) bool {
		if !kind.old(e, r.Revision()) {
			return visit(e)
		}
		header, err := r.Get(e.Key)
		if err != nil {
			failure = err
			return false
		}
		header.Body = nil
		return visit(&header)
	})
	if err != nil {
		return err
	}
	return failure
}
