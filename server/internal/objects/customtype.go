package objects

import (
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

// lockType keeps the type of a custom object as it is until the object is stored.
func (e *Evaluation) lockType() error {
	row := e.stored.Row
	if row.Definition == nil || e.made.Op != store.OpCreate && e.made.Op != store.OpUpdate {
		return nil
	}
	if e.typeAlive == nil { // a commit may run again
		e.typeAlive = e.s.customTypes.lock(row.Versions.Prefix)
		e.typeAlive.RLock()
	}
	if e.made.Op == store.OpCreate {
		if err := e.s.acceptsObjects(row); err != nil {
			return err
		}
	}
	if now := e.s.catalog.Snapshot().Stored(row.GV.Group, row.Plural); now != nil && now.Definition != nil && now.Definition.Hash != row.Definition.Hash {
		return ErrTypeChanged
	}
	return nil
}

func (e *Evaluation) unlockType() {
	if e.typeAlive != nil {
		e.typeAlive.RUnlock()
		e.typeAlive = nil
	}
}

// acceptsObjects reports whether objects of a custom resource may be created. Creates hold
// the lock of the type for reading from here until the object is stored.
func (o *Objects) acceptsObjects(row *catalog.Row) error {
	now := o.catalog.Snapshot().Stored(row.GV.Group, row.Plural)
	switch {
	case now == nil || now.Definition == nil || now.Definition.UID != row.Definition.UID:
		return api.UnknownPath()
	case now.Definition.Terminating:
		return &api.Error{Code: http.StatusMethodNotAllowed, Reason: api.ReasonMethodNotAllowed, HasDetails: true, Group: row.GV.Group, Kind: row.Plural,
			Message: "create not allowed while custom resource definition is terminating"}
	}
	return nil
}

// HoldWrites keeps objects of a custom resource from being stored until release is called.
// The rows of its type may be replaced meanwhile, by which those writes were evaluated.
func (o *Objects) HoldWrites(prefix string) (release func()) {
	gate := o.customTypes.lock(prefix)
	gate.Lock()
	return gate.Unlock
}

// AwaitCreates returns when all objects of a custom resource are stored whose creation
// began before the catalog said that it is being deleted.
func (o *Objects) AwaitCreates(row *catalog.Row) {
	o.HoldWrites(row.Versions.Prefix)()
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
