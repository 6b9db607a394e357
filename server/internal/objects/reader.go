package objects

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Reader reads objects as they are stored.
type Reader struct {
	store   store.Store
	catalog *catalog.Catalog
	soon    time.Duration // the time that GetSoon waits
}

// NewReader makes a reader of the objects of a store. soon is the time that GetSoon
// waits.
func NewReader(s store.Store, c *catalog.Catalog, soon time.Duration) *Reader {
	return &Reader{s, c, soon}
}

// Get reads an object of the newest state; the caller releases it. Errors: 404.
func (r *Reader) Get(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	none := func() {}
	res := r.catalog.Snapshot().Stored(group, plural)
	if res == nil {
		return document.Value{}, none, api.NotFound(api.GroupResource{Group: group, Resource: plural}, name)
	}
	entry, err := r.store.Get(ctx, res.Key(namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return document.Value{}, none, api.NotFound(res.GroupResource(), name)
	}
	if err != nil {
		return document.Value{}, none, err
	}
	doc, err := document.ReadStored(res.GV.Types(), res.Type, entry.Body)
	if err != nil {
		return document.Value{}, none, err
	}
	return doc.Root(), doc.Release, nil
}

// Each visits the objects of a kind in a namespace, "" for all, in the order of their
// names, until visit returns false. The objects are valid during visit.
func (r *Reader) Each(ctx context.Context, group, plural, namespace string, visit func(obj document.Value) bool) error {
	res := r.catalog.Snapshot().Stored(group, plural)
	if res == nil {
		return nil
	}
	view, err := r.store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }() // of a read
	var wrong error
	err = view.Scan(ctx, res.Prefix(namespace), "", func(e *store.Entry) bool {
		doc, err := document.ReadStored(res.GV.Types(), res.Type, e.Body)
		if err != nil {
			wrong = err
			return false
		}
		defer doc.Release()
		return visit(doc.Root())
	})
	return errors.Join(err, wrong)
}

// GetSoon is Get for an object that may be created shortly: it waits a little.
func (r *Reader) GetSoon(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	var wait context.Context
	for {
		at := r.store.Current()
		obj, release, err := r.Get(ctx, group, plural, namespace, name)
		var known *api.Error
		if !errors.As(err, &known) || known.Reason != api.ReasonNotFound {
			return obj, release, err
		}
		if wait == nil {
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(ctx, r.soon)
			defer cancel()
		}
		if r.store.WaitFor(wait, at+1) != nil {
			return obj, release, err
		}
	}
}

// In reads an object in the version of a row; the caller releases it. Errors: 404.
func (r *Reader) In(ctx context.Context, row *catalog.Row, namespace, name string) (*document.Document, error) {
	entry, err := r.store.Get(ctx, row.Key(namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, api.NotFound(row.GroupResource(), name)
	}
	if err != nil {
		return nil, err
	}
	return shown(ctx, row, entry.Body)
}

// EachIn visits the objects of a namespace, or of all for "", in the version of a row, until
// visit returns false. The objects are valid until it returns.
func (r *Reader) EachIn(ctx context.Context, row *catalog.Row, namespace string, visit func(obj document.Value) bool) error {
	view, err := r.store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer view.Close()
	return eachShown(ctx, view, row, namespace, "", func(_ string, obj document.Value) bool { return visit(obj) })
}

// eachShown visits the objects of a view from a key on, in the version of a row, until visit returns false. Key and object
// are valid until it returns.
func eachShown(ctx context.Context, view store.Reader, row *catalog.Row, namespace, from string, visit func(key string, obj document.Value) bool) error {
	var failed error
	err := view.Scan(ctx, row.Prefix(namespace), from, func(e *store.Entry) bool {
		doc, err := shown(ctx, row, e.Body)
		if err != nil {
			failed = err
			return false
		}
		defer doc.Release()
		return visit(e.Key, doc.Root())
	})
	return errors.Join(err, failed)
}

// PageIn is a part of the objects of a namespace, or of all for "", in the version of a row: those from a key on, as they
// were at a revision, 0 for now. The texts are longer than room by less than an object. There are more if next, the key
// to go on from, is not "". Errors: 410 for a forgotten revision.
func (r *Reader) PageIn(ctx context.Context, row *catalog.Row, namespace, from string, revision uint64, room int) (page [][]byte, next string, at uint64,
	err error) {
	view, err := r.store.At(ctx, revision)
	var trimmed *store.TrimmedError
	if errors.As(err, &trimmed) {
		return nil, "", 0, api.Expired("the objects of revision %d are not kept any more; begin again", revision)
	}
	if err != nil {
		return nil, "", 0, err
	}
	defer func() { _ = view.Close() }() // of a read
	err = eachShown(ctx, view, row, namespace, from, func(key string, obj document.Value) bool {
		if room <= 0 {
			next = strings.Clone(key)
			return false
		}
		text := obj.AppendJSON(nil)
		page, room = append(page, text), room-len(text)
		return true
	})
	return page, next, view.Revision(), err
}

// shown is a stored object in the version of a row.
func shown(ctx context.Context, row *catalog.Row, body []byte) (*document.Document, error) {
	from, err := rowOf(row.Storage(), body)
	if err != nil {
		return nil, err
	}
	doc, err := document.ReadStored(from.GV.Types(), from.Type, body)
	if err != nil || from == row {
		return doc, err
	}
	defer doc.Release()
	return convert.Between(ctx, from.Resource, row.Resource, doc.Root())
}
