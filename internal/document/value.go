package document

import (
	"iter"
	"strconv"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Value is a cursor into a Document. The zero Value is absent. Getters are safe on every
// value; on an absent one, or one of another kind, they return an absent value or zero.
type Value struct {
	d *Document
	n int32
}

// absent is the node of absent values. It is never written.
var absent = node{typ: schema.None, field: noField}

func (v Value) node() *node {
	if v.d == nil || uint(v.n) >= uint(len(v.d.nodes)) {
		return &absent
	}
	return &v.d.nodes[v.n]
}

// Kind is the JSON kind of the value.
func (v Value) Kind() Kind { return v.node().kind }

// Exists reports whether the value is present, including null.
func (v Value) Exists() bool { return v.Kind() != Absent }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Kind() == Null }

// Type is the value's type and the table it is in: nil and schema.None for
// untyped values.
func (v Value) Type() (*schema.Table, schema.Ref) {
	n := v.node()
	if n.typ < 0 {
		return nil, schema.None
	}
	return v.d.table, n.typ
}

// Path is the path of the value from the document's root, as in causes:
// "spec.containers[0].name", "data[key]".
func (v Value) Path() string {
	if !v.Exists() {
		return ""
	}
	return string(v.d.appendPath(nil, v.n, true))
}

// Get is a member of an object.
func (v Value) Get(name string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	if m := v.d.find(v.n, name); m != 0 {
		return Value{v.d, m}
	}
	return Value{}
}

// find returns the member of that name, 0 for none.
func (d *Document) find(p int32, name string) int32 {
	t := d.objectType(p)
	if t == nil {
		return d.findKey(p, name)
	}
	i, c := t.Field(name), d.children(p)
	if i < 0 || d.odd {
		return d.findNamed(p, i, name)
	}
	field := uint16(i)
	if c == 0 || d.nodes[d.nodes[p].last].field < field {
		return 0
	}
	for d.nodes[c].field < field { // it ends at the last one
		c = d.nodes[c].next
	}
	if d.nodes[c].field > field {
		return 0
	}
	return c
}

// findNamed is find for an object whose document has odd set.
func (d *Document) findNamed(p int32, i int, name string) int32 {
	for c := d.children(p); c != 0; c = d.nodes[c].next {
		if m := &d.nodes[c]; m.field != noField && int(m.field) == i || m.field == noField && d.keyIs(m, name) {
			return c
		}
	}
	return 0
}

// At is Get for each step of a path.
func (v Value) At(path ...string) Value {
	for _, name := range path {
		v = v.Get(name)
	}
	return v
}

// Index is element i of an array. The element after the last one asked for is found
// quickly.
func (v Value) Index(i int) Value {
	if v.Kind() != Array || i < 0 {
		return Value{}
	}
	at := listPosition{v.d.children(v.n), 0}
	near := v.d.near(v.n)
	if near.node != 0 && v.d.nodes[near.node].parent == v.n && int(near.index) <= i {
		at = *near
	}
	for at.node != 0 && int(at.index) < i {
		at = listPosition{v.d.nodes[at.node].next, at.index + 1}
	}
	if at.node == 0 {
		return Value{}
	}
	*near = at
	return Value{v.d, at.node}
}

// Len is the number of elements or members.
func (v Value) Len() int {
	if v.Kind() < Array {
		return 0
	}
	count := 0
	for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
		count++
	}
	return count
}

// Elements visits an array. The loop may change or remove the current element.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array {
			return
		}
		i := 0
		for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
			if !yield(i, Value{v.d, c}) {
				return
			}
			i++
		}
	}
}

// Members visits an object in canonical order. The loop may change or remove the current
// member.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
			if !yield(v.d.name(c), Value{v.d, c}) {
				return
			}
		}
	}
}

// MembersOf is Members for an object that is read as one of a type, nil for none: the names
// of its fields are those of the table, and not copied.
func (v Value) MembersOf(t *schema.Type) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
			if !yield(v.d.nameOf(c, t), Value{v.d, c}) {
				return
			}
		}
	}
}

// RawMembers is Members with the names as they are spelled between their quotes.
func (v Value) RawMembers() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
			if !yield(v.d.rawName(c), Value{v.d, c}) {
				return
			}
		}
	}
}

// inside is a string's text without quotes and with its escapes.
func (v Value) inside() (raw []byte, hasEscapes bool) {
	n := v.node()
	if n.kind != String {
		return nil, false
	}
	return v.d.text(n.off+1, n.size-2), n.flags&escaped != 0
}

// Text is a string.
func (v Value) Text() string {
	raw, hasEscapes := v.inside()
	if hasEscapes {
		return string(AppendUnescaped(make([]byte, 0, len(raw)), raw))
	}
	return string(raw)
}

// TextSize is the length of a string in bytes.
func (v Value) TextSize() int {
	raw, hasEscapes := v.inside()
	if hasEscapes {
		return len(AppendUnescaped(make([]byte, 0, len(raw)), raw))
	}
	return len(raw)
}

// Texts are the strings of a list, nil for an empty one.
func (v Value) Texts() []string {
	if v.Len() == 0 {
		return nil
	}
	all := make([]string, 0, v.Len())
	for _, e := range v.Elements() {
		all = append(all, e.Text())
	}
	return all
}

// AppendText appends a string's text.
func (v Value) AppendText(dst []byte) []byte {
	raw, hasEscapes := v.inside()
	if hasEscapes {
		return AppendUnescaped(dst, raw)
	}
	return append(dst, raw...)
}

// Equals reports whether the value is the string s. It does not allocate,
// except for long strings with escapes.
func (v Value) Equals(s string) bool {
	raw, hasEscapes := v.inside()
	if hasEscapes {
		var space [64]byte
		return string(AppendUnescaped(space[:0], raw)) == s
	}
	return string(raw) == s && v.Kind() == String
}

// Int is a number without fraction or exponent that fits 64 bits.
func (v Value) Int() (int64, bool) {
	n := v.node()
	if n.kind != Number {
		return 0, false
	}
	return parseInt(v.d.text(n.off, n.size), 64)
}

// Float is a number.
func (v Value) Float() (float64, bool) {
	n := v.node()
	if n.kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.d.text(n.off, n.size)), 64)
	return f, err == nil
}

// Bool is true for true.
func (v Value) Bool() bool {
	n := v.node()
	return n.kind == Bool && v.d.text(n.off, n.size)[0] == 't'
}

// Field is the index of the member among the fields of its object's type, -1 for a member
// that is not a field and for everything else.
func (v Value) Field() int {
	if f := v.node().field; f != noField {
		return int(f)
	}
	return -1
}

// SentEmpty reports whether a null stands for an empty list that was sent: it is stored
// as nothing, but its sender owns it.
func (v Value) SentEmpty() bool { return v.node().flags&emptied != 0 }

// Assumed reports whether the value was made by Assume.
func (v Value) Assumed() bool { return v.node().flags&assumed != 0 }

// IsEmpty reports whether the value has no members and no elements.
func (v Value) IsEmpty() bool {
	return v.Kind() < Array || v.d.childless(v.n)
}

// IsNothing reports whether a value is empty: absent, null, "", [] or {}.
func (v Value) IsNothing() bool {
	switch v.Kind() {
	case Absent, Null:
		return true
	case String:
		return v.Equals("")
	case Array, Object:
		return v.IsEmpty()
	}
	return false
}
