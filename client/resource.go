package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Object is the interface of objects; generated kinds have it.
type Object interface {
	GetName() string
	SetKind() // fills in kind and apiVersion
}

// Pointer is a *T that is an Object.
type Pointer[T any] interface {
	*T
	Object
}

// Reader reads objects of type T and lists of type L.
type Reader[T, L any] struct {
	rest      *REST
	row       Row
	namespace string
}

// NewReader returns a reader of a resource. Namespace "" stands for all; then
// only List and Watch work on a namespaced resource.
func NewReader[T, L any](rest *REST, row Row, namespace string) Reader[T, L] {
	return Reader[T, L]{rest, row, namespace}
}

// Get returns the object with that name.
func (r Reader[T, L]) Get(ctx context.Context, name string, o GetOptions) (*T, error) {
	path, err := r.row.object(r.namespace, name)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := r.rest.do(ctx, request{method: http.MethodGet, path: path, query: o.query()}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// List returns the selected objects; with a Limit only the first ones and the
// token for the rest in the list's metadata.
func (r Reader[T, L]) List(ctx context.Context, o ListOptions) (*L, error) {
	out := new(L)
	if err := r.rest.do(ctx, request{method: http.MethodGet, path: r.row.path(r.namespace), query: o.query()}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Watch reports changes of the selected objects, after the resource version of
// the options; without one the existing objects come first. The watcher lives
// until it is closed, ctx ends, or the server ends it.
func (r Reader[T, L]) Watch(ctx context.Context, o ListOptions) (*Watcher[T], error) {
	query := o.query()
	query.Set("watch", "true")
	response, err := r.rest.send(ctx, request{method: http.MethodGet, path: r.row.path(r.namespace), query: query})
	if err != nil {
		return nil, err
	}
	return newWatcher[T](response.Body), nil
}

// Creator creates objects.
type Creator[T any, P Pointer[T]] struct {
	rest      *REST
	row       Row
	namespace string
}

// NewCreator returns a creator of objects of a resource.
func NewCreator[T any, P Pointer[T]](rest *REST, row Row, namespace string) Creator[T, P] {
	return Creator[T, P]{rest, row, namespace}
}

// Create stores a new object and returns it as stored. obj itself gets its kind and
// apiVersion, nothing else.
func (c Creator[T, P]) Create(ctx context.Context, obj *T, o WriteOptions) (*T, error) {
	if c.row.Namespaced && c.namespace == "" {
		return nil, fmt.Errorf("%s: namespace is missing: objects of this resource live in one", c.row.Plural)
	}
	P(obj).SetKind()
	out := new(T)
	if err := c.rest.write(ctx, http.MethodPost, c.row.path(c.namespace), o.query(), obj, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Resource reads and writes objects.
type Resource[T any, P Pointer[T], L any] struct {
	Reader[T, L]
	Creator[T, P]
}

// NewResource returns the client of a resource.
func NewResource[T any, P Pointer[T], L any](rest *REST, row Row, namespace string) Resource[T, P, L] {
	return Resource[T, P, L]{NewReader[T, L](rest, row, namespace), NewCreator[T, P](rest, row, namespace)}
}

// Update replaces the object with the same name. It is a conflict when the
// object has a resource version that is not the latest.
func (r Resource[T, P, L]) Update(ctx context.Context, obj *T, o WriteOptions) (*T, error) {
	return r.update(ctx, obj, o)
}

// UpdateStatus replaces the status of the object with the same name, for kinds
// that have one.
func (r Resource[T, P, L]) UpdateStatus(ctx context.Context, obj *T, o WriteOptions) (*T, error) {
	return r.update(ctx, obj, o, "status")
}

func (r Resource[T, P, L]) update(ctx context.Context, obj *T, o WriteOptions, subresource ...string) (*T, error) {
	reader := r.Reader
	path, err := reader.row.object(reader.namespace, P(obj).GetName(), subresource...)
	if err != nil {
		return nil, err
	}
	P(obj).SetKind()
	out := new(T)
	if err := reader.rest.write(ctx, http.MethodPut, path, o.query(), obj, out); err != nil {
		return nil, err
	}
	return out, nil
}

// PatchType is the content type of a patch.
type PatchType string

// The patch types.
const (
	JSONPatch      PatchType = "application/json-patch+json"
	MergePatch     PatchType = "application/merge-patch+json"
	StrategicPatch PatchType = "application/strategic-merge-patch+json"
	ApplyPatch     PatchType = "application/apply-patch+yaml" // needs a FieldManager
)

// Patch changes parts of an object, or of a subresource ("status") when one is
// named.
func (r Resource[T, P, L]) Patch(ctx context.Context, name string, t PatchType, patch []byte, o WriteOptions, subresource ...string) (*T, error) {
	reader := r.Reader
	path, err := reader.row.object(reader.namespace, name, subresource...)
	if err != nil {
		return nil, err
	}
	out := new(T)
	err = reader.rest.do(ctx, request{method: http.MethodPatch, path: path, query: o.query(), contentType: string(t), body: patch}, out)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Delete deletes an object. With finalizers or a grace period it disappears later.
func (r Resource[T, P, L]) Delete(ctx context.Context, name string, o DeleteOptions) error {
	reader := r.Reader
	path, err := reader.row.object(reader.namespace, name)
	if err != nil {
		return err
	}
	return reader.delete(ctx, path, o, ListOptions{})
}

// DeleteCollection deletes all selected objects.
func (r Resource[T, P, L]) DeleteCollection(ctx context.Context, o DeleteOptions, selected ListOptions) error {
	reader := r.Reader
	if reader.row.Namespaced && reader.namespace == "" {
		return fmt.Errorf("%s: namespace is missing: a collection is deleted in one namespace", reader.row.Plural)
	}
	return reader.delete(ctx, reader.row.path(reader.namespace), o, selected)
}

func (r Reader[T, L]) delete(ctx context.Context, path string, o DeleteOptions, selected ListOptions) error {
	body, err := json.Marshal(deleteBody{Kind: "DeleteOptions", APIVersion: "v1", DeleteOptions: o})
	if err != nil {
		return err
	}
	return r.rest.do(ctx, request{method: http.MethodDelete, path: path, query: selected.query(), contentType: jsonType, body: body}, nil)
}
