package objects

import (
	"errors"
	"slices"

	"github.com/capstan-dev/capstan/internal/store"
)

// errQuotas ends a transaction whose charge was computed for other quotas than there are.
var errQuotas = errors.New("the quotas of the namespace have changed")

// charges reports whether the write adds to the used amounts of resource quotas.
func (e *Evaluation) charges() bool {
	return e.charge != nil && len(e.charge.Keys()) > 0 && (e.made.Op == store.OpCreate || e.made.Op == store.OpUpdate)
}

// store commits an evaluation that was made apart, and in the same transaction its charge and its parts, first the
// quotas. A quota that has gone meanwhile needs none. It may be called again after store.ErrChanged.
func (e *Evaluation) store(key string) (store.Entry, error) {
	if err := e.evaluateParts(); err != nil {
		return store.Entry{}, err
	}
	if !e.charges() && len(e.parts) == 0 {
		return e.s.store.Update(e.ctx, key, e.commitTo)
	}
	var keys []string
	if e.charges() {
		keys = slices.Clone(e.charge.Keys())
	}
	quotas := len(keys)
	for _, p := range e.parts {
		keys = append(keys, p.key)
	}
	last := len(keys)
	all, err := e.s.store.UpdateAll(e.ctx, append(keys, key), func(current []*store.Entry) (writes []store.Write, err error) {
		if !sameBasis(e.current, current[last]) {
			return nil, errStale
		}
		writes = make([]store.Write, last+1)
		for i, quota := range current[:quotas] {
			if quota == nil {
				continue
			}
			if writes[i], err = e.chargeTo(quota); err != nil {
				return nil, err
			}
		}
		for i, p := range e.parts {
			if writes[quotas+i], err = p.commitPart(current[quotas+i]); err != nil {
				return nil, err
			}
		}
		writes[last], err = e.commitTo(current[last])
		return writes, err
	})
	if err != nil {
		return store.Entry{}, err
	}
	return all[last], nil
}

// commitTo is commit if the basis is still the stored entry.
func (e *Evaluation) commitTo(current *store.Entry) (store.Write, error) {
	if !sameBasis(e.current, current) {
		return store.Write{}, errStale
	}
	return e.commit()
}

// chargeTo adds the charge to the status of a quota. It is the server's own write, which
// admission saw as the one that it is for.
func (e *Evaluation) chargeTo(quota *store.Entry) (store.Write, error) {
	row := e.s.catalog.Snapshot().Core("resourcequotas")
	of := Ref{Row: row, Sub: row.Subresource("status"), Namespace: e.Namespace}
	_, of.Name = row.SplitKey(quota.Key)
	charged := newEvaluation(e.ctx, e.s, &Write{Ref: of, Steps: StatusSteps, Change: Editing(e.charge.Add)}, quota)
	err := charged.run()
	e.docs = append(e.docs, charged.docs...)
	return charged.made, err
}
