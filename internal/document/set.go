package document

import "strconv"

// The setters change an object or an array; on other values they have no effect. They
// keep the canonical order and the canonical spelling of the member's type, but they keep
// zero values too: a member that was set stays until Remove. New objects have the fields
// that are always written. Values of a member that is replaced or removed must not be
// used any more.

// SetString sets the member to the string s.
func (v Value) SetString(name, s string) {
	if m := v.slot(name); m != 0 {
		v.d.setString(m, s)
	}
}

// SetInt sets the member to a whole number.
func (v Value) SetInt(name string, n int64) {
	if m := v.slot(name); m != 0 {
		off, size := v.d.addSide(strconv.AppendInt(nil, n, 10))
		v.d.setScalar(m, Number, constant{off, size})
	}
}

// SetBool sets the member to true or false.
func (v Value) SetBool(name string, b bool) {
	if m := v.slot(name); m != 0 {
		text := constFalse
		if b {
			text = constTrue
		}
		v.d.setScalar(m, Bool, text)
	}
}

// SetNull sets the member to null.
func (v Value) SetNull(name string) {
	if m := v.slot(name); m != 0 {
		v.d.setScalar(m, Null, constNull)
	}
}

// SetObject returns the member, which it makes an empty object if it is not an object.
func (v Value) SetObject(name string) Value {
	if old := v.Get(name); old.Kind() == Object {
		return old
	}
	m := v.slot(name)
	if m == 0 {
		return Value{}
	}
	v.d.setObject(m)
	return Value{v.d, m}
}

// SetArray returns the member, which it makes an empty array if it is not an array.
func (v Value) SetArray(name string) Value {
	if old := v.Get(name); old.Kind() == Array {
		return old
	}
	m := v.slot(name)
	if m == 0 {
		return Value{}
	}
	v.d.nodes[m].kind = Array
	return Value{v.d, m}
}

// SetRaw sets the member to the value of JSON text, which is checked and made canonical
// like the body of a request, but gets no defaults. Errors are those of Decoder.Decode;
// then nothing changes.
func (v Value) SetRaw(name string, json []byte) error {
	if v.Kind() != Object {
		return nil
	}
	v.d.unfold(v.n)
	m := v.d.newMember(v.n, name)
	if err := v.d.parseInto(m, json); err != nil {
		return err
	}
	v.d.insert(m)
	v.d.touch(v.n)
	return nil
}

// Put sets the member to a copy of a value of this or another document; an absent value
// removes it. Parts that the member's type does not allow are dropped.
func (v Value) Put(name string, from Value) {
	if !from.Exists() {
		v.Remove(name)
		return
	}
	if v.Kind() != Object {
		return
	}
	v.d.unfold(v.n)
	m := v.d.newMember(v.n, name)
	v.d.copyInto(m, from)
	v.d.insert(m)
	v.d.touch(v.n)
}

// Assume is Put for a default that later rules have to distinguish from a value that was
// sent.
func (v Value) Assume(name string, from Value) {
	v.Put(name, from)
	if m := v.Get(name); m.Kind() >= Array {
		m.node().flags |= assumed
	}
}

// Remove removes a member.
func (v Value) Remove(name string) {
	if v.Kind() != Object {
		return
	}
	m := v.d.find(v.n, name)
	if m == 0 {
		return
	}
	v.d.unlink(v.d.before(m), m)
	v.d.touch(v.n)
}

// AppendString adds the string s to an array.
func (v Value) AppendString(s string) {
	if m := v.add(); m != 0 {
		v.d.setString(m, s)
	}
}

// AppendObject adds an empty object to an array and returns it.
func (v Value) AppendObject() Value {
	m := v.add()
	if m == 0 {
		return Value{}
	}
	v.d.setObject(m)
	return Value{v.d, m}
}

// AppendValue adds a copy of a value of this or another document to an array.
func (v Value) AppendValue(from Value) {
	if v.Kind() != Array || !from.Exists() {
		return
	}
	v.d.unfold(v.n)
	m := v.d.newNode(v.n, v.elem(), noField)
	v.d.copyInto(m, from)
	v.d.link(m)
	v.d.touch(v.n)
}

// RemoveFunc removes the elements for which remove is true.
func (v Value) RemoveFunc(remove func(Value) bool) {
	if v.Kind() != Array {
		return
	}
	prev, removed := int32(0), false
	for c := v.d.children(v.n); c != 0; c = v.d.nodes[c].next {
		if remove(Value{v.d, c}) {
			v.d.unlink(prev, c)
			removed = true
		} else {
			prev = c
		}
	}
	if removed {
		v.d.touch(v.n)
	}
}

// RemoveIndex removes an element.
func (v Value) RemoveIndex(i int) {
	m := v.Index(i)
	if !m.Exists() {
		return
	}
	v.d.unlink(v.d.before(m.n), m.n)
	v.d.touch(v.n)
}
