package convert

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// Between converts an object between two versions of a resource. The caller releases the
// document.
func Between(ctx context.Context, from, to *api.Resource, v document.Value) (*document.Document, error) {
	switch {
	case from.ConvertsRemotely() || to.ConvertsRemotely():
		return Remotely(ctx, from, to, v)
	case from.Conversion == nil:
		return FromStorage(ctx, to, v)
	}
	doc, err := ToStorage(ctx, from, v)
	if err != nil || to.Conversion == nil {
		return doc, err
	}
	defer doc.Release()
	return FromStorage(ctx, to, doc.Root())
}
