package server

import (
	"context"
	"fmt"

	"github.com/capstan-dev/capstan/internal/store"
)

// currentStore shows objects that were stored in another version, by a release
// that stored it, in the one that is stored now. What is written through it is in
// that version, so what it has to turn gets less; migrate ends it.
//
// A server has one only while it is needed, see storedVersions.
type currentStore struct {
	store.Store
	kinds storeKinds // of which there may be objects in other versions
}

// current is an entry in the version that is stored.
func (k storeKinds) current(e *store.Entry) (store.Entry, error) {
	kind := k.of(e.Key)
	if kind == nil || kind.current(e.Body) {
		return *e, nil
	}
	v, err := kind.rewrite(e.Body)
	if err != nil {
		return *e, fmt.Errorf("%s: %w", e.Key, err)
	}
	return entryOf(v, e), nil
}

// At implements store.Snapshots.
func (c *currentStore) At(ctx context.Context, at uint64) (store.Reader, error) {
	r, err := c.Store.At(ctx, at)
	if err != nil {
		return nil, err
	}
	return &currentReader{r, c.kinds}, nil
}

// Get implements store.Snapshots.
func (c *currentStore) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := c.Store.Get(ctx, key)
	if err != nil {
		return e, err
	}
	return c.kinds.current(&e)
}

// Update implements store.Transactions.
func (c *currentStore) Update(ctx context.Context, key string, fn func(*store.Entry) (store.Write, error)) (store.Entry, error) {
	e, err := c.Store.Update(ctx, key, func(old *store.Entry) (store.Write, error) {
		if old == nil {
			return fn(nil)
		}
		turned, err := c.kinds.current(old)
		if err != nil {
			return store.Write{}, err
		}
		return fn(&turned)
	})
	if err != nil || e.Body == nil {
		return e, err
	}
	return c.kinds.current(&e)
}

// Changes implements store.Feed.
func (c *currentStore) Changes(ctx context.Context, prefix string, after uint64, visit func(*store.Change) bool) (uint64, error) {
	var failure error
	read, err := c.Store.Changes(ctx, prefix, after, func(ch *store.Change) bool {
		var turned store.Change
		if turned, failure = c.kinds.change(ch); failure != nil {
			return false
		}
		return visit(&turned)
	})
	if err == nil {
		err = failure
	}
	return read, err
}

// Subscribe implements store.Feed. A change that cannot be turned is shown as it is.
func (c *currentStore) Subscribe(fn func([]*store.Change)) (uint64, func()) {
	return c.Store.Subscribe(func(changes []*store.Change) {
		turned := make([]*store.Change, len(changes))
		for i, ch := range changes {
			t, err := c.kinds.change(ch)
			if err != nil {
				t = *ch
			}
			turned[i] = &t
		}
		fn(turned)
	})
}

// change is a change of objects in the version that is stored.
func (k storeKinds) change(c *store.Change) (turned store.Change, err error) {
	turned = *c
	if turned.Entry, err = k.current(&c.Entry); err != nil || c.Prev.Body == nil {
		return turned, err
	}
	turned.Prev, err = k.current(&c.Prev)
	return turned, err
}

// currentReader is the view of a currentStore.
type currentReader struct {
	store.Reader
	kinds storeKinds
}

// Get implements store.Reader.
func (r *currentReader) Get(key string) (store.Entry, error) {
	e, err := r.Reader.Get(key)
	if err != nil {
		return e, err
	}
	return r.kinds.current(&e)
}

// turning makes of a visit one that is shown turned entries; what stopped it is
// left in failure.
func (r *currentReader) turning(visit func(*store.Entry) bool, failure *error) func(*store.Entry) bool {
	return func(e *store.Entry) bool {
		kind := r.kinds.of(e.Key)
		if kind == nil || kind.current(e.Body) {
			return visit(e)
		}
		turned, err := r.kinds.current(e)
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
	if err := r.Reader.GetEach(ctx, keys, r.turning(visit, &failure)); err != nil {
		return err
	}
	return failure
}

// Scan implements store.Reader.
func (r *currentReader) Scan(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	var failure error
	if err := r.Reader.Scan(ctx, prefix, from, r.turning(visit, &failure)); err != nil {
		return err
	}
	return failure
}

// ScanMeta implements store.Reader. The headers of an object in another version
// are those of that version, so the bodies have to be read too.
func (r *currentReader) ScanMeta(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	if r.kinds.of(prefix) == nil {
		return r.Reader.ScanMeta(ctx, prefix, from, visit)
	}
	return r.Scan(ctx, prefix, from, func(e *store.Entry) bool {
		header := *e
		header.Body = nil
		return visit(&header)
	})
}
