package objects

import (
	"context"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// ErrReadable is the refusal to discard an object that can be read.
var ErrReadable = errors.New("the object can be read, so it can be deleted as others")

// Discard removes an object whose record cannot be opened. There is nothing to evaluate, so it
// is the one change of an object that is not a Write: neither finalizers nor plug-ins count,
// which nobody can look into, and watchers see the end of an object with the name. The record
// is looked at under the lock of its key. Errors: 404, ErrReadable, the store's.
func (o *Objects) Discard(ctx context.Context, of Ref, dryRun bool) error {
	space := stored.NewSpace()
	defer space.Release()
	_, err := o.store.Update(store.Discarding(ctx), of.Row.Key(of.Namespace, of.Name), func(current *store.Entry) (store.Write, error) {
		switch {
		case current == nil:
			return store.Write{}, api.NotFound(of.Row.GroupResource(), of.Name)
		case !current.Unreadable:
			return store.Write{}, ErrReadable
		case dryRun:
			return store.Write{}, nil
		}
		value, err := o.nameOnly(of.Stored(), space)
		return store.Write{Op: store.OpDelete, Value: value}, err
	})
	return err
}

// nameOnly is the stored form of an object of which only the name is known.
func (o *Objects) nameOnly(of Ref, space *stored.Space) (store.Value, error) {
	row := of.Row
	text := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, row.GV.APIVersion(), row.Kind, of.Name)
	doc, err := document.ReadStored(row.GV.Types(), row.Type, text)
	if err != nil {
		return store.Value{}, err
	}
	defer doc.Release()
	if of.Namespace != "" {
		doc.Root().Get("metadata").SetString("namespace", of.Namespace)
	}
	return o.seal(row, doc.Root(), space)
}
