package custom

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// NewRows makes rows of definitions, with converters for those that have a webhook. since is that of Rows.
func NewRows(snapshot *catalog.Snapshot, converter func(spec document.Value) api.Converter, since func(release string) bool) (*definitions.Rows, error) {
	meta, err := definitions.NewMeta(generated.Meta())
	if err != nil {
		return nil, err
	}
	rows := &definitions.Rows{Meta: meta, Converter: converter, Since: since}
	if deployments := snapshot.Resource("apps", "v1", "deployments"); deployments != nil {
		rows.Scale = *deployments.Subresource("scale")
	}
	return rows, nil
}

// KindsOfStore are the kinds of the custom resources in a store without a server. Their converters
// cannot be reached.
func KindsOfStore(ctx context.Context, s store.Store, snapshot *catalog.Snapshot) (stored.Kinds, error) {
	rows, err := NewRows(snapshot, func(document.Value) api.Converter { return conversion.Unreachable{} }, nil)
	if err != nil {
		return nil, err
	}
	return Kinds(ctx, s, Definitions(snapshot), rows)
}

// Definitions is the row of the custom resource definitions.
func Definitions(snapshot *catalog.Snapshot) *catalog.Row {
	return snapshot.Stored(objects.DefinitionGroup, "customresourcedefinitions")
}
