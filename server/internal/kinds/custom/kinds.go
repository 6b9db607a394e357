package custom

import (
	"context"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Kinds are the custom kinds of a store that has no server, by the definitions in it. row
// is that of definitions.
func Kinds(ctx context.Context, s store.Store, row *catalog.Row, rows *definitions.Rows) (stored.Kinds, error) {
	all := stored.Kinds{}
	view, err := s.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	err = store.ScanReadable(ctx, view, row.Prefix(""), func(e *store.Entry) bool {
		doc, err := document.ReadStored(nil, schema.None, e.Body)
		if err != nil {
			return true // the migration of definitions reports it
		}
		defer doc.Release()
		if d := readDefinition(doc.Root()); d.accepted() {
			all = all.And(stored.KindsOf(func(yield func(*catalog.Type) bool) {
				for _, t := range catalog.TypesOf(rows.Of(d.text, d.rows)) {
					if !yield(t) {
						return
					}
				}
			}))
		}
		return true
	}, func(*store.UnreadableError) {})
	return all, err
}
