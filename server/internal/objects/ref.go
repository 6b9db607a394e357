package objects

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Ref addresses a write: an object, or one of its subresources, in one version.
type Ref struct {
	Row       *catalog.Row
	Sub       *api.Subresource
	Namespace string       // "" for cluster-scoped resources and for all namespaces
	Name      string       // "" for collections, and for objects whose name is generated
	written   *catalog.Row // the version of the write, if Row is the storage version instead; else nil

	// The stored object was read without parts that only another release knows.
	incomplete bool
}

// subName is the name of the subresource, "" for the object itself.
func (t *Ref) subName() string {
	if t.Sub == nil {
		return ""
	}
	return t.Sub.Name
}

// Does is the endpoint of a subresource or of an operation; "" for stored objects.
func (t *Ref) Does() api.Endpoint {
	if t.Sub != nil {
		return t.Sub.Endpoint
	}
	return t.Row.Endpoint
}

// Action is the action of the target; nil for other targets.
func (t *Ref) Action() *api.Action {
	if t.Sub != nil {
		return t.Sub.Action
	}
	return t.Row.Action
}

// Whole is the target of a change of all of an object, the status too, by the code of an action.
func Whole(row *catalog.Row, namespace, name string) Ref {
	return Ref{Row: row, Sub: &api.Subresource{Endpoint: api.EndpointAction, Keeps: row.Keeps}, Namespace: namespace, Name: name}
}

// writesStatus reports whether the target is an endpoint that writes only an object's
// status.
func (t *Ref) writesStatus() bool { return t.Sub != nil && t.Sub.Endpoint.WritesStatus() }

// writesWhole reports whether the target is an action, which writes all of an object.
func (t *Ref) writesWhole() bool { return t.Sub != nil && t.Sub.Endpoint.WritesWhole() }
