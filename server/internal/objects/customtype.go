package objects

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// ErrTypeChanged refuses a write of a custom object that was evaluated by a definition
// which has changed since. It may succeed by the row that the catalog has now.
var ErrTypeChanged = &api.Error{Code: http.StatusTooManyRequests, Reason: api.ReasonTooManyRequests, HasDetails: true, RetryAfter: 1,
	Message: "the definition of the object has changed while the request was handled; nothing was written, send it again"}

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
	ends := d.Terminating
	if entry.Revision != d.Revision.Load() {
		if UIDOf(entry.Body) != d.UID {
			return api.UnknownPath()
		}
		_, ends = document.Find(entry.Body, "metadata", "deletionTimestamp")
	}
	if ends {
		return &api.Error{Code: http.StatusMethodNotAllowed, Reason: api.ReasonMethodNotAllowed, HasDetails: true, Group: row.GV.Group, Kind: row.Plural,
			Message: "create not allowed while custom resource definition is terminating"}
	}
	e.saw(entry)
	return nil
}

// wrongType is the answer to a custom object of another kind or version than its path: only
// mistakes in its metadata, of an update, come before, and only broken rules after it.
// Others have been refused before.
func (e *Evaluation) wrongType(t Ref, old document.Value) error {
	if t.Row.Definition == nil || t.writesStatus() { // which keeps them
		return nil
	}
	obj := e.obj
	var causes Causes
	for _, said := range [...]struct{ name, want string }{{"kind", t.Row.Kind}, {"apiVersion", t.Row.GV.APIVersion()}} {
		if got := obj.Get(said.name).Text(); got != said.want {
			causes.Add(schema.CauseInvalid, said.name, "Invalid value: "+strconv.Quote(got)+": must be "+said.want)
		}
	}
	if len(causes) == 0 {
		return nil
	}
	group, _, found := strings.Cut(obj.Get("apiVersion").Text(), "/")
	if !found {
		group = ""
	}
	return api.Invalid(group, obj.Get("kind").Text(), obj.At("metadata", "name").Text(), e.checkRules(t.Row, old, append(commonCauses(t, obj, old), causes...), true))
}

// commonCauses are the mistakes in metadata that every update reports first.
func commonCauses(t Ref, obj, old document.Value) []schema.Cause {
	if !old.Exists() {
		return nil
	}
	v := validation{res: t.Row, anyFinalizer: t.anyFinalizer(), obj: obj, before: old}
	v.metadata = validateMetadata(t.Row.NameFormat, v.anyFinalizer, obj.Get("metadata"), old.Get("metadata"))
	v.forgiveMetadata()
	return slices.Concat(v.metadata.path, v.metadata.state, v.metadata.change)
}
