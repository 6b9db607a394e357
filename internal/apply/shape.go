package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// grammar defines how values of a table's types are owned.
//
// Values are read by the type of the walk, not by the type in their document: an applied
// configuration is an untyped document.
type grammar struct {
	table   *schema.Table
	repeats bool // elements of a list may have the same keys
}

// shape is the way in which a value is owned.
type shape uint8

const (
	scalar    shape = iota // as a whole
	atomic                 // as a whole, though it has members
	structure              // by its fields
	mapping                // by its keys
	keyed                  // by its elements, which have keys or are unique
)

// typeOf is the type, nil for values of any kind.
func (g grammar) typeOf(typ schema.Ref) *schema.Type {
	if typ < 0 || g.table == nil || int(typ) >= len(g.table.Types) || g.table.Types[typ].Kind == schema.Any {
		return nil
	}
	return &g.table.Types[typ]
}

// opaque reports whether values of a type are any JSON that is bytes in the binary form:
// they are owned as a whole.
func (g grammar) opaque(typ schema.Ref) bool {
	return typ >= 0 && g.table != nil && int(typ) < len(g.table.Types) && g.table.Types[typ].Binary == schema.BinaryRaw
}

// isScalar reports whether all values of a type are scalars.
func (g grammar) isScalar(typ schema.Ref) bool {
	t := g.typeOf(typ)
	return t != nil && t.Kind != schema.Object && t.Kind != schema.Map && t.Kind != schema.List
}

// shapeOf is the shape of a value. Without a type objects are maps, and arrays are owned
// as a whole.
func (g grammar) shapeOf(typ schema.Ref, v document.Value) shape {
	t := g.typeOf(typ)
	if t == nil {
		if g.opaque(typ) {
			return atomic
		}
		switch v.Kind() {
		case document.Object:
			return mapping
		case document.Array:
			return atomic
		}
		return scalar
	}
	switch t.Kind {
	case schema.Object:
		if t.AtomicMap {
			return atomic
		}
		return structure
	case schema.Map:
		if t.AtomicMap {
			return atomic
		}
		return mapping
	case schema.List:
		if t.ListType == schema.ListAtomic {
			return atomic
		}
		return keyed
	}
	return scalar
}

// member returns the type of a member and whether it is a field of its own type rather
// than a key. ok is false for a member that the type does not have.
func (g grammar) member(typ schema.Ref, name string) (member schema.Ref, field, ok bool) {
	t := g.typeOf(typ)
	if t == nil {
		return schema.None, false, true
	}
	switch t.Kind {
	case schema.Object:
		if i := t.Field(name); i >= 0 {
			return t.Fields[i].Type, true, true
		}
		return schema.None, false, t.Open
	case schema.Map:
		return t.Elem, false, true
	}
	return schema.None, false, false
}

// below returns the type that a step leads to.
func (g grammar) below(typ schema.Ref, step Step) schema.Ref {
	switch step.Kind {
	case StepField:
		below, _, _ := g.member(typ, step.Text)
		return below
	case StepKey:
		return g.elem(typ)
	}
	return schema.None
}

// elem returns the type of a list's elements.
func (g grammar) elem(typ schema.Ref) schema.Ref {
	if t := g.typeOf(typ); t != nil && t.Kind == schema.List {
		return t.Elem
	}
	return schema.None
}

// members visits the members of two objects: those of r in its order, then those that
// only l has. t is the type as which they are read, nil for none.
func members(t *schema.Type, l, r document.Value, visit func(name string, x, y document.Value)) {
	if r.Kind() == document.Object {
		find := newFinder(l, r.Len())
		for name, y := range r.MembersOf(t) {
			visit(name, find.get(name), y)
		}
	}
	if l.Kind() == document.Object {
		find := newFinder(r, l.Len())
		for name, x := range l.MembersOf(t) {
			if !find.get(name).Exists() {
				visit(name, x, document.Value{})
			}
		}
	}
}

// finder finds members of an object by name.
type finder struct {
	of document.Value
	by map[string]document.Value // nil where that does not pay
}

// newFinder expects a number of calls of get.
func newFinder(v document.Value, calls int) finder {
	f := finder{of: v}
	if calls > few && v.Len() > few {
		f.by = make(map[string]document.Value, v.Len())
		for name, m := range v.Members() {
			f.by[name] = m
		}
	}
	return f
}

func (f finder) get(name string) document.Value {
	if f.by == nil {
		return f.of.Get(name)
	}
	return f.by[name]
}

// equal compares two values. Unlike in their canonical texts, objects may have their
// members in another order.
func equal(a, b document.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case document.Object:
		if document.Same(a, b) {
			return true
		}
		if a.Len() != b.Len() {
			return false
		}
		find := newFinder(b, a.Len())
		for name, x := range a.Members() {
			if !equal(x, find.get(name)) {
				return false
			}
		}
		return true
	case document.Array:
		if document.Same(a, b) {
			return true
		}
		if a.Len() != b.Len() {
			return false
		}
		others := make([]document.Value, 0, b.Len())
		for _, y := range b.Elements() {
			others = append(others, y)
		}
		for i, x := range a.Elements() {
			if !equal(x, others[i]) {
				return false
			}
		}
		return true
	case document.Number:
		if document.Equal(a, b) {
			return true
		}
		x, _ := a.Float()
		y, _ := b.Float()
		m, whole1 := a.Int()
		n, whole2 := b.Int()
		if whole1 && whole2 {
			return m == n
		}
		return x == y
	case document.String:
		return document.Equal(a, b) || a.Text() == b.Text()
	}
	return document.Equal(a, b)
}
