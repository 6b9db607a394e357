package document

// Same reports whether two containers are known to be equal without writing them: both
// have the canonical text that they were read with. It may report false for equal values,
// never true for different ones.
func Same(a, b Value) bool { return sameText(a, b) }

// AsRead reports whether the root is known to have the canonical text that the document
// was read from: all of it, with nothing filled in or dropped.
func (v Value) AsRead() bool {
	nd := v.node()
	return nd.flags&clean != 0 && nd.off == 0 && int(nd.size) == len(v.d.src)
}

// SetStored sets the member to the value of canonical JSON text, as AppendJSON writes it
// for the member's type. Like ReadStored it trusts the text. The error is a *SyntaxError;
// then nothing changes.
func (v Value) SetStored(name string, text []byte) error {
	if v.Kind() != Object {
		return nil
	}
	d := v.d
	d.unfold(v.n)
	m := d.newMember(v.n, name)
	off := len(d.side)
	d.side = append(d.side, text...)
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && containerEnd(text, 0) == len(text) {
		d.fold(m, text[0], uint32(off)|sideBit, uint32(len(text)), 0)
	} else {
		r := reader{d: d, table: d.table, buf: d.side[:len(d.side):len(d.side)], pos: off, bit: sideBit}
		if !r.value(m, d.nodes[m].typ) || r.pos != len(r.buf) {
			return &SyntaxError{max(r.pos-off, 0), "the text is not canonical JSON"}
		}
	}
	d.insert(m)
	d.touch(v.n)
	return nil
}
