package objects

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// expireSteps end an object whose time is over. As at the end of a lease in etcd, nobody is
// asked: the plug-ins see no request, and finalizers hold nothing. The write has no namespace
// in its read set, so an ending namespace loses its events as any other does.
var expireSteps = []step{(*Evaluation).expire}

// Expire removes an object that has not been written since a revision. An object that has
// been, or that is gone, stays as it is. Errors: the store's, those of reading the object.
func (o *Objects) Expire(ctx context.Context, of Ref, since uint64) error {
	_, err := o.Write(ctx, &Write{Ref: of, Steps: expireSteps, deletes: &DeleteOptions{}, Change: func(e *Evaluation) (document.Value, error) {
		if e.current == nil || e.current.Revision > since {
			return document.Value{}, ErrNothing
		}
		return e.old, nil
	}})
	var unreadable *store.UnreadableError
	if !errors.As(err, &unreadable) || unreadable.Revision > since {
		return err
	}
	err = o.Discard(ctx, of, false)
	if errors.Is(err, ErrReadable) || api.IsReason(err, api.ReasonNotFound) { // another write was faster
		return nil
	}
	return err
}

// expire makes the write that removes the object as it is.
func (e *Evaluation) expire() error {
	value, err := stored.Last(e.current, e.space)
	e.made, e.ending = store.Write{Op: store.OpDelete, Value: value}, ended
	return err
}
