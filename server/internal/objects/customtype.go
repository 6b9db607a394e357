package objects

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ErrTypeChanged refuses a write of a custom object that was evaluated by a definition
// which has changed since. It may succeed by the row that the catalog has now.
var ErrTypeChanged = &api.Error{Code: http.StatusTooManyRequests, Reason: api.ReasonTooManyRequests, HasDetails: true, RetryAfter: 1,
	Message: "the definition of the object has changed while the request was handled; nothing was written, send it again"}

// wrongType is the answer to a custom object of another kind or version than its path: only
// mistakes in its metadata, of an update, come before; after it only those of whole objects in
// it, elements that are repeated, and broken rules.
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
	all := slices.Concat(commonCauses(t, obj, old), causes, document.ValidateWithin(obj, old))
	return api.Invalid(api.GroupOf(obj.Get("apiVersion").Text()), obj.Get("kind").Text(), obj.At("metadata", "name").Text(), e.checkRules(t.Row, old, all, true))
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
