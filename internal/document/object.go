package document

import "github.com/capstan-dev/capstan/internal/schema"

// object reads a value of an Object type; pos is at the brace.
func (p *parser) object(n int32, typ schema.Ref) error {
	if err := p.enter(); err != nil {
		return err
	}
	d, t := p.d, &p.table.Types[typ]
	start, dirt := p.pos, d.dirt
	d.nodes[n].kind = Object
	p.pos++
	done := p.next() == '}'
	if done {
		p.pos++
	}
	for hint := (fieldHint{}); !done; {
		off, size, hasEscapes, err := p.key()
		if err != nil {
			return err
		}
		name := d.text(off, size)
		if hasEscapes {
			name = appendUnescaped(nil, name)
		}
		if i := hint.find(t, name); i >= 0 {
			err = p.member(n, t, i)
		} else {
			p.unknown(n, name)
			d.dirt++
			err = p.skip()
		}
		if err != nil {
			return err
		}
		if done, err = p.comma('}'); err != nil {
			return err
		}
	}
	if err := p.complete(n, t); err != nil {
		return err
	}
	p.finish(n, start, dirt)
	p.leave()
	return nil
}

// finish notes the text of a container if it is canonical: nothing counted as
// dirt since its beginning.
func (p *parser) finish(n int32, start int, dirt uint32) {
	if p.d.dirt == dirt {
		nd := &p.d.nodes[n]
		nd.off, nd.size = uint32(start)|p.bit, uint32(p.pos-start)
		nd.flags |= clean
	}
}

// fieldHint is where the next member of an object is likely to be found: most
// senders write in schema order or in order of names.
type fieldHint struct {
	field int  // index in Type.Fields
	name  int  // index in Type.Sorted
	named bool // the last one was found by name
}

// nearby is how many fields are tried from the hint on before searching.
const nearby = 6

// find returns the index of the field with that name, or -1.
func (h *fieldHint) find(t *schema.Type, name []byte) int {
	if h.named {
		for i := h.name; i < len(t.Sorted) && i < h.name+nearby; i++ {
			if f := int(t.Sorted[i]); t.Fields[f].Name == string(name) {
				h.name, h.field = i+1, f+1
				return f
			}
		}
	}
	for i := h.field; i < len(t.Fields) && i < h.field+nearby; i++ {
		if t.Fields[i].Name == string(name) {
			h.field, h.named = i+1, false
			return i
		}
	}
	lo, hi := 0, len(t.Sorted)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.Fields[t.Sorted[mid]].Name < string(name) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.Sorted) {
		if i := int(t.Sorted[lo]); t.Fields[i].Name == string(name) {
			h.name, h.field, h.named = lo+1, i+1, true
			return i
		}
	}
	return -1
}

// unknown notes a member that the type does not have.
func (p *parser) unknown(n int32, name []byte) {
	if len(p.problems) < maxProblems {
		path := appendStep(p.d.appendPath(nil, n, false), string(name))
		p.problems = addProblem(p.problems, Problem{Path: string(path)})
	}
}

// duplicate notes a member that was there before.
func (p *parser) duplicate(m int32) {
	p.d.dirt++
	if len(p.problems) < maxProblems {
		path := p.d.appendPath(nil, m, false)
		p.problems = addProblem(p.problems, Problem{Duplicate: true, Path: string(path)})
	}
}

// member reads the value of a field. Null is the same as no value, except that
// it is the written form of some fields that are always written.
func (p *parser) member(n int32, t *schema.Type, i int) error {
	d, f := p.d, &t.Fields[i]
	null := p.isNull()
	if null && (f.Presence != schema.Always || f.Default != "" || !zeroIsNull(p.table.Types[f.Type].Kind)) {
		d.dirt++
		for prev, c := int32(0), d.nodes[n].first; c != 0; prev, c = c, d.nodes[c].next {
			if int(d.nodes[c].field) == i {
				p.duplicate(c)
				d.unlink(prev, c)
				break
			}
		}
		return nil
	}
	m, err := p.node(n, f.Type, uint16(i))
	if err != nil {
		return err
	}
	if last := d.nodes[n].last; last == 0 || int(d.nodes[last].field) < i {
		d.link(m)
	} else {
		d.dirt++
		if d.insert(m) {
			p.duplicate(m)
		}
	}
	if null {
		nd := &d.nodes[m]
		nd.kind, nd.off, nd.size = Null, uint32(p.pos-4)|p.bit, 4
		return nil
	}
	return p.value(m, f.Type)
}

// zeroIsNull reports whether the zero value of a kind is written as null.
func zeroIsNull(k schema.Kind) bool {
	switch k {
	case schema.List, schema.Map, schema.Time, schema.MicroTime, schema.Any:
		return true
	}
	return false
}

