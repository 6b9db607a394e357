package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Object is the interface of objects; generated kinds have it.
type Object interface {
	GetName() string
	GetNamespace() string
	GetResourceVersion() string
	SetKind() // fills in kind and apiVersion
}

// Pointer is a *T that is an Object.
type Pointer[T any] interface {
	*T
	Object
}

// List holds the objects of one answer, or the first of them.
type List[T any] struct {
	Metadata ListMeta `json:"metadata"`
	Items    []T      `json:"items"`
}

// ListMeta says at which moment a list was read, and how it goes on.
type ListMeta struct {
	ResourceVersion    string `json:"resourceVersion,omitempty"` // a watch after it misses nothing
	Continue           string `json:"continue,omitempty"`        // for ListOptions.Continue; "" at the end
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
}

// Reader reads objects of type T.
type Reader[T any, P Pointer[T]] struct {
	rest      *REST
	row       Row
	namespace string
}

// NewReader returns a reader of a resource. Namespace "" stands for all; then
// only List and Watch work on a namespaced resource.
func NewReader[T any, P Pointer[T]](rest *REST, row Row, namespace string) Reader[T, P] {
	return Reader[T, P]{rest, row, namespace}
}

// Get returns the object with that name.
func (r Reader[T, P]) Get(ctx context.Context, name string, o GetOptions) (*T, error) {
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
// token for the rest in the list's metadata. All does that by itself.
func (r Reader[T, P]) List(ctx context.Context, o ListOptions) (*List[T], error) {
	out := new(List[T])
	if err := r.rest.do(ctx, request{method: http.MethodGet, path: r.row.path(r.namespace), query: o.query()}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Watch reports changes of the selected objects, after the resource version of
// the options; without one the existing objects come first. The watcher lives
// until it is closed, ctx ends, or the server ends it. Follow goes on after that.
func (r Reader[T, P]) Watch(ctx context.Context, o ListOptions) (*Watcher[T], error) {
	query := o.query()
	query.Set("watch", "true")
	ctx, cancel := context.WithCancel(ctx)
	response, err := r.rest.send(ctx, request{method: http.MethodGet, path: r.row.path(r.namespace), query: query})
	if err != nil {
		cancel()
		return nil, err
	}
	return newWatcher[T](response.Body, cancel), nil
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
type Resource[T any, P Pointer[T]] struct {
	Reader[T, P]
	Creator[T, P]
}

// NewResource returns the client of a resource.
func NewResource[T any, P Pointer[T]](rest *REST, row Row, namespace string) Resource[T, P] {
	return Resource[T, P]{NewReader[T, P](rest, row, namespace), NewCreator[T, P](rest, row, namespace)}
}

// Update replaces the object with the same name. It is a conflict when the
// object has a resource version that is not the latest.
func (r Resource[T, P]) Update(ctx context.Context, obj *T, o WriteOptions) (*T, error) {
	return r.update(ctx, obj, o)
}

// UpdateStatus replaces the status of the object with the same name, for kinds
// that have one.
func (r Resource[T, P]) UpdateStatus(ctx context.Context, obj *T, o WriteOptions) (*T, error) {
	return r.update(ctx, obj, o, "status")
}

// mostConflicts is how often Modify tries.
const mostConflicts = 10

// Modify reads an object, changes it and replaces it, again when another client was faster,
// up to ten times. An error of change ends it without a write.
func (r Resource[T, P]) Modify(ctx context.Context, name string, change func(*T) error, o WriteOptions) (*T, error) {
	wait := backoff{least: 10 * time.Millisecond, most: time.Second}
	for try := 1; ; try++ {
		obj, err := r.Get(ctx, name, GetOptions{})
		if err != nil {
			return nil, err
		}
		if err := change(obj); err != nil {
			return nil, err
		}
		out, err := r.Update(ctx, obj, o)
		if !IsConflict(err) || try == mostConflicts || wait.sleep(ctx) != nil {
			return out, err
		}
	}
}

func (r Resource[T, P]) update(ctx context.Context, obj *T, o WriteOptions, subresource ...string) (*T, error) {
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

// Delete deletes an object. With finalizers or a grace period it disappears later.
func (r Resource[T, P]) Delete(ctx context.Context, name string, o DeleteOptions) error {
	reader := r.Reader
	path, err := reader.row.object(reader.namespace, name)
	if err != nil {
		return err
	}
	return reader.delete(ctx, path, o, ListOptions{})
}

// DeleteCollection deletes all selected objects.
func (r Resource[T, P]) DeleteCollection(ctx context.Context, o DeleteOptions, selected ListOptions) error {
	reader := r.Reader
	if reader.row.Namespaced && reader.namespace == "" {
		return fmt.Errorf("%s: namespace is missing: a collection is deleted in one namespace", reader.row.Plural)
	}
	return reader.delete(ctx, reader.row.path(reader.namespace), o, selected)
}

func (r Reader[T, P]) delete(ctx context.Context, path string, o DeleteOptions, selected ListOptions) error {
	body, err := json.Marshal(deleteBody{Kind: "DeleteOptions", APIVersion: "v1", DeleteOptions: o})
	if err != nil {
		return err
	}
	return r.rest.do(ctx, request{method: http.MethodDelete, path: path, query: selected.query(), contentType: jsonType, body: body}, nil)
}
