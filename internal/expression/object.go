package expression

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// object is the view of an object with declared fields, of a map, or of a dynamic object.
type object struct {
	v    document.Value
	t    *Type
	size int // -1 until it was counted
	kept []seen
	more map[string]ref.Val // instead of kept, once there are many
	// fields are the members by the index of their fields, of a wide object that was
	// looked at some times.
	fields []document.Value
	table  *schema.Type
	looks  int
	names  []ref.Val // of the members, once they were visited
}

// seen is a member that was looked at.
type seen struct {
	name string
	ref.Val
}

// fewMembers bounds the members that are searched in their order.
const fewMembers = 8

// An object with more fields is wide: after some looks its members are indexed.
const (
	wideObject = 24
	fewLooks   = 2
)

// get is a member of an object with declared fields.
func (o *object) get(name string) document.Value {
	if o.fields != nil {
		if i := o.table.Field(name); i >= 0 {
			return o.fields[i]
		}
		return o.v.Get(name)
	}
	if o.looks++; o.looks == fewLooks+1 && len(o.t.Fields) > wideObject {
		if table, typ := o.v.Type(); table != nil {
			o.fields, o.table = o.v.Fields(), &table.Types[typ]
		}
	}
	return o.v.Get(name)
}

// typeOf is the type of a member; false for one that the object's type does not have.
func (o *object) typeOf(name string) (*Type, bool) {
	switch o.t.Kind {
	case Map:
		return o.t.Elem, true
	case Dynamic:
		return dynamic, true
	}
	if f := o.t.field(name); f != nil {
		return f.Type, true
	}
	return nil, false
}

// field is the value of a declared field; false for one that is missing or null.
func (o *object) field(f *Field) (ref.Val, bool) {
	m := o.get(f.Name)
	if m.Kind() <= document.Null {
		return nil, false
	}
	return o.child(f.Name, m, f.Type), true
}

// child is the value of a member, whose tree is m.
func (o *object) child(name string, m document.Value, t *Type) ref.Val {
	if o.more != nil {
		if v, ok := o.more[name]; ok {
			return v
		}
	}
	for i := range o.kept {
		if o.kept[i].name == name {
			return o.kept[i].Val
		}
	}
	v := valueOf(m, t)
	switch {
	case !costly(v):
	case o.more != nil:
		o.more[name] = v
	case len(o.kept) < fewMembers:
		o.kept = append(o.kept, seen{name, v})
	default:
		o.more = map[string]ref.Val{name: v}
	}
	return v
}

// Find implements traits.Mapper.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	text, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	name := string(text)
	if o.t.Kind == Object {
		if f := o.t.named(name); f != nil {
			return o.field(f)
		}
		return nil, false
	}
	m := o.v.Get(name)
	if !m.Exists() {
		return nil, false
	}
	t, _ := o.typeOf(name)
	return o.child(name, m, t), true
}

// Get implements traits.Indexer.
func (o *object) Get(key ref.Val) ref.Val {
	if v, found := o.Find(key); found {
		return v
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

// Contains implements traits.Container.
func (o *object) Contains(key ref.Val) ref.Val {
	v, found := o.Find(key)
	if v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

// Size implements traits.Sizer. It counts members that expressions cannot see, too.
func (o *object) Size() ref.Val {
	if o.size < 0 {
		o.size = o.v.Len()
	}
	return types.Int(o.size)
}

// IsZeroValue implements traits.Zeroer.
func (o *object) IsZeroValue() bool { return o.v.IsEmpty() }

// Iterator implements traits.Iterable: it visits the names of the members.
func (o *object) Iterator() traits.Iterator {
	if o.names != nil {
		return &iterator{of: o, values: o.names}
	}
	for name := range o.v.Members() {
		if o.t.Kind == Object {
			f := o.t.field(name)
			if f == nil || f.escaped == "" {
				continue
			}
			name = f.escaped
		}
		o.names = append(o.names, types.String(name))
	}
	return &iterator{of: o, values: o.names}
}

// Equal implements ref.Val.
func (o *object) Equal(other ref.Val) ref.Val {
	with, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if o.Size() != with.Size() {
		return types.False
	}
	tree, isTree := other.(*object)
	if isTree && document.Same(o.v, tree.v) {
		return types.True
	}
	for name, v := range o.v.Members() {
		t, known := o.typeOf(name)
		if isTree {
			if eq := equalMembers(o, tree, name, t, known); eq != types.True {
				return eq
			}
			continue
		}
		if !known {
			return types.MaybeNoSuchOverloadErr(other)
		}
		if o.t.Kind == Object {
			if v.IsNull() {
				continue
			}
			name = o.t.field(name).escaped
		}
		theirs, found := with.Find(types.String(name))
		if !found {
			return types.False
		}
		if eq := valueOf(v, t).Equal(theirs); eq != types.True {
			return eq
		}
	}
	return types.True
}

// equalMembers compares a member of two trees.
func equalMembers(a, b *object, name string, t *Type, known bool) ref.Val {
	x, y := a.v.Get(name), b.v.Get(name)
	if !known {
		return types.Bool(y.Exists() && document.Equal(x, y))
	}
	if x.IsNull() || !y.Exists() || y.IsNull() {
		return types.Bool(x.IsNull() && (y.IsNull() || !y.Exists() && a.t.Kind == Object))
	}
	theirs, known := b.typeOf(name)
	if !known {
		return types.False
	}
	return a.child(name, x, t).Equal(b.child(name, y, theirs))
}

// Type implements ref.Val.
func (o *object) Type() ref.Type { return types.MapType }

// Value implements ref.Val: the view itself, which fields are taken from.
func (o *object) Value() any { return o }

// ConvertToType implements ref.Val.
func (o *object) ConvertToType(to ref.Type) ref.Val { return convertTo(o, types.MapType, to) }

// ConvertToNative implements ref.Val.
func (o *object) ConvertToNative(to reflect.Type) (any, error) {
	if to.Kind() != reflect.Map {
		return nil, fmt.Errorf("type conversion error from 'map' to '%v'", to)
	}
	m := reflect.MakeMap(to)
	for it := o.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		k, err := key.ConvertToNative(to.Key())
		if err != nil {
			return nil, err
		}
		v, err := o.Get(key).ConvertToNative(to.Elem())
		if err != nil {
			return nil, err
		}
		m.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(v))
	}
	return m.Interface(), nil
}

// convertTo converts a value of a type to another: to itself, or its type.
func convertTo(v ref.Val, is *types.Type, to ref.Type) ref.Val {
	switch to {
	case ref.Type(is):
		return v
	case ref.Type(types.TypeType):
		return is
	}
	return types.NewErr("type conversion error from '%s' to '%s'", is.TypeName(), to.TypeName())
}

// opaque is a value without a declared type: it can only be compared, as a part of others.
type opaque struct{ v document.Value }

// Equal implements ref.Val.
func (o opaque) Equal(other ref.Val) ref.Val {
	with, ok := other.(opaque)
	return types.Bool(ok && document.Equal(o.v, with.v))
}

// Type implements ref.Val.
func (o opaque) Type() ref.Type { return types.UnknownType }

// Value implements ref.Val.
func (o opaque) Value() any { return o }

// ConvertToType implements ref.Val.
func (o opaque) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("type conversion to '%s' not supported for values without a schema", to.TypeName())
}

// ConvertToNative implements ref.Val.
func (o opaque) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion to '%v' not supported for values without a schema", to)
}
