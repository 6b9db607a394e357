package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Divided is a store of which the keys with one prefix lie in another store, with revisions of its
// own: a collection that is written so often that it gets a disk of its own.
//
//	core/events/shop/web.17   Elsewhere
//	everything else           Store
//
// Invariants:
//
//	D1. A key is read and written in one of the two stores only.
//	D2. Revisions and the feed are those of Store. What follows the keys elsewhere, or names a
//	    revision of theirs, uses Elsewhere itself.
//	D3. Two stores have no transaction in common. A write elsewhere looks at its read set in Store
//	    just before its commit, so a change there can come between. Of the read set of a write in Store the
//	    part elsewhere is left out.
type Divided struct {
	Store
	Elsewhere Store
	Prefix    string // of the keys elsewhere, with a slash at its end
}

// of is the store of a key, or of the keys with a prefix.
func (d *Divided) of(key string) Store {
	if d.away(key) {
		return d.Elsewhere
	}
	return d.Store
}

func (d *Divided) away(key string) bool { return strings.HasPrefix(key, d.Prefix) }

// Get implements Snapshots.
func (d *Divided) Get(ctx context.Context, key string) (Entry, error) { return d.of(key).Get(ctx, key) }

// Update implements Transactions.
func (d *Divided) Update(ctx context.Context, key string, fn func(current *Entry) (Write, error)) (Entry, error) {
	if d.away(key) {
		return d.Elsewhere.Update(ctx, key, func(current *Entry) (Write, error) {
			w, err := fn(current)
			if err == nil {
				w.Seen, err = d.look(ctx, w.Seen)
			}
			return w, err
		})
	}
	return d.Store.Update(ctx, key, func(current *Entry) (Write, error) {
		w, err := fn(current)
		w.Seen = d.near(w.Seen)
		return w, err
	})
}

// UpdateAll implements Transactions, for keys of Store only.
func (d *Divided) UpdateAll(ctx context.Context, keys []string, fn func(current []*Entry) ([]Write, error)) ([]Entry, error) {
	if at := slices.IndexFunc(keys, d.away); at >= 0 {
		return nil, fmt.Errorf("store: %s lies in a store of its own, and cannot be written in one transaction with other keys", keys[at])
	}
	return d.Store.UpdateAll(ctx, keys, func(current []*Entry) ([]Write, error) {
		writes, err := fn(current)
		for i := range writes {
			writes[i].Seen = d.near(writes[i].Seen)
		}
		return writes, err
	})
}

// near is the part of a read set that lies in Store.
func (d *Divided) near(seen []Seen) []Seen {
	if !slices.ContainsFunc(seen, func(s Seen) bool { return !s.Mark && d.away(s.Key) }) {
		return seen
	}
	return slices.DeleteFunc(slices.Clone(seen), func(s Seen) bool { return !s.Mark && d.away(s.Key) })
}

// look is the part of a read set that lies elsewhere. The error is ErrChanged when the part in Store
// does not stand any more.
func (d *Divided) look(ctx context.Context, seen []Seen) (away []Seen, err error) {
	var view Reader
	for _, s := range seen {
		if d.away(s.Key) {
			away = append(away, s)
			continue
		}
		if view == nil {
			if view, err = d.Store.At(Stale(ctx), 0); err != nil {
				return nil, err
			}
			defer view.Close()
		}
		if err := stands(ctx, view, s); err != nil {
			return nil, err
		}
	}
	return away, nil
}

// stands is nil while a part of a read set is so in a view.
func stands(ctx context.Context, view Reader, s Seen) error {
	if !s.Collection {
		entry, err := view.Get(s.Key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if entry.Revision != s.Revision {
			return ErrChanged
		}
		return nil
	}
	newer := false
	err := view.ScanMeta(ctx, s.Key, "", func(e *Entry) bool {
		newer = e.Revision > s.Revision
		return !newer
	})
	if err == nil && newer {
		return ErrChanged
	}
	return err
}

// At implements Snapshots. The view of the keys elsewhere is that of their newest state, opened with the first
// of them that is read; an exact revision is one of Store.
func (d *Divided) At(ctx context.Context, at uint64) (Reader, error) {
	view, err := d.Store.At(ctx, at)
	if err != nil {
		return nil, err
	}
	return &dividedReader{Reader: view, store: d, ctx: ctx}, nil
}

// Close implements Store.
func (d *Divided) Close() error { return errors.Join(d.Elsewhere.Close(), d.Store.Close()) }

// dividedReader is a view of both stores.
type dividedReader struct {
	Reader
	store *Divided
	ctx   context.Context // of At

	mu   sync.Mutex
	away Reader // nil until a key elsewhere is read
}

// of is the view that has a key.
func (r *dividedReader) of(key string) (Reader, error) {
	if !r.store.away(key) {
		return r.Reader, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.away == nil {
		r.away, err = r.store.Elsewhere.At(r.ctx, 0)
	}
	return r.away, err
}

func (r *dividedReader) Get(key string) (Entry, error) {
	view, err := r.of(key)
	if err != nil {
		return Entry{}, err
	}
	return view.Get(key)
}

func (r *dividedReader) GetEach(ctx context.Context, keys []string, visit func(e *Entry) bool) error {
	for len(keys) > 0 { // runs of keys of one store
		away, n := r.store.away(keys[0]), 1
		for n < len(keys) && r.store.away(keys[n]) == away {
			n++
		}
		view, err := r.of(keys[0])
		if err != nil {
			return err
		}
		over := false
		err = view.GetEach(ctx, keys[:n], func(e *Entry) bool {
			over = !visit(e)
			return !over
		})
		if err != nil || over {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

func (r *dividedReader) Scan(ctx context.Context, prefix, from string, visit func(e *Entry) bool) error {
	view, err := r.of(prefix)
	if err != nil {
		return err
	}
	return view.Scan(ctx, prefix, from, visit)
}

func (r *dividedReader) ScanMeta(ctx context.Context, prefix, from string, visit func(e *Entry) bool) error {
	view, err := r.of(prefix)
	if err != nil {
		return err
	}
	return view.ScanMeta(ctx, prefix, from, visit)
}

func (r *dividedReader) Count(ctx context.Context, prefix, from string) (int64, error) {
	view, err := r.of(prefix)
	if err != nil {
		return 0, err
	}
	return view.Count(ctx, prefix, from)
}

func (r *dividedReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away == nil {
		return r.Reader.Close()
	}
	return errors.Join(r.away.Close(), r.Reader.Close())
}
