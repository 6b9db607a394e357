package action

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/capstan-dev/capstan/internal/api"
)

// Any is a call of any action: a *Query, *Command, *View or *Call.
type Any interface{ inner() *api.ActionCall }

// Kind is the pointer to the type in Go of a kind that the server stores, as the generator makes them.
type Kind[T any] interface {
	*T
	SetKind() // fills in kind and apiVersion
}

// Objects reads and writes the objects of a kind in a namespace. A change is stored as the user's: by the rules of the
// documents, admission, quotas and dry run, with a record of who owns which field. The right to the action is enough for it.
// Several changes are not one transaction.
type Objects[T any] struct {
	call api.ActionCall
	of   api.ActionObject
}

// Of gives the objects of a kind in a namespace, "" for cluster-scoped ones, and for reading all namespaces:
//
//	trucks := action.Of[v1.Truck](call, call.Namespace())
//
// A call that is made in a namespace reads and writes namespaced objects of that namespace only.
func Of[T any, P Kind[T]](call Any, namespace string) *Objects[T] {
	var named struct{ APIVersion, Kind string }
	object := P(new(T))
	object.SetKind()
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &named)
	}
	if err != nil {
		panic(err) // a generated type that is not one of an object
	}
	return &Objects[T]{*call.inner(), api.ActionObject{APIVersion: named.APIVersion, Kind: named.Kind, Namespace: namespace}}
}

func (o *Objects[T]) named(name string) api.ActionObject {
	of := o.of
	of.Name = name
	return of
}

// Get is the object with that name, as it is now. IsNotFound knows the error for one that is not there.
func (o *Objects[T]) Get(ctx context.Context, name string) (*T, error) {
	text, err := o.call.Get(ctx, o.named(name))
	if err != nil {
		return nil, err
	}
	return read[T](text)
}

// All are the objects in the order of their names, as they are at one moment. The first error is the last value. A loop
// of many minutes may find that this moment is forgotten.
func (o *Objects[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var page api.ActionPage
		for more := true; more; more = page.Next != "" {
			var err error
			if page, err = o.call.Page(ctx, o.of, page); err != nil {
				yield(nil, err)
				return
			}
			for _, text := range page.Objects {
				if object, err := read[T](text); !yield(object, err) || err != nil {
					return
				}
			}
		}
	}
}

// Create stores a new object, and returns it as it is stored.
func (o *Objects[T]) Create(ctx context.Context, object *T) (*T, error) {
	text, err := json.Marshal(object)
	if err == nil {
		text, err = o.call.Create(ctx, o.of, text)
	}
	if err != nil {
		return nil, err
	}
	return read[T](text)
}

// Update stores the object with that name as change leaves it, like the Update of a Call.
func (o *Objects[T]) Update(ctx context.Context, name string, change func(object *T) error) (*T, error) {
	return update(ctx, o.call, o.named(name), change)
}

// Delete deletes the object with that name. With finalizers it disappears later.
func (o *Objects[T]) Delete(ctx context.Context, name string) error {
	return o.call.Delete(ctx, o.named(name))
}
