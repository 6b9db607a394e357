package objects

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// MatchNamespace sets the object's namespace to that of the path, or refuses another one.
func MatchNamespace(res *catalog.Row, meta document.Value, namespace string) error {
	if !res.Namespaced {
		meta.Remove("namespace")
		return nil
	}
	if ns := meta.Get("namespace").Text(); ns != "" && ns != namespace {
		return api.BadRequest("the namespace of the provided object does not match the namespace sent on the request: %q and %q", ns, namespace)
	}
	meta.SetString("namespace", namespace)
	return nil
}

// NamespaceAccepts checks that the namespace of a new object exists and accepts it.
func (o *Objects) NamespaceAccepts(ctx context.Context, res *catalog.Row, namespace, name string) error {
	if !res.Namespaced {
		return nil
	}
	_, err := o.acceptingNamespace(ctx, res, namespace, name)
	return err
}

// acceptingNamespace reads a namespace that accepts a new object. Errors: 404, 403.
func (o *Objects) acceptingNamespace(ctx context.Context, res *catalog.Row, namespace, name string) (store.Entry, error) {
	entry, err := o.namespace(ctx, namespace)
	if err != nil {
		return entry, err
	}
	if ends(entry.Body) {
		e := api.Forbidden(res.GroupResource(), name, "unable to create new content in namespace "+namespace+" because it is being terminated")
		e.Causes = []api.Cause{{Reason: api.CauseNamespaceTerminating, Message: "namespace " + namespace + " is being terminated", Field: "metadata.namespace"}}
		return entry, e
	}
	return entry, nil
}

// ends reports whether a stored object is being deleted.
func ends(body []byte) bool {
	_, marked := document.Find(body, "metadata", "deletionTimestamp")
	return marked
}

// namespace reads a namespace. Errors: 404.
func (o *Objects) namespace(ctx context.Context, name string) (store.Entry, error) {
	namespaces := o.catalog.Snapshot().Core("namespaces")
	entry, err := o.store.Get(ctx, namespaces.Key("", name))
	if errors.Is(err, store.ErrNotFound) {
		err = api.NotFound(namespaces.GroupResource(), name)
	}
	return entry, err
}

// prepareCreate sets the server's fields of a new object.
func (o *Objects) prepareCreate(res *catalog.Row, obj document.Value, namespace string, user *authn.User) {
	meta := obj.Get("metadata")
	meta.SetString("uid", newUID())
	meta.SetString("creationTimestamp", o.Now())
	if res.HasGeneration {
		meta.SetInt("generation", 1)
	}
	if res.HasStatus && !res.StatusOnCreate {
		if obj.Remove("status"); res.Definition != nil {
			obj.Fill("status")
		} else {
			obj.SetObject("status")
		}
	}
	res.Gated.Drop(obj, document.Value{})
	restore(obj, document.Value{}, res.ReadOnly)
	if res.Role == api.RoleSigningRequests {
		stampRequester(obj.SetObject("spec"), user)
	}
	if res.Hooks != nil && res.Hooks.Create != nil {
		res.Hooks.Create(obj)
	}
}

// systemFields are the members of metadata that are dropped from a new object.
var systemFields = [...]string{"uid", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}

// DropSystemFields removes the members of metadata that the author of a new object cannot
// set.
func DropSystemFields(meta document.Value) {
	for _, field := range systemFields {
		meta.Remove(field)
	}
}
