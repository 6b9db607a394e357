package objects

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// MayReplace decides whether a sent object may replace the basis.
func (e *Evaluation) MayReplace(meta document.Value) error {
	if err := MatchName(meta, e.Name); err != nil {
		return err
	}
	if err := MatchNamespace(e.Row, meta, e.Namespace); err != nil {
		return err
	}
	e.dropRepeatedOwners(meta, "") // with a warning, even if the basis is nothing
	if e.Shown == nil {
		return e.mayCreate(meta)
	}
	return nil
}

// mayCreate decides whether a PUT of a missing object creates it: only when nothing in it
// implies that it existed, so that a controller's late update does not bring back a
// deleted object.
func (e *Evaluation) mayCreate(meta document.Value) error {
	if e.Sub != nil || e.Row.Definition != nil || meta.Get("uid").Exists() || meta.Get("resourceVersion").Exists() {
		return api.NotFound(e.Row.GroupResource(), e.Name)
	}
	return e.OpenNamespace(e.Name)
}

// MatchName checks that metadata has the name in the URL. Errors: 400.
func MatchName(meta document.Value, name string) error {
	switch got := meta.Get("name").Text(); got {
	case name:
	case "":
		return api.BadRequest("the name of the object is missing: it has to be %s, as on the URL", name)
	default:
		return api.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", got, name)
	}
	return nil
}

// checkConditional refuses a replacement without the resourceVersion that the resource
// requires.
func checkConditional(t Ref, meta document.Value) error {
	if v := meta.Get("resourceVersion").Text(); v != "" && v != "0" || !t.Row.Storage().ConditionalUpdate {
		return nil
	}
	return api.Invalid(t.Row.GV.Group, t.Row.Plural, t.Name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.resourceVersion",
		Message: "Invalid value: 0x0: must be specified for an update"}})
}

// CheckPreconditions compares the object's uid and resourceVersion with the stored ones
// (optimistic locking).
func CheckPreconditions(res *catalog.Row, name string, meta, old document.Value, patched bool) error {
	if err := CheckUID(res, name, meta, old, patched); err != nil {
		return err
	}
	return CheckRevision(res, name, meta, old)
}

// CheckUID compares the uid. In a patch a changed uid is a forbidden change rather than a
// failed precondition.
func CheckUID(res *catalog.Row, name string, meta, old document.Value, patched bool) error {
	if uid := meta.Get("uid").Text(); !patched && uid != "" && uid != old.Get("uid").Text() {
		return api.Conflict(res.GroupResource(), name, "Precondition failed: UID in precondition: "+uid+", UID in object meta: "+old.Get("uid").Text())
	}
	return nil
}

// CheckRevision compares the resourceVersion.
func CheckRevision(res *catalog.Row, name string, meta, old document.Value) error {
	asked, set, err := api.ParseRevision(meta.Get("resourceVersion").Text())
	if err != nil {
		return err
	}
	if set && asked != 0 && meta.Get("resourceVersion").Text() != old.Get("resourceVersion").Text() {
		return api.Conflict(res.GroupResource(), name, "the object has been modified; please apply your changes to the latest version and try again")
	}
	return nil
}

// prepareUpdate copies the server's fields to obj from the object it replaces. The status
// endpoint may change only the status (and some metadata), the main one everything else, an action
// both.
func prepareUpdate(t Ref, obj, old document.Value) {
	res := t.Row
	meta, oldMeta := obj.Get("metadata"), old.Get("metadata")
	for _, field := range [...]string{"creationTimestamp", "generation"} {
		keepMember(meta, oldMeta, field)
	}
	if v := oldMeta.Get("deletionTimestamp"); v.Exists() {
		meta.Put("deletionTimestamp", v)
	}
	for _, field := range [...]string{"uid", "deletionGracePeriodSeconds"} {
		if v := oldMeta.Get(field); v.Exists() && !meta.Get(field).Exists() {
			meta.Put(field, v)
		}
	}
	status, whole := t.writesStatus(), t.writesWhole()
	finalize := t.Sub != nil && t.Sub.Endpoint == api.EndpointFinalize
	if res.HasStatus && !whole {
		for name := range old.Members() {
			if !kept(name) && (name == "status") != status {
				obj.Put(name, old.Get(name))
			}
		}
		if status {
			keepType(res, obj, old)
			removeAdded(obj, old)
		} else if !old.Get("status").Exists() {
			obj.Remove("status")
		}
	}
	if t.Sub != nil {
		keep(obj, old, t.Sub.Keeps)
	} else {
		keep(obj, old, res.Keeps)
	}
	res.Gated.Drop(obj, old)
	if !whole {
		restore(obj, old, res.ReadOnly)
	}
	switch {
	case res.Hooks == nil || finalize:
	case status && res.Hooks.Status != nil:
		res.Hooks.Status(obj, old)
	case t.Does() == api.EndpointResize && res.Hooks.Resize != nil:
		res.Hooks.Resize(obj, old)
	case !status && res.Hooks.Update != nil:
		res.Hooks.Update(obj, old)
	}
	if res.HasGeneration && !status && specChanged(obj, old, res.HasStatus || res.Definition == nil) {
		n, _ := oldMeta.Get("generation").Int()
		meta.SetInt("generation", n+1)
	}
}

// keepType restores the kind and version of a custom object, which only a write of the
// object itself may name wrongly.
func keepType(res *catalog.Row, obj, old document.Value) {
	if res.Definition != nil {
		obj.Put("apiVersion", old.Get("apiVersion"))
		obj.Put("kind", old.Get("kind"))
	}
}

// kept are the members that every endpoint may send.
func kept(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// removeAdded drops the members that the status endpoint may not add.
func removeAdded(obj, old document.Value) {
	var added []string
	for name := range obj.Members() {
		if !kept(name) && name != "status" && !old.Get(name).Exists() {
			added = append(added, name)
		}
	}
	for _, name := range added {
		obj.Remove(name)
	}
}

// specChanged reports whether anything but metadata differs, and but the status if that is
// not a part of the wanted state.
func specChanged(obj, old document.Value, statusApart bool) bool {
	apart := func(name string) bool { return kept(name) || name == "status" && statusApart }
	for name, v := range obj.Members() {
		if !apart(name) && !document.Equal(v, old.Get(name)) {
			return true
		}
	}
	for name := range old.Members() {
		if !apart(name) && !obj.Get(name).Exists() {
			return true
		}
	}
	return false
}

// finished reports whether a terminating object has no finalizers and no grace period
// left.
func finished(obj document.Value) bool {
	meta := obj.Get("metadata")
	if !meta.Get("deletionTimestamp").Exists() || meta.Get("finalizers").Len() > 0 {
		return false
	}
	grace, _ := meta.Get("deletionGracePeriodSeconds").Int()
	return grace == 0 && obj.At("spec", "finalizers").Len() == 0
}

// MatchPatched refuses a patch that changes the object's name or namespace.
func MatchPatched(obj document.Value, t Ref) error {
	meta := obj.SetObject("metadata")
	if err := MatchName(meta, t.Name); err != nil {
		return err
	}
	return MatchNamespace(t.Row, meta, t.Namespace)
}
