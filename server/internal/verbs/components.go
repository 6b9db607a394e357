package verbs

import (
	"context"
	"strings"

	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// storeComponent is the name of the store in component statuses.
const storeComponent = "etcd-0"

// components are the component statuses, which are not stored: the store's. Schedulers
// and controller managers are not asked for theirs.
func (v *Verbs) components(res *catalog.Row) (objectView, error) {
	text := `{"metadata":{"name":"` + storeComponent + `"},"conditions":[{"type":"Healthy","status":"True"}]}`
	doc, err := v.objects.DecodeOwn(res, []byte(text))
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	if err := v.main.Store.Healthy(); err != nil {
		condition := doc.Root().Get("conditions").Index(0)
		condition.SetString("status", "False")
		condition.SetString("message", err.Error())
	}
	value := store.Value{Meta: selector.AppendMeta(nil, doc.Root(), res.Selectable), Body: doc.Root().AppendJSON(nil), RevisionAt: -1}
	return objectView{{Key: res.Key("", storeComponent), Value: value}}, nil
}

// objectView is a view of objects that are not stored, in the order of their keys. It has
// no revision.
type objectView []store.Entry

func (v objectView) Revision() uint64 { return 0 }

func (v objectView) Close() error { return nil }

func (v objectView) Get(key string) (store.Entry, error) {
	for _, e := range v {
		if e.Key == key {
			return e, nil
		}
	}
	return store.Entry{}, store.ErrNotFound
}

func (v objectView) GetEach(_ context.Context, keys []string, visit func(e *store.Entry) bool) error {
	for _, key := range keys {
		if e, err := v.Get(key); err == nil && !visit(&e) {
			break
		}
	}
	return nil
}

func (v objectView) Scan(_ context.Context, prefix, from string, visit func(e *store.Entry) bool) error {
	for i := range v {
		if e := &v[i]; strings.HasPrefix(e.Key, prefix) && e.Key >= from && !visit(e) {
			break
		}
	}
	return nil
}

func (v objectView) ScanMeta(ctx context.Context, prefix, from string, visit func(e *store.Entry) bool) error {
	return v.Scan(ctx, prefix, from, visit)
}

func (v objectView) Count(ctx context.Context, prefix, from string) (n int64, err error) {
	err = v.Scan(ctx, prefix, from, func(*store.Entry) bool { n++; return true })
	return n, err
}