// complete makes an object whose members have been read what it must be:
// defaults for what is absent, zero values for what is always written, no zero
// values that mean nothing; then the type's default hook.
func (p *parser) complete(n int32, t *schema.Type) error {
	d := p.d
	prev, c := int32(0), d.nodes[n].first
	for i := range t.Fields {
		f := &t.Fields[i]
		hasDefault := p.fill && f.Default != ""
		if c != 0 && int(d.nodes[c].field) == i {
			if !d.dropped(c, f.Presence, hasDefault) {
				prev, c = c, d.nodes[c].next
				continue
			}
			d.dirt++
			next := d.nodes[c].next
			d.unlink(prev, c)
			c = next
		}
		if !hasDefault && f.Presence != schema.Always {
			continue
		}
		d.dirt++
		m, err := p.node(n, f.Type, uint16(i))
		if err != nil {
			return err
		}
		d.linkAfter(prev, m)
		prev = m
		d.nodes[m].flags |= filled
		if hasDefault {
			err = p.defaultValue(m, f)
		} else {
			err = p.zeroValue(m, f.Type)
		}
		if err != nil {
			return err
		}
	}
	if h := int(t.Hook); h > 0 && h <= len(p.defaults) && p.defaults[h-1] != nil {
		before := d.dirt
		p.defaults[h-1](Value{d, n})
		if d.dirt != before {
			d.dropZeros(n, t)
		}
	}
	return nil
}

// dropped reports whether the value of a member counts as none.
func (d *Document) dropped(n int32, presence schema.Presence, hasDefault bool) bool {
	switch presence {
	case schema.Explicit:
		return d.nodes[n].kind == Null
	case schema.Always:
		return hasDefault && d.isZero(n)
	}
	return d.isZero(n)
}

// isZero reports whether a member has the zero value of its type.
func (d *Document) isZero(n int32) bool {
	nd := &d.nodes[n]
	switch nd.kind {
	case Null:
		return true
	case Bool:
		return nd.size == 5
	case Array, Object:
		return nd.first == 0
	case Number:
		return nd.size == 1 && d.text(nd.off, 1)[0] == '0'
	case String:
		if nd.size == 2 {
			return true
		}
		if nd.typ >= 0 && nd.size <= 4 {
			text := string(d.text(nd.off, nd.size))
			switch d.table.Types[nd.typ].Kind {
			case schema.Quantity:
				return text == `"0"`
			case schema.Duration:
				return text == `"0s"`
			}
		}
	}
	return false
}

// dropZeros removes the members whose zero value means nothing.
func (d *Document) dropZeros(n int32, t *schema.Type) {
	prev := int32(0)
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		if f := d.nodes[c].field; f != noField && t.Fields[f].Presence == schema.Implicit && d.isZero(c) {
			d.unlink(prev, c)
			continue
		}
		prev = c
	}
}

// zeroValue makes n the zero value of its type. An object gets what a sent {}
// would get.
func (p *parser) zeroValue(n int32, typ schema.Ref) error {
	nd := &p.d.nodes[n]
	text := constNull
	switch t := &p.table.Types[typ]; t.Kind {
	case schema.Object:
		nd.kind = Object
		if err := p.enter(); err != nil {
			return err
		}
		if err := p.complete(n, t); err != nil {
			return err
		}
		p.leave()
		return nil
	case schema.String, schema.Bytes:
		nd.kind, text = String, constEmpty
	case schema.Boolean:
		nd.kind, text = Bool, constFalse
	case schema.Integer, schema.Number, schema.IntOrString:
		nd.kind, text = Number, constZero
	case schema.Quantity:
		nd.kind, text = String, constQuantity
	case schema.Duration:
		nd.kind, text = String, constDuration
	default:
		nd.kind = Null
	}
	nd.off, nd.size = text.off, text.size
	return nil
}

// defaultValue makes n the default of its field.
func (p *parser) defaultValue(n int32, f *schema.Field) error {
	if f.Default == "{}" && p.table.Types[f.Type].Kind == schema.Object {
		return p.zeroValue(n, f.Type)
	}
	return p.inside(f.Default, func(q *parser) error { return q.value(n, f.Type) })
}

// inside runs a part of the walk on other text, which it copies.
func (p *parser) inside(text string, walk func(*parser) error) error {
	d := p.d
	q := *p
	q.pos, q.bit = len(d.side), sideBit
	d.side = append(d.side, text...)
	q.buf = d.side[:len(d.side):len(d.side)]
	err := walk(&q)
	p.problems = q.problems
	return err
}
