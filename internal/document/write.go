package document

import "bytes"

// AppendJSON appends the value's canonical JSON: nothing for an absent value. Parts that
// were canonical when they were read and have not changed since are copied as they are.
func (v Value) AppendJSON(dst []byte) []byte {
	if !v.Exists() {
		return dst
	}
	if cap(dst) == 0 && v.n == 1 { // the text of the whole is about as long as what it is made of
		dst = make([]byte, 0, len(v.d.src)+len(v.d.side))
	}
	return v.d.appendJSON(dst, v.n)
}

// Unchanged is the canonical text that an object or array was read from, which belongs to
// the document; nil for one that was changed since, and for other values.
func (v Value) Unchanged() []byte {
	if nd := v.node(); nd.kind >= Array && nd.flags&clean != 0 {
		return v.d.text(nd.off, nd.size)
	}
	return nil
}

func (d *Document) appendJSON(dst []byte, n int32) []byte {
	nd := &d.nodes[n]
	switch {
	case nd.kind < Array || nd.flags&clean != 0:
		return append(dst, d.text(nd.off, nd.size)...)
	case nd.kind == Array:
		dst = append(dst, '[')
		for c := nd.first; c != 0; c = d.nodes[c].next {
			if c != nd.first {
				dst = append(dst, ',')
			}
			dst = d.appendJSON(dst, c)
		}
		return append(dst, ']')
	}
	t := d.objectType(n)
	dst = append(dst, '{')
	for c := nd.first; c != 0; c = d.nodes[c].next {
		if c != nd.first {
			dst = append(dst, ',')
		}
		if m := &d.nodes[c]; m.field != noField {
			dst = AppendQuoted(dst, t.Fields[m.field].Name)
		} else {
			dst = append(dst, '"')
			dst = append(dst, d.rawKey(m)...)
			dst = append(dst, '"')
		}
		dst = append(dst, ':')
		dst = d.appendJSON(dst, c)
	}
	return append(dst, '}')
}

// trusted is the flag stored for a container whose text is unchanged from the store, else
// 0.
func (d *Document) trusted(n int32) uint8 {
	if flags := d.nodes[n].flags; flags&(stored|clean) == stored|clean {
		return stored
	}
	return 0
}

// Equal reports whether two values have the same canonical text. Absent values equal each
// other. It costs no more than the smaller one.
func Equal(a, b Value) bool {
	x, y := a.node(), b.node()
	if x.kind != y.kind {
		return false
	}
	switch {
	case x.kind == Absent:
		return true
	case x.kind < Array || x.flags&y.flags&clean != 0:
		return bytes.Equal(a.d.text(x.off, x.size), b.d.text(y.off, y.size))
	}
	c, d := a.d.children(a.n), b.d.children(b.n)
	for ; c != 0 && d != 0; c, d = a.d.nodes[c].next, b.d.nodes[d].next {
		if x.kind == Object && !sameName(a.d, c, b.d, d) || !Equal(Value{a.d, c}, Value{b.d, d}) {
			return false
		}
	}
	return c == 0 && d == 0
}

// sameName reports whether two members have the same name.
func sameName(a *Document, m int32, b *Document, n int32) bool {
	x, y := &a.nodes[m], &b.nodes[n]
	if x.field == noField && y.field == noField {
		return bytes.Equal(a.rawKey(x), b.rawKey(y))
	}
	if x.field == y.field && a.table == b.table && a.nodes[x.parent].typ == b.nodes[y.parent].typ {
		return true
	}
	return a.name(m) == b.name(n)
}
