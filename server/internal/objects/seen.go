package objects

import (
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// look makes the read set of an evaluated write (W3): the namespace of a new object, the
// quotas of the namespace, the type of a custom object, and what rules have read. Errors: those of what has changed
// since the evaluation.
func (e *Evaluation) look() error {
	e.made.Seen = append(append(e.seen[:0], e.Write.Seen...), e.reads...)
	e.made.Marks = e.marksOf()
	if e.made.Op == store.OpCreate && e.Row.Namespaced {
		namespace, err := e.s.acceptingNamespace(e.ctx, e.Row, e.Namespace, e.obj.Get("metadata").Get("name").Text())
		if err != nil {
			return err
		}
		e.saw(namespace)
	}
	if e.charge != nil {
		stand := false
		if e.made.Seen, stand = e.charge.Stands(e.Namespace, e.made.Seen); !stand {
			return errQuotas
		}
	}
	return e.seeType()
}

// saw adds an entry to the read set.
func (e *Evaluation) saw(entry store.Entry) {
	e.made.Seen = append(e.made.Seen, store.Seen{Key: entry.Key, Revision: entry.Revision})
}

// seeType adds the type of a custom object to the read set: it is stored in the form that
// the type's objects have, and created only while the definition accepts objects. Errors:
// ErrTypeChanged, 404, 405.
func (e *Evaluation) seeType() error {
	row := e.stored.Row
	if row.Definition == nil || e.made.Op != store.OpCreate && e.made.Op != store.OpUpdate {
		return nil
	}
	now := e.s.catalog.Snapshot().Stored(row.GV.Group, row.Plural)
	if now != nil && now.Definition != nil && now.Definition.Hash != row.Definition.Hash {
		return ErrTypeChanged
	}
	if err := e.seeForm(row.Definition); err != nil || e.made.Op == store.OpUpdate {
		return err
	}
	return e.seeDefinition(row)
}

// seeForm adds the record about the form of a custom kind's objects to the read set.
func (e *Evaluation) seeForm(d *api.Definition) error {
	if d.FormKey == "" {
		return nil // the store has no such records
	}
	form, err := e.s.store.Get(e.ctx, d.FormKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if form.Revision != d.Form { // 0 for no record
		return ErrTypeChanged
	}
	e.made.Seen = append(e.made.Seen, store.Seen{Key: d.FormKey, Revision: d.Form})
	return nil
}

// seeDefinition adds the definition of a new object to the read set, if objects may be
// created. What the row is made of was compared before: only the definition's end counts.
func (e *Evaluation) seeDefinition(row *catalog.Row) error {
	d := row.Definition
	entry, err := e.s.store.Get(e.ctx, d.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return api.UnknownPath()
	case err != nil:
		return err
	}
	terminates := d.Terminating
	if entry.Revision != d.Revision.Load() {
		if UIDOf(entry.Body) != d.UID {
			return api.UnknownPath()
		}
		terminates = ends(entry.Body)
	}
	if terminates {
		return &api.Error{Code: http.StatusMethodNotAllowed, Reason: api.ReasonMethodNotAllowed, HasDetails: true, Group: row.GV.Group, Kind: row.Plural,
			Message: "create not allowed while custom resource definition is terminating"}
	}
	e.saw(entry)
	return nil
}

// readSetTries bounds the commits of a write whose read set changes again and again.
const readSetTries = 100

// repeats reports whether a transaction is worth another try: something in its read set has
// changed, and the next one looks at it again.
func (w *Write) repeats(try int, err error) bool {
	return try < readSetTries && len(w.Seen) == 0 && errors.Is(err, store.ErrChanged)
}
