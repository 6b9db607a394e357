package server

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// mayReplace decides whether an object that was sent may be stored in place of the basis.
func (e *evaluation) mayReplace(meta document.Value) error {
	if err := matchName(meta, e.name); err != nil {
		return err
	}
	if err := matchNamespace(e.resource, meta, e.namespace); err != nil {
		return err
	}
	if e.shown == nil {
		return e.s.mayCreate(e.ctx, e.ref, meta)
	}
	if uid := meta.Get("uid").Text(); uid != "" && uid != e.was.At("metadata", "uid").Text() {
		return nil // another object: that is told first
	}
	return checkConditional(e.ref, meta)
}

// mayCreate decides whether a PUT of a missing object creates it: only when
// nothing in it says that it existed, so that a controller's late update does
// not bring back what was deleted.
func (s *Server) mayCreate(ctx context.Context, t ref, meta document.Value) error {
	if t.sub != nil || meta.Get("uid").Exists() || meta.Get("resourceVersion").Exists() {
		return api.NotFound(t.resource.GroupResource(), t.name)
	}
	return s.namespaceAccepts(ctx, t.resource, t.namespace, t.name)
}

func matchName(meta document.Value, name string) error {
	switch got := meta.Get("name").Text(); got {
	case name:
	case "":
		return api.BadRequest("the name of the object is missing: it has to be %s, as on the URL", name)
	default:
		return api.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", got, name)
	}
	return nil
}

// checkConditional refuses what replaces an object that exists without the version that
// its resource demands.
func checkConditional(t ref, meta document.Value) error {
	if v := meta.Get("resourceVersion").Text(); v != "" && v != "0" || !t.resource.Storage().ConditionalUpdate {
		return nil
	}
	return api.Invalid(t.resource.GV.Group, t.resource.Plural, t.name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.resourceVersion",
		Message: "Invalid value: 0x0: must be specified for an update"}})
}

// checkPreconditions compares what the object says of itself with what is
// stored (optimistic locking).
func checkPreconditions(res *catalog.Row, name string, meta, old document.Value, patched bool) error {
	if err := checkUID(res, name, meta, old, patched); err != nil {
		return err
	}
	return checkRevision(res, name, meta, old)
}

// checkUID compares the uid. A patch that changes it is no condition, but a change
// that is not allowed.
func checkUID(res *catalog.Row, name string, meta, old document.Value, patched bool) error {
	if uid := meta.Get("uid").Text(); !patched && uid != "" && uid != old.Get("uid").Text() {
		return api.Conflict(res.GroupResource(), name, "Precondition failed: UID in precondition: "+uid+", UID in object meta: "+old.Get("uid").Text())
	}
	return nil
}

// checkRevision compares the version.
func checkRevision(res *catalog.Row, name string, meta, old document.Value) error {
	asked, set, err := api.ParseRevision(meta.Get("resourceVersion").Text())
	if err != nil {
		return err
	}
	if set && asked != 0 && meta.Get("resourceVersion").Text() != old.Get("resourceVersion").Text() {
		return api.Conflict(res.GroupResource(), name, "the object has been modified; please apply your changes to the latest version and try again")
	}
	return nil
}

// prepareUpdate gives obj what the server owns from the object it replaces. The
// status endpoint may change nothing but status (and some metadata), the main
// one everything else.
func prepareUpdate(t ref, obj, old document.Value) {
	res := t.resource
	meta, oldMeta := obj.Get("metadata"), old.Get("metadata")
	for _, field := range [...]string{"creationTimestamp", "generation", "selfLink"} {
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
	status := t.writesStatus()
	finalize := t.sub != nil && t.sub.Endpoint == api.EndpointFinalize
	if res.HasStatus {
		for name := range old.Members() {
			if !kept(name) && (name == "status") != status {
				obj.Put(name, old.Get(name))
			}
		}
		if status {
			removeAdded(obj, old)
		} else if !old.Get("status").Exists() {
			obj.Remove("status")
		}
	}
	if t.sub != nil {
		keep(obj, old, t.sub.Keeps)
	} else {
		keep(obj, old, res.Keeps)
	}
	res.Gated.Drop(obj, old)
	switch {
	case res.Hooks == nil || finalize:
	case status && res.Hooks.Status != nil:
		res.Hooks.Status(obj, old)
	case !status && res.Hooks.Update != nil:
		res.Hooks.Update(obj, old)
	}
	if res.HasGeneration && !status && specChanged(obj, old) {
		n, _ := oldMeta.Get("generation").Int()
		meta.SetInt("generation", n+1)
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

// specChanged reports whether anything but metadata and status differs.
func specChanged(obj, old document.Value) bool {
	for name, v := range obj.Members() {
		if !kept(name) && name != "status" && !document.Equal(v, old.Get(name)) {
			return true
		}
	}
	for name := range old.Members() {
		if !kept(name) && name != "status" && !obj.Get(name).Exists() {
			return true
		}
	}
	return false
}

// finished reports whether a terminating object has nothing left to wait for.
func finished(obj document.Value) bool {
	meta := obj.Get("metadata")
	if !meta.Get("deletionTimestamp").Exists() || meta.Get("finalizers").Len() > 0 {
		return false
	}
	grace, _ := meta.Get("deletionGracePeriodSeconds").Int()
	return grace == 0 && obj.At("spec", "finalizers").Len() == 0
}

// matchPatched refuses a patch that moves the object.
func matchPatched(obj document.Value, t ref) error {
	meta := obj.SetObject("metadata")
	if err := matchName(meta, t.name); err != nil {
		return err
	}
	return matchNamespace(t.resource, meta, t.namespace)
}
