package document

// HasText reports whether a list holds a string.
func (v Value) HasText(s string) bool {
	for _, e := range v.Elements() {
		if e.Equals(s) {
			return true
		}
	}
	return false
}

// ElementBy returns the first object in a list whose member is a string: the condition
// of a type, the container of a name.
func (v Value) ElementBy(member, s string) Value {
	for _, e := range v.Elements() {
		if e.Get(member).Equals(s) {
			return e
		}
	}
	return Value{}
}

// Fields are the members of an object that are fields of its type, by their index there;
// nil for an object that cannot be indexed so. For many looks at a wide object.
func (v Value) Fields() []Value {
	if v.Kind() != Object {
		return nil
	}
	t := v.d.objectType(v.n)
	if t == nil || v.d.odd {
		return nil
	}
	fields := make([]Value, len(t.Fields))
	for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
		if i := v.d.nodes[c].field; i != noField {
			fields[i] = Value{v.d, c}
		}
	}
	return fields
}
