package object

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// View shows a hook that checks other objects, of the kinds that the document lists in reads.
//
//	func (Hooks) CheckTruck(view *object.View, obj, old object.Value) []object.Cause {
//		depot := obj.At("spec", "depot").Text()
//		same := view.List("Truck", obj.At("metadata", "namespace").Text(), object.Where{Fields: "spec.depot=" + depot})
//		...
//	}
//
// Everything is shown as it is at one revision, and the write is stored only if it is still so: when another
// write has changed something that was read, on this or another server, the hook runs again. So a hook may rely
// on what it reads, needs no lock, and has no effects of its own.
//
// A view has bounds: 1,000 objects and 16 MiB, and 50 calls of Get. A view that is asked for more, or whose request
// has ended, shows nothing from then on, and the write ends with an error that says so, whatever the hook
// returns.
type View struct{ v api.View }

// Get is an object, absent when there is none. The namespace of cluster-scoped kinds is "".
func (v *View) Get(kind, namespace, name string) Value {
	return Value{v.v.Get(kind, namespace, name)}
}

// Where chooses objects by selectors, as the options of kubectl do; empty ones choose all.
type Where struct {
	Labels string // "tier in (gold,silver)"
	Fields string // "spec.depot=north", of the fields that the document lists in selectable
}

// List are the objects of a namespace, or of all for "", in the order of their names. The object that is
// written is among them as it was before, if it was there.
func (v *View) List(kind, namespace string, where Where) []Value {
	var all []Value
	for _, obj := range v.v.List(kind, namespace, where.Labels, where.Fields) {
		all = append(all, Value{obj})
	}
	return all
}

// CheckIn adapts hooks that find the mistakes of an object next to others.
func CheckIn(hook func(view *View, obj, old Value) []Cause) func(view api.View, obj, old document.Value) []schema.Cause {
	return func(view api.View, obj, old document.Value) []schema.Cause {
		return hook(&View{view}, Value{obj}, Value{old})
	}
}

// CheckDeleteIn adapts hooks that say why an object may not be deleted.
func CheckDeleteIn(hook func(view *View, obj Value) []Cause) func(view api.View, obj document.Value) []schema.Cause {
	return func(view api.View, obj document.Value) []schema.Cause { return hook(&View{view}, Value{obj}) }
}
