package objects

import (
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// lockType keeps the type of a new custom object from ending until the object is stored.
func (e *Evaluation) lockType() error {
	if e.made.Op != store.OpCreate || e.Row.Definition == nil {
		return nil
	}
	if e.typeAlive == nil { // a commit may run again
		e.typeAlive = e.s.customTypes.lock(e.stored.Row.Versions.Prefix)
		e.typeAlive.RLock()
	}
	return e.s.acceptsObjects(e.stored.Row)
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

// AwaitCreates returns when all objects of a custom resource are stored whose creation
// began before the catalog said that it is being deleted.
func (o *Objects) AwaitCreates(row *catalog.Row) {
	gate := o.customTypes.lock(row.Versions.Prefix)
	gate.Lock()
	defer gate.Unlock()
}

// checkKind refuses a custom object of another kind, whatever else is wrong in it. Objects
// of other kinds have been refused before.
func checkKind(t Ref, obj document.Value) error {
	kind := obj.Get("kind").Text()
	if t.Row.Definition == nil || kind == t.Row.Kind {
		return nil
	}
	return api.Invalid(t.Row.GV.Group, kind, obj.At("metadata", "name").Text(), []api.Cause{
		{Reason: schema.CauseInvalid, Field: "kind", Message: "Invalid value: " + strconv.Quote(kind) + ": must be " + t.Row.Kind}})
}
