package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"time"
)

// Object is the interface of objects. They are pointers to structs; generated kinds have the
// methods.
type Object interface {
	GetName() string
	GetNamespace() string
	GetResourceVersion() string
	SetKind() // fills in kind and apiVersion
}

// newObject returns a new object: P is a pointer to its struct. The type arguments of this
// package are pointers, because the compiler makes one copy of the code for all of them, but
// one for each struct. It still makes a small function for each method of each kind, in every
// package that imports a typed client: so helpers are functions instead of methods, and methods
// that contain loops are not inlined into those small functions.
func newObject[P Object]() P {
	return reflect.New(reflect.TypeFor[P]().Elem()).Interface().(P)
}

// checkObject panics if P is not a pointer, which the compiler does not see.
func checkObject[P Object]() {
	if t := reflect.TypeFor[P](); t.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("client: %s is not a pointer to a struct: write *%s", t, t))
	}
}

// List holds the objects of one answer, or the first of them; none is nil.
type List[P Object] struct {
	Metadata ListMeta `json:"metadata"`
	Items    []P      `json:"items"`
}

// ListMeta says at which moment a list was read, and how it goes on.
type ListMeta struct {
	ResourceVersion    string `json:"resourceVersion,omitempty"` // a watch after it misses nothing
	Continue           string `json:"continue,omitempty"`        // for ListOptions.Continue; "" at the end
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
}

// Resource reads and writes the objects of a resource, in a namespace or in all. P is a
// pointer to their struct.
type Resource[P Object] struct{ at *place }

// NewResource returns the client of a resource. Namespace "" stands for all; then only
// reading lists and watching work on a namespaced resource.
func NewResource[P Object](rest *REST, row Row, namespace string) *Resource[P] {
	checkObject[P]()
	return &Resource[P]{&place{rest, row, namespace}}
}

// Reader is a Resource whose objects clients only read.
type Reader[P Object] interface {
	Get(ctx context.Context, name string, o GetOptions) (P, error)
	List(ctx context.Context, o ListOptions) (*List[P], error)
	All(ctx context.Context, o ListOptions) iter.Seq2[P, error]
	Watch(ctx context.Context, o ListOptions) (*Watcher[P], error)
	Follow(ctx context.Context, o ListOptions) iter.Seq2[Event[P], error]
	Informer(c InformerConfig[P]) *Informer[P]
}

// Creator is a Resource whose objects clients only create, because they are not stored:
// reviews, bindings.
type Creator[P Object] interface {
	Create(ctx context.Context, obj P, o WriteOptions) (P, error)
}

// Get returns the object with that name.
func (r *Resource[P]) Get(ctx context.Context, name string, o GetOptions) (obj P, err error) {
	path, err := r.at.object(name)
	if err != nil {
		return obj, err
	}
	return receive[P](ctx, r.at.rest, request{method: http.MethodGet, path: path, query: o.query()})
}

// List returns the selected objects; with a Limit only the first ones and the
// token for the rest in the list's metadata. All does that by itself.
func (r *Resource[P]) List(ctx context.Context, o ListOptions) (*List[P], error) {
	out, asked := new(List[P]), request{method: http.MethodGet, path: r.at.path(), query: o.query()}
	if err := r.at.rest.do(ctx, asked, out); err != nil {
		return nil, err
	}
	for i, obj := range out.Items {
		if reflect.ValueOf(obj).IsNil() {
			return nil, fmt.Errorf("%s %s: answer is not the expected list: items[%d] is null", asked.method, asked.path, i)
		}
	}
	return out, nil
}

// Watch reports changes of the selected objects, after the resource version of
// the options; without one the existing objects come first. The watcher lives
// until it is closed, ctx ends, or the server ends it. Follow goes on after that.
func (r *Resource[P]) Watch(ctx context.Context, o ListOptions) (*Watcher[P], error) {
	query := o.query()
	query.Set("watch", "true")
	ctx, cancel := context.WithCancel(ctx)
	response, err := r.at.rest.send(ctx, request{method: http.MethodGet, path: r.at.path(), query: query})
	if err != nil {
		cancel()
		return nil, err
	}
	return &Watcher[P]{newStream(response.Body, cancel)}, nil
}

