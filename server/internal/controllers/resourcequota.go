package controllers

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/quota"
)

// quotas are the resource quotas as their controller sees them.
type quotas struct {
	*quota.Quotas
	server *Controllers
	opts   objects.Options
}

// errQuotaChanged ends a correction of a quota whose bounds have changed since it was
// calculated.
var errQuotaChanged = errors.New("the bounds of the quota have changed")

// Recalculate implements controller.Quotas. While the status has the bounds of the spec,
// all creates are charged to it, so its difference from what a view of the store has is
// right at any later time too: no create waits. Else creates wait until the objects are
// counted and the new bounds stored: each object is either counted or charged.
func (q *quotas) Recalculate(ctx context.Context, namespace, name string) (exists, right bool, err error) {
	row := q.server.catalog.Snapshot().Core("resourcequotas")
	elsewhere := q.elsewhere(ctx, namespace, name) // before any lock is held
	now, err := q.calculated(ctx, row.Key(namespace, name), elsewhere)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	if err != nil || now.Settled() {
		return true, true, err
	}
	write := &objects.Write{Ref: objects.Ref{Row: row, Sub: row.Subresource("status"), Namespace: namespace, Name: name}, Opts: q.opts, Steps: objects.StatusSteps}
	write.Change = objects.Editing(func(obj document.Value) error {
		if !now.Correct(obj) {
			return errQuotaChanged
		}
		return nil
	})
	if write.Alone = !now.Fresh(); write.Alone {
		write.Change = objects.Editing(func(obj document.Value) error {
			now, err := q.calculate(ctx, func(store.Reader) (document.Value, func(), error) { return obj, func() {}, nil }, elsewhere)
			if err == nil {
				now.Set(obj)
			}
			return err
		})
	}
	_, err = q.server.objects.Write(ctx, write)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Reason == api.ReasonNotFound {
		return false, false, nil
	}
	return true, false, err
}

// Polled implements controller.Quotas.
func (q *quotas) Polled(namespace, name string) bool { return len(q.Elsewhere(namespace, name)) > 0 }

// elsewhere counts the objects that a quota bounds and extension servers keep, as 1.25
// does. The numbers of servers that do not answer stay as they are.
func (q *quotas) elsewhere(ctx context.Context, namespace, name string) map[api.GroupResource]int {
	numbers := map[api.GroupResource]int{}
	for _, of := range q.Elsewhere(namespace, name) {
		if n, err := q.server.cfg.cluster.Elsewhere.Count(ctx, namespace, of.Group, of.Resource); err == nil {
			numbers[of] = n
		}
	}
	return numbers
}

// calculated counts what a stored quota bounds.
func (q *quotas) calculated(ctx context.Context, key string, elsewhere map[api.GroupResource]int) (*quota.Calculated, error) {
	return q.calculate(ctx, func(view store.Reader) (document.Value, func(), error) {
		entry, err := view.Get(key)
		if err != nil {
			return document.Value{}, nil, err
		}
		row := q.server.catalog.Snapshot().Core("resourcequotas")
		doc, err := document.ReadStored(row.GV.Types(), row.Type, entry.Body)
		if err != nil {
			return document.Value{}, nil, err
		}
		return doc.Root(), doc.Release, nil
	}, elsewhere)
}

// calculate counts what a quota bounds in one view of the store.
func (q *quotas) calculate(ctx context.Context, read func(store.Reader) (obj document.Value, release func(), err error), elsewhere map[api.GroupResource]int) (*quota.Calculated, error) {
	view, err := q.server.store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	obj, release, err := read(view)
	if err != nil {
		return nil, err
	}
	defer release()
	return q.Calculate(ctx, view, obj, elsewhere)
}
