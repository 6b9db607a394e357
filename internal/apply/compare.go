package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Indices of the sets of a change.
const (
	added = iota
	modified
	removed
	kinds
)

// change is the difference of two values as sets.
type change struct {
	self  [kinds]bool
	below [kinds][]node
	vague bool // see difference
}

// add adds the change of a child to that of its parent.
func (c *change) add(step Step, child *change) {
	c.vague = c.vague || child.vague
	for i := range kinds {
		if child.self[i] || len(child.below[i]) > 0 {
			c.below[i] = append(c.below[i], node{step, child.self[i], sortNodes(child.below[i])})
		}
	}
}

// difference is the change of a write. A vague one has a list whose elements are
// indistinguishable: two have the same keys before 1.29, or one lacks a key.
type difference struct {
	added, modified, removed Set
	vague                    bool
}

// changed is the set of modified and added fields.
func (d difference) changed() Set { return d.modified.Union(d.added) }

func (d difference) empty() bool {
	return d.added.Empty() && d.modified.Empty() && d.removed.Empty()
}

// without leaves out the fields that this endpoint does not write.
func (d difference) without(reset Set) difference {
	return difference{d.added.Without(reset), d.modified.Without(reset), d.removed.Without(reset), d.vague}
}

// compare finds the difference from l to r. An absent l stands for a new object: one with
// only the fields that are always written, with their zero values.
func (g grammar) compare(typ schema.Ref, l, r document.Value) difference {
	var c change
	g.compareValues(typ, l, r, !l.Exists(), &c)
	return difference{sortNodes(c.below[added]), sortNodes(c.below[modified]), sortNodes(c.below[removed]), c.vague}
}

// compareValues compares two values, one of which may be absent. With zero, l is the zero
// value of its type.
func (g grammar) compareValues(typ schema.Ref, l, r document.Value, zero bool, c *change) {
	noLeft, noRight := !l.Exists() && !zero, !r.Exists()
	if noLeft && noRight || document.Same(l, r) {
		return
	}
	here := g.shapeOf(typ, r)
	if noRight {
		here = g.shapeOf(typ, l)
	}
	if g.typeOf(typ) == nil && !noLeft && !noRight && !zero && g.shapeOf(typ, l) != here {
		g.compareKinds(l, r, c)
		return
	}
	leaf := here == scalar || here == atomic
	if !leaf {
		leaf = !filled(r) && !filled(l) && !(zero && g.zeroFilled(typ))
	}
	if leaf {
		c.vague = c.vague || here == atomic && g.vagueBelow(typ, r)
		switch {
		case noLeft:
			c.self[added] = true
		case noRight:
			c.self[removed] = true
		case zero && !g.isZero(typ, r), !zero && (r.SentEmpty() || !equal(l, r)):
			c.self[modified] = true
		}
		return
	}
	if here == keyed {
		g.compareItems(typ, l, r, c)
	} else {
		g.compareMembers(typ, l, r, zero, c)
	}
	c.self[added] = c.self[added] || noLeft
	c.self[removed] = c.self[removed] || noRight
}

// vagueBelow reports whether an atomic value has a list whose elements are
// indistinguishable, see difference.
func (g grammar) vagueBelow(typ schema.Ref, v document.Value) bool {
	switch {
	case g.typeOf(typ) == nil || !filled(v):
		return false
	case v.Kind() == document.Object:
		for name, m := range v.Members() {
			if below, _, ok := g.member(typ, name); ok && g.vagueBelow(below, m) {
				return true
			}
		}
		return false
	case g.shapeOf(typ, v) == keyed:
		items := g.items(typ, v)
		by := indexItems(items)
		var space [few]int
		for i := range items {
			if items[i].keyless || !g.repeats && by.all(items[i].step, space[:0])[0] != i {
				return true
			}
		}
	}
	elem := g.elem(typ)
	for _, m := range v.Elements() {
		switch {
		case m.Kind() < document.Array: // like all other elements
			return false
		case g.vagueBelow(elem, m):
			return true
		}
	}
	return false
}

// filled reports whether a value is a non-empty object or array.
func filled(v document.Value) bool {
	return !v.IsEmpty()
}

// compareKinds compares two values without a type that are of different kinds.
func (g grammar) compareKinds(l, r document.Value, c *change) {
	if filled(l) && l.Kind() == document.Object {
		g.compareMembers(schema.None, l, document.Value{}, false, c)
	} else if !l.IsNull() || !filled(r) || r.Kind() != document.Object {
		c.self[modified] = true
	}
	if filled(r) && r.Kind() == document.Object {
		g.compareMembers(schema.None, document.Value{}, r, false, c)
	} else if !r.IsNull() || !filled(l) || l.Kind() != document.Object {
		c.self[modified] = true
	}
}

