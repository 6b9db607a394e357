package server

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// modify changes a stored object in a way that only the server itself may: none
// of the rules for updates hold. change edits obj in place; its error is
// returned and nothing is written. Errors besides: 404, 413, the store's.
func (s *Server) modify(ctx context.Context, res *catalog.Row, namespace, name string, dryRun bool, change func(obj document.Value) error) (store.Entry, error) {
	key := res.Key(namespace, name)
	var dry store.Entry
	entry, err := s.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, api.NotFound(res.GroupResource(), name)
		}
		doc, err := document.ReadStored(res.GV.Table, res.Type, current.Body)
		if err != nil {
			return store.Write{}, err
		}
		defer doc.Release()
		obj := doc.Root()
		if err := change(obj); err != nil {
			return store.Write{}, err
		}
		if dryRun {
			dry = notStored(key, obj, current)
			return store.Write{}, errDryRun
		}
		value, err := s.seal(res, obj)
		if err != nil || stored.Unchanged(value, current) {
			return store.Write{}, err
		}
		return store.Write{Op: store.OpUpdate, Value: value}, nil
	})
	if errors.Is(err, errDryRun) {
		return dry, nil
	}
	return entry, err
}
