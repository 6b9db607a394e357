package document

import (
	"bytes"

	"github.com/capstan-dev/capstan/internal/schema"
)

// taken makes n the value at pos if that has the bytes of known, the stored value in the
// same position, and moves past it.
func (p *parser) taken(n int32, typ schema.Ref, known Value) bool {
	nd := known.node()
	if nd.kind < Array || nd.typ != typ || nd.flags&(clean|stored) != clean|stored || known.d.table != p.table {
		return false
	}
	text := known.d.text(nd.off, nd.size)
	if !bytes.HasPrefix(p.buf[p.pos:], text) {
		return false
	}
	p.d.fold(n, text[0], uint32(p.pos)|p.bit, nd.size, stored)
	p.pos += len(text)
	return true
}

// first is the first child, absent for an empty or absent value.
func (v Value) first() Value {
	if v.Kind() < Array {
		return Value{}
	}
	return v.d.valueAt(v.d.children(v.n))
}

// following is the next sibling.
func (v Value) following() Value {
	if v.d == nil {
		return v
	}
	return v.d.valueAt(v.d.nodes[v.n].next)
}

func (d *Document) valueAt(n int32) Value {
	if n == 0 {
		return Value{}
	}
	return Value{d, n}
}

// orLater is the first member of object from v on whose field is i or a later one. If v
// is past that or absent, the search begins at the first member: few senders write in
// another order than the schema's.
func (v Value) orLater(object Value, i int) Value {
	if v.d == nil || int(v.node().field) > i {
		v = object.first()
	}
	for v.d != nil && int(v.node().field) < i {
		v = v.following()
	}
	return v
}

// ofField is v if it is the member of field i, else absent.
func (v Value) ofField(i int) Value {
	if v.d == nil || int(v.node().field) != i {
		return Value{}
	}
	return v
}