func (g grammar) compareMembers(typ schema.Ref, l, r document.Value, zero bool, c *change) {
	t := g.typeOf(typ)
	if t != nil && t.Kind == schema.Object && !t.Open && len(t.Fields) <= manyFields && readAs(typ, l) && readAs(typ, r) {
		g.compareFields(t, l, r, zero, c)
		return
	}
	var child change // one for all members: it is on the heap
	members(t, l, r, func(name string, x, y document.Value) {
		below, field, ok := g.member(typ, name)
		if !ok {
			return
		}
		always := zero && field && t.Fields[t.Field(name)].Presence == schema.Always
		child = change{}
		g.compareValues(below, x, y, always, &child)
		c.add(Step{StepField, name}, &child)
	})
}

// manyFields is above the number of fields of any usual type.
const manyFields = 64

// readAs reports whether the value's own document has it as a value of that type too, so
// that the indices of its members are those of the type's fields.
func readAs(typ schema.Ref, v document.Value) bool {
	_, own := v.Type()
	return own == typ || !v.Exists()
}

// compareFields is compareMembers for objects whose members are known by their index, so
// that none has to be searched.
func (g grammar) compareFields(t *schema.Type, l, r document.Value, zero bool, c *change) {
	var left, right [manyFields]document.Value
	for _, m := range l.Members() {
		if i := m.Field(); i >= 0 {
			left[i] = m
		}
	}
	for _, m := range r.Members() {
		if i := m.Field(); i >= 0 {
			right[i] = m
		}
	}
	var child change // one for all fields: it is on the heap
	for i := range t.Fields {
		if !left[i].Exists() && !right[i].Exists() {
			continue
		}
		f := &t.Fields[i]
		if zero && f.Null && right[i].IsNull() {
			continue // in the empty object too
		}
		child = change{}
		g.compareValues(f.Type, left[i], right[i], zero && f.Presence == schema.Always, &child)
		c.add(Step{StepField, f.Name}, &child)
	}
}

func (g grammar) compareItems(typ schema.Ref, l, r document.Value, c *change) {
	left, right := indexItems(g.items(typ, l)), indexItems(g.items(typ, r))
	elem := g.elem(typ)
	var spaceL, spaceR [few]int
	pair := func(step Step, ls, rs []int) {
		c.vague = c.vague || !g.repeats && (len(ls) > 1 || len(rs) > 1) || left.keyless(ls) || right.keyless(rs)
		var child change
		switch {
		case len(ls) <= 1 && len(rs) <= 1:
			g.compareValues(elem, left.first(ls), right.first(rs), false, &child)
		case len(ls) > 1 && len(rs) > 1:
			child.self[modified] = !equalItems(&left, &right, ls, rs)
		case len(ls) > 1:
			g.compareValues(elem, document.Value{}, right.first(rs), false, &child)
			child.self[removed] = true
		default:
			g.compareValues(elem, left.first(ls), document.Value{}, false, &child)
			child.self[added] = true
		}
		c.add(step, &child)
	}
	for i := range left.items {
		step := left.items[i].step
		if ls := left.all(step, spaceL[:0]); ls[0] == i {
			pair(step, ls, right.all(step, spaceR[:0]))
		}
	}
	for i := range right.items {
		step := right.items[i].step
		if rs := right.all(step, spaceR[:0]); rs[0] == i && len(left.all(step, spaceL[:0])) == 0 {
			pair(step, nil, rs)
		}
	}
}

// first is the first of some elements, or absent.
func (x *index) first(places []int) document.Value {
	if len(places) == 0 {
		return document.Value{}
	}
	return x.items[places[0]].value
}

// keyless reports whether an element lacks all keys.
func (x *index) keyless(places []int) bool {
	return len(places) > 0 && x.items[places[0]].keyless
}

func equalItems(l, r *index, ls, rs []int) bool {
	if len(ls) != len(rs) {
		return false
	}
	for i := range ls {
		if !equal(l.items[ls[i]].value, r.items[rs[i]].value) {
			return false
		}
	}
	return true
}

// zeroFilled reports whether the zero value of a type has fields.
func (g grammar) zeroFilled(typ schema.Ref) bool {
	if t := g.typeOf(typ); t != nil && t.Kind == schema.Object {
		for i := range t.Fields {
			if t.Fields[i].Presence == schema.Always {
				return true
			}
		}
	}
	return false
}

// isZero reports whether a value is the zero value that a field that is always written
// has when it was not sent.
func (g grammar) isZero(typ schema.Ref, v document.Value) bool {
	t := g.typeOf(typ)
	switch v.Kind() {
	case document.Null:
		return (t == nil || t.Kind != schema.Object) && !v.SentEmpty()
	case document.String:
		return v.Equals("") || t != nil && (t.Kind == schema.Quantity && v.Equals("0") || t.Kind == schema.Duration && v.Equals("0s"))
	case document.Number:
		f, ok := v.Float()
		return ok && f == 0
	case document.Bool:
		return !v.Bool()
	case document.Object:
		if t == nil || t.Kind != schema.Object {
			return false
		}
		for name, m := range v.Members() {
			i := t.Field(name)
			if i < 0 || t.Fields[i].Presence != schema.Always || !g.isZero(t.Fields[i].Type, m) {
				return false
			}
		}
		return true
	}
	return false
}