// receive sends a request and returns the object of the answer.
func receive[P Object](ctx context.Context, rest *REST, r request) (P, error) {
	out := newObject[P]()
	if err := rest.do(ctx, r, out); err != nil {
		var none P
		return none, err
	}
	return out, nil
}

// write sends an object and returns that of the answer, which may be of another kind.
func write[A Object](ctx context.Context, rest *REST, method, path string, query url.Values, obj Object) (answer A, err error) {
	r, err := request{method: method, path: path, query: query}.with(obj)
	if err != nil {
		return answer, err
	}
	return receive[A](ctx, rest, r)
}

// with is the request with an object as its body.
func (r request) with(obj Object) (request, error) {
	obj.SetKind()
	body, err := json.Marshal(obj)
	if err != nil {
		return r, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	r.contentType, r.body = jsonType, body
	return r, nil
}

// Create stores a new object and returns it as stored. obj itself gets its kind and
// apiVersion, nothing else.
func (r *Resource[P]) Create(ctx context.Context, obj P, o WriteOptions) (stored P, err error) {
	if r.at.row.Namespaced && r.at.namespace == "" {
		return stored, fmt.Errorf("%s: namespace is missing: objects of this resource live in one", r.at.row.Plural)
	}
	return write[P](ctx, r.at.rest, http.MethodPost, r.at.path(), o.query(), obj)
}

// Update replaces the object with the same name. It is a conflict when the
// object has a resource version that is not the latest.
func (r *Resource[P]) Update(ctx context.Context, obj P, o WriteOptions) (P, error) {
	return update(ctx, r.at, obj, o)
}

// UpdateStatus replaces the status of the object with the same name, for kinds
// that have one.
func (r *Resource[P]) UpdateStatus(ctx context.Context, obj P, o WriteOptions) (P, error) {
	return update(ctx, r.at, obj, o, "status")
}

// mostConflicts is how often Modify tries.
const mostConflicts = 10

// Modify reads an object, changes it and replaces it, again when another client was faster,
// up to ten times. An error of change ends it without a write.
func (r *Resource[P]) Modify(ctx context.Context, name string, change func(P) error, o WriteOptions) (stored P, err error) {
	wait := backoff{least: 10 * time.Millisecond, most: time.Second}
	for try := 1; ; try++ {
		obj, err := r.Get(ctx, name, GetOptions{})
		if err != nil {
			return stored, err
		}
		if err := change(obj); err != nil {
			return stored, err
		}
		stored, err = r.Update(ctx, obj, o)
		if !IsConflict(err) || try == mostConflicts || wait.sleep(ctx) != nil {
			return stored, err
		}
	}
}

func update[P Object](ctx context.Context, at *place, obj P, o WriteOptions, subresource ...string) (stored P, err error) {
	path, err := at.object(obj.GetName(), subresource...)
	if err != nil {
		return stored, err
	}
	return write[P](ctx, at.rest, http.MethodPut, path, o.query(), obj)
}

// Delete deletes an object. With finalizers or a grace period it disappears later.
func (r *Resource[P]) Delete(ctx context.Context, name string, o DeleteOptions) error {
	path, err := r.at.object(name)
	if err != nil {
		return err
	}
	return r.at.delete(ctx, path, o, ListOptions{})
}

// DeleteCollection deletes all selected objects.
func (r *Resource[P]) DeleteCollection(ctx context.Context, o DeleteOptions, selected ListOptions) error {
	at := r.at
	if at.row.Namespaced && at.namespace == "" {
		return fmt.Errorf("%s: namespace is missing: a collection is deleted in one namespace", at.row.Plural)
	}
	return at.delete(ctx, at.path(), o, selected)
}
