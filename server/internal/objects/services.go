package objects

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// Writes of services differ from all others in three ways: they claim addresses and ports,
// the objects of these addresses are written with them (addresses.go), and the endpoints of a removed service go with it.

// claimAddresses gives a service its addresses and ports. An abandoned evaluation
// releases them.
func (e *Evaluation) claimAddresses() (err error) {
	if e.stored.Sub == nil || e.writesWhole() {
		e.claim, err = e.s.services.Claim(e.stored.Row, e.obj, e.old, e.Opts.DryRun)
		for _, from := range e.claim.Sources() {
			e.reads = append(e.reads, store.Seen{Key: from.Key, Revision: from.Revision})
		}
	}
	return err
}

// settle ends a claim after the store's transaction on key. wrote reports whether the
// transaction was to store an object, err is its result.
func settle(c *allocate.Claim, key string, wrote bool, err error) {
	if wrote && !nothingWritten(err) {
		c.Keep(key)
	} else {
		c.Release()
	}
}

// nothingWritten reports whether an error of a transaction guarantees that nothing was
// written.
func nothingWritten(err error) bool {
	var refused *api.Error
	if errors.As(err, &refused) {
		return true
	}
	for _, is := range []error{errDryRun, ErrNothing, store.ErrChanged, store.ErrClosed, store.ErrFull, store.ErrReadOnly, allocate.ErrElsewhere, context.Canceled,
		context.DeadlineExceeded} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// removeEndpoints removes the endpoints of a service that is gone, as in 1.25. Those that
// cannot be removed stay.
func (o *Objects) removeEndpoints(ctx context.Context, service Ref) {
	if o.services == nil || service.Row != o.services.Row {
		return
	}
	of := Ref{Row: o.catalog.Snapshot().Stored("", "endpoints"), Namespace: service.Namespace, Name: service.Name}
	_, _, _ = o.DeleteObject(context.WithoutCancel(ctx), of, DeleteOptions{Admitted: true})
}
