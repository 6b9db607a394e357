package document

import "github.com/capstan-dev/capstan/internal/schema"

// elem is the type of an array's elements.
func (v Value) elem() schema.Ref {
	if t, r := v.Type(); r >= 0 && t.Types[r].Kind == schema.List {
		return t.Types[r].Elem
	}
	return schema.None
}

// add links a new, still absent element; 0 if v is not an array.
func (v Value) add() int32 {
	if v.Kind() != Array {
		return 0
	}
	v.d.unfold(v.n)
	m := v.d.newNode(v.n, v.elem(), noField)
	v.d.link(m)
	v.d.touch(v.n)
	return m
}

// slot returns a new member, linked in its canonical position and still absent; 0 if v is
// not an object.
func (v Value) slot(name string) int32 {
	if v.Kind() != Object {
		return 0
	}
	v.d.unfold(v.n)
	m := v.d.newMember(v.n, name)
	v.d.insert(m)
	v.d.touch(v.n)
	return m
}

// newMember adds a node for a member of p that is not linked yet.
func (d *Document) newMember(p int32, name string) int32 {
	typ := schema.None
	if r := d.nodes[p].typ; r >= 0 {
		switch t := &d.table.Types[r]; t.Kind {
		case schema.Object:
			if i := t.Field(name); i >= 0 {
				return d.newNode(p, t.Fields[i].Type, uint16(i))
			}
			d.odd = true
		case schema.Map:
			typ = t.Elem
		}
	}
	m := d.newNode(p, typ, noField)
	d.setKey(m, name)
	return m
}

// before is the sibling in front of m, 0 for none.
func (d *Document) before(m int32) int32 {
	if dir := d.names[d.nodes[m].parent]; dir != nil && dir.near != 0 && d.nodes[dir.near].next == m {
		return dir.near
	}
	prev := int32(0)
	for c := d.nodes[d.nodes[m].parent].first; c != 0 && c != m; c = d.nodes[c].next {
		prev = c
	}
	return prev
}

func (d *Document) setScalar(n int32, kind Kind, text constant) {
	nd := &d.nodes[n]
	nd.kind, nd.off, nd.size = kind, text.off, text.size
}

// setString makes n the string s, in the spelling of its type if s is valid
// there.
func (d *Document) setString(n int32, s string) {
	if r := d.nodes[n].typ; r >= 0 {
		if rule := spellingOf(d.table.Types[r].Kind); rule != nil {
			out, err := rule([]byte(s))
			switch {
			case err == nil && len(out) == 0 && s != "":
				d.setScalar(n, Null, constNull) // the zero time
				return
			case err == nil:
				s = string(out)
			}
		}
	}
	at := len(d.side)
	d.side = AppendQuoted(d.side, s)
	d.setScalar(n, String, constant{uint32(at) | sideBit, uint32(len(d.side) - at)})
	if containsEscape(d.side[at:]) {
		d.nodes[n].flags |= escaped
	}
}

// setObject makes n an object with the fields that are always written.
func (d *Document) setObject(n int32) {
	d.nodes[n].kind = Object
	if d.objectType(n) == nil {
		return
	}
	p := d.parser()
	if p.zeroValue(n, d.nodes[n].typ) != nil {
		// A type that always contains itself has no finite zero value.
		nd := &d.nodes[n]
		nd.first, nd.last = 0, 0
	}
}

// parser makes a parser that adds to an existing document.
func (d *Document) parser() parser {
	limits := Limits{MaxNodes: maxText}.orDefault()
	return parser{d: d, table: d.table, limits: limits}
}

// parseInto reads JSON text into n, which is not linked yet.
func (d *Document) parseInto(n int32, json []byte) error {
	p := d.parser()
	return p.inside(string(json), func(q *parser) error {
		q.next()
		var err error
		if typ := d.nodes[n].typ; !q.untyped(typ) && q.isNull() {
			err = q.zeroValue(n, typ)
		} else {
			err = q.value(n, typ)
		}
		if err != nil {
			return err
		}
		if q.next(); q.pos < len(q.buf) {
			return q.unexpected("nothing after the value")
		}
		return nil
	})
}

// copyInto makes n, which is not linked yet, a copy of a value.
func (d *Document) copyInto(n int32, from Value) {
	typ := d.nodes[n].typ
	fromTable, fromTyp := from.Type()
	off := len(d.side)
	d.side = from.d.appendJSON(d.side, from.n)
	text := d.side[:len(d.side):len(d.side)]
	if typ < 0 || fromTyp == typ && fromTable == d.table || from.IsNull() {
		if from.Kind() >= Array {
			d.fold(n, text[off], uint32(off)|sideBit, uint32(len(text)-off), from.d.trusted(from.n))
			return
		}
		r := reader{d: d, table: d.table, buf: text, pos: off, bit: sideBit}
		r.value(n, typ)
		return
	}
	p := d.parser()
	p.buf, p.pos, p.bit = text, off, sideBit
	if p.value(n, typ) == nil {
		return
	}
	// The type does not allow the value. It is kept without a type, so that validation
	// sees it.
	nd := &d.nodes[n]
	nd.first, nd.last, nd.typ = 0, 0, schema.None
	d.positions = positionCache{}
	nd.flags &= keyEscaped
	r := reader{d: d, table: d.table, buf: text, pos: off, bit: sideBit}
	r.value(n, schema.None)
}
