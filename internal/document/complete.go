package document

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// zeroIsNull reports whether the zero value of a kind is written as null.
func zeroIsNull(k schema.Kind) bool {
	switch k {
	case schema.List, schema.Map, schema.Time, schema.MicroTime, schema.Any:
		return true
	}
	return false
}

// absentIsNull reports whether a field that is always written is null if it was not sent.
// Bytes differ in a map, where null stands for no bytes.
func absentIsNull(k schema.Kind) bool { return k == schema.Bytes || zeroIsNull(k) }

// complete finishes an object whose members have been read: it adds defaults for absent
// members, zero values for members that are always written, drops zero values that mean
// nothing, and runs the type's default hook.
func (p *parser) complete(n int32, t *schema.Type) error {
	d := p.d
	prev, c := int32(0), d.nodes[n].first
	for _, i := range t.Fills {
		prev, c = p.settle(t, prev, c, i)
		f := &t.Fields[i]
		hasDefault := p.fill && f.Default != "" && (f.More == nil || f.More.When == "" || p.d.conditionHolds(n, t, f.More))
		if prev != 0 && d.nodes[prev].field == i || !hasDefault && f.Presence != schema.Always && !f.Null {
			continue
		}
		d.dirt++
		if err := p.fillIn(f.Name, f.Default); err != nil {
			return err
		}
		m, err := p.node(n, f.Type, i)
		if err != nil {
			return err
		}
		d.linkAfter(prev, m)
		prev = m
		if !hasDefault {
			d.nodes[m].flags |= filled
		}
		switch {
		case hasDefault:
			err = p.defaultValue(m, f)
		case f.Null || absentIsNull(p.table.Types[f.Type].Kind):
			d.setScalar(m, Null, constNull)
		default:
			err = p.zeroValue(m, f.Type)
		}
		if err != nil {
			return err
		}
	}
	p.settle(t, prev, c, noField-1)
	if h := int(t.Hook); h > 0 && h <= len(p.defaults) && p.defaults[h-1] != nil {
		before := d.dirt
		p.defaults[h-1](Value{d, n})
		if d.dirt != before {
			d.dropZeros(n, t)
		}
	}
	return nil
}

// settle removes the members without a value, from c, which follows prev, up to the field
// last. It returns prev and c for the rest.
func (p *parser) settle(t *schema.Type, prev, c int32, last uint16) (int32, int32) {
	d := p.d
	for c != 0 && d.nodes[c].field <= last {
		f, next := &t.Fields[d.nodes[c].field], d.nodes[c].next
		if d.dropped(c, f.Presence, p.fill && f.Default != "") {
			d.dirt++
			d.unlink(prev, c)
		} else {
			p.emptyList(c, f)
			prev = c
		}
		c = next
	}
	return prev, c
}

// emptyList makes an empty list of a field that is always written null, as the stored
// form of 1.25 has it.
func (p *parser) emptyList(n int32, f *schema.Field) {
	if f.Presence == schema.Always && p.table.Types[f.Type].Kind == schema.List && p.d.nodes[n].kind == Array && p.d.childless(n) {
		p.d.dirt++
		p.d.setScalar(n, Null, constNull)
		p.d.nodes[n].flags |= emptied
	}
}

// dropped reports whether the value of a member counts as none.
func (d *Document) dropped(n int32, presence schema.Presence, hasDefault bool) bool {
	switch presence {
	case schema.Sent:
		return false
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
		return d.childless(n)
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

// conditionHolds reports whether an object meets the condition for the default of a
// field, in a member before that field.
func (d *Document) conditionHolds(n int32, t *schema.Type, need *schema.More) bool {
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		if f := d.nodes[c].field; f != noField && t.Fields[f].Name == need.When {
			return slices.ContainsFunc(need.WhenIs, Value{d, c}.Equals)
		}
	}
	return false
}

// defaultValue makes n the default of its field.
func (p *parser) defaultValue(n int32, f *schema.Field) error {
	if f.Default == "{}" && p.table.Types[f.Type].Kind == schema.Object {
		return p.zeroValue(n, f.Type)
	}
	return p.inside(f.Default, func(q *parser) error { return q.value(n, f.Type) })
}

// fillIn counts a member that is filled in, before it is. All of them together, names
// included, are bounded like the document, which may have one for each of its bytes.
func (p *parser) fillIn(name, text string) error {
	if p.d.filled += len(name) + len(text) + len(`"":,`); p.d.filled > p.limits.MaxBytes {
		return &LimitError{FilledBytes, p.limits.MaxBytes}
	}
	return nil
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
