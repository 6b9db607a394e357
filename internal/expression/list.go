package expression

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// list is the view of a list: of a tree, or of the result of +. Its type decides how it is
// compared and joined: as a set, by the keys of its elements, or in order.
type list struct {
	v     document.Value
	t     *Type
	elems []ref.Val // all of them, once made
	made  bool
}

func (l *list) all() []ref.Val {
	if !l.made {
		elem := l.t.Elem
		if l.t.Kind == Dynamic {
			elem = dynamic
		}
		for _, v := range l.v.Elements() {
			l.elems = append(l.elems, valueOf(v, elem))
		}
		l.made = true
	}
	return l.elems
}

// Get implements traits.Indexer.
func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "unsupported index: %v", index)
	}
	if i < 0 || i >= len(l.all()) {
		return types.NewErr("index out of bounds: %v", index)
	}
	return l.elems[i]
}

// Contains implements traits.Container.
func (l *list) Contains(v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	var failed ref.Val
	for _, e := range l.all() {
		switch eq := e.Equal(v); {
		case eq == types.True:
			return types.True
		case eq != types.False && failed == nil:
			failed = types.MaybeNoSuchOverloadErr(eq)
		}
	}
	if failed != nil {
		return failed
	}
	return types.False
}

// Size implements traits.Sizer.
func (l *list) Size() ref.Val { return types.Int(len(l.all())) }

// IsZeroValue implements traits.Zeroer.
func (l *list) IsZeroValue() bool { return len(l.all()) == 0 }

// Iterator implements traits.Iterable.
func (l *list) Iterator() traits.Iterator { return &iterator{of: l, values: l.all()} }

// Equal implements ref.Val.
func (l *list) Equal(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if with.Size() != l.Size() {
		return types.False
	}
	if tree, ok := other.(*list); ok && !l.made && !tree.made && document.Same(l.v, tree.v) {
		return types.True
	}
	if l.ordered() {
		for i, e := range l.all() {
			if eq := e.Equal(with.Get(types.Int(i))); eq != types.True {
				return eq
			}
		}
		return types.True
	}
	mine := map[string]ref.Val{}
	var key []byte
	for _, e := range l.all() {
		key = l.appendKey(key[:0], e)
		mine[string(key)] = e
	}
	for it := with.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		key = l.appendKey(key[:0], v)
		e, found := mine[string(key)]
		if !found {
			return types.False
		}
		if l.t.ListType == schema.ListMap {
			if eq := e.Equal(v); eq != types.True {
				return eq
			}
		}
	}
	return types.True
}

func (l *list) ordered() bool { return l.t.Kind == Dynamic || l.t.ListType == schema.ListAtomic }

// Add implements traits.Adder: sets are united, elements of keyed lists replaced by those
// with the same keys, and others follow.
func (l *list) Add(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.ordered() {
		return types.NewRefValList(types.DefaultTypeAdapter, l.all()).Add(other)
	}
	sum, places := &list{t: l.t, elems: slices.Clone(l.all()), made: true}, map[string]int{}
	var key []byte
	for i, e := range l.elems {
		key = l.appendKey(key[:0], e)
		places[string(key)] = i
	}
	for it := with.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		key = l.appendKey(key[:0], v)
		if at, found := places[string(key)]; found {
			sum.elems[at] = v
			continue
		}
		places[string(key)] = len(sum.elems)
		sum.elems = append(sum.elems, v)
	}
	return sum
}

// appendKey appends the identity of an element: its keys, or itself.
func (l *list) appendKey(dst []byte, v ref.Val) []byte {
	if l.t.ListType != schema.ListMap {
		return appendValue(dst, v)
	}
	o, ok := v.(*object)
	if !ok {
		return appendValue(dst, v)
	}
	for _, name := range l.t.Keys {
		if m := o.v.Get(name); m.Exists() {
			t, known := o.typeOf(name)
			if !known {
				t = dynamic
			}
			dst = appendValue(append(dst, ':'), o.child(name, m, t))
		} else {
			dst = append(dst, '-')
		}
	}
	return dst
}

// appendValue writes a value so that equal values, and no others, have the same text.
func appendValue(dst []byte, v ref.Val) []byte {
	if o, ok := v.(*object); ok && o.t.Kind == Object {
		return o.v.AppendJSON(dst)
	}
	switch v := v.(type) {
	case types.String:
		return strconv.AppendQuote(dst, string(v))
	case types.Bytes:
		return strconv.AppendQuote(append(dst, 'b'), string(v))
	case types.Double:
		if whole := int64(v); float64(whole) == float64(v) {
			return strconv.AppendInt(dst, whole, 10)
		}
		return strconv.AppendFloat(dst, float64(v), 'g', -1, 64)
	case opaque:
		return v.v.AppendJSON(dst)
	case traits.Lister:
		dst = append(dst, '[')
		for it := v.Iterator(); it.HasNext() == types.True; {
			dst = append(appendValue(dst, it.Next()), ',')
		}
		return append(dst, ']')
	case traits.Mapper:
		var parts []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			parts = append(parts, string(appendValue(append(appendValue(nil, key), ':'), v.Get(key))))
		}
		slices.Sort(parts)
		return fmt.Appendf(dst, "%q", parts)
	}
	return fmt.Appendf(dst, "%v", v.Value())
}

// Type implements ref.Val.
func (l *list) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (l *list) Value() any { return l }

// ConvertToType implements ref.Val.
func (l *list) ConvertToType(to ref.Type) ref.Val { return convertTo(l, types.ListType, to) }

// ConvertToNative implements ref.Val.
func (l *list) ConvertToNative(to reflect.Type) (any, error) {
	if to.Kind() != reflect.Slice {
		return nil, fmt.Errorf("type conversion error from 'list' to '%v'", to)
	}
	s := reflect.MakeSlice(to, 0, len(l.all()))
	for _, e := range l.elems {
		v, err := e.ConvertToNative(to.Elem())
		if err != nil {
			return nil, err
		}
		s = reflect.Append(s, reflect.ValueOf(v))
	}
	return s.Interface(), nil
}

// iterator visits values.
type iterator struct {
	of     ref.Val
	values []ref.Val
	next   int
}

// HasNext implements traits.Iterator.
func (it *iterator) HasNext() ref.Val { return types.Bool(it.next < len(it.values)) }

// Next implements traits.Iterator.
func (it *iterator) Next() ref.Val {
	if it.next >= len(it.values) {
		return types.NewErr("no further values")
	}
	it.next++
	return it.values[it.next-1]
}

// Type implements ref.Val.
func (it *iterator) Type() ref.Type { return types.IteratorType }

// Value implements ref.Val.
func (it *iterator) Value() any { return nil }

// Equal implements ref.Val.
func (it *iterator) Equal(other ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(other) }

// ConvertToType implements ref.Val.
func (it *iterator) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("type conversion error from 'iterator' to '%s'", to.TypeName())
}

// ConvertToNative implements ref.Val.
func (it *iterator) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from 'iterator' to '%v'", to)
}
