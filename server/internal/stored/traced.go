package stored

import (
	"context"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/tracing"
)

// Traced is a store whose operations are recorded as spans of the requests that they are
// for.
type Traced struct{ store.Store }

// operation begins the span of an operation on a key, or on the keys that begin with it.
func operation(ctx context.Context, name, key string) (context.Context, *tracing.Span) {
	ctx, span := tracing.Start(ctx, name)
	span.Text("key", key)
	return ctx, span
}

// Get implements store.Snapshots.
func (t Traced) Get(ctx context.Context, key string) (store.Entry, error) {
	ctx, span := operation(ctx, "Get store", key)
	defer span.End()
	return t.Store.Get(ctx, key)
}

// Update implements store.Transactions.
func (t Traced) Update(ctx context.Context, key string, fn func(*store.Entry) (store.Write, error)) (store.Entry, error) {
	ctx, span := operation(ctx, "Update store", key)
	defer span.End()
	entry, err := t.Store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		span.Event("initial value restored")
		w, err := fn(current)
		span.Event("Transaction prepared")
		return w, err
	})
	span.Ended("Transaction", err)
	return entry, err
}

// UpdateAll implements store.Transactions.
func (t Traced) UpdateAll(ctx context.Context, keys []string, fn func([]*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	ctx, span := tracing.Start(ctx, "Update store")
	defer span.End()
	if len(keys) > 0 {
		span.Text("key", keys[0])
		span.Number("keys", len(keys))
	}
	entries, err := t.Store.UpdateAll(ctx, keys, fn)
	span.Ended("Transaction", err)
	return entries, err
}

// At implements store.Snapshots.
func (t Traced) At(ctx context.Context, at uint64) (store.Reader, error) {
	r, err := t.Store.At(ctx, at)
	if err != nil || tracing.Of(ctx) == nil {
		return r, err
	}
	return tracedReader{r}, nil
}

// tracedReader is a view of such a store.
type tracedReader struct{ store.Reader }

// GetEach implements store.Reader.
func (t tracedReader) GetEach(ctx context.Context, keys []string, visit func(*store.Entry) bool) error {
	ctx, span := tracing.Start(ctx, "List store")
	defer span.End()
	span.Number("keys", len(keys))
	return t.Reader.GetEach(ctx, keys, visit)
}

// Scan implements store.Reader.
func (t tracedReader) Scan(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return t.list(ctx, t.Reader.Scan, prefix, from, visit)
}

// ScanMeta implements store.Reader.
func (t tracedReader) ScanMeta(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return t.list(ctx, t.Reader.ScanMeta, prefix, from, visit)
}

func (t tracedReader) list(ctx context.Context, scan func(context.Context, string, string, func(*store.Entry) bool) error, prefix, from string,
	visit func(*store.Entry) bool) error {
	ctx, span := operation(ctx, "List store", prefix)
	defer span.End()
	count := 0
	err := scan(ctx, prefix, from, func(e *store.Entry) bool {
		count++
		return visit(e)
	})
	span.Number("count", count)
	return err
}
