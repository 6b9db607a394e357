package background

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission/quota"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
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

// Recalculate implements controller.Quotas. Creates go on while a quota is recalculated:
// quota.Calculated says why the amounts of an earlier view are right when they are stored. In
// a namespace in which objects are created all the time the new bounds are announced first.
func (q *quotas) Recalculate(ctx context.Context, namespace, name string) (exists, right bool, err error) {
	row := q.server.catalog.Snapshot().Core("resourcequotas")
	elsewhere := q.elsewhere(ctx, namespace, name)
	for try := 1; ; try++ {
		now, err := q.calculate(ctx, row, row.Key(namespace, name), elsewhere)
		if errors.Is(err, store.ErrNotFound) {
			return false, false, nil
		}
		if err != nil || now.Settled() {
			return true, true, err
		}
		write := &objects.Write{Ref: objects.Ref{Row: row, Sub: row.Subresource("status"), Namespace: namespace, Name: name}, Opts: q.opts,
			Steps: objects.StatusSteps, Seen: now.Seen}
		set := now.Set
		if try == announceTry {
			write.Seen, set = nil, now.Announce
		}
		write.Change = objects.Editing(func(obj document.Value) error {
			if !set(obj) {
				return errQuotaChanged
			}
			return nil
		})
		_, err = q.server.objects.Write(ctx, write)
		if try < recalculateTries && (try == announceTry && err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, errQuotaChanged)) {
			continue
		}
		if api.IsReason(err, api.ReasonNotFound) {
			return false, false, nil
		}
		return true, false, err
	}
}

// Bounds of the attempts to store an amount: one after which creates wait for the amount,
// and the last.
const (
	announceTry      = 4
	recalculateTries = 10
)

// Polled implements controller.Quotas.
func (q *quotas) Polled(namespace, name string) bool { return len(q.Elsewhere(namespace, name)) > 0 }

// elsewhere counts the objects that a quota bounds and extension servers keep, as 1.25
// does. The numbers of servers that do not answer stay as they are.
func (q *quotas) elsewhere(ctx context.Context, namespace, name string) map[api.GroupResource]int {
	numbers := map[api.GroupResource]int{}
	for _, of := range q.Elsewhere(namespace, name) {
		if n, err := q.server.cfg.Elsewhere.Count(ctx, namespace, of.Group, of.Resource); err == nil {
			numbers[of] = n
		}
	}
	return numbers
}

// calculate counts what a stored quota bounds in one view of the store. Errors:
// store.ErrNotFound.
func (q *quotas) calculate(ctx context.Context, row *catalog.Row, key string, elsewhere map[api.GroupResource]int) (*quota.Calculated, error) {
	view, err := q.server.store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	entry, err := view.Get(key)
	if err != nil {
		return nil, err
	}
	doc, err := document.ReadStored(row.GV.Types(), row.Type, entry.Body)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return q.Calculate(ctx, view, doc.Root(), elsewhere)
}
