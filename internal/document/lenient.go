package document

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/schema"
)

// lenient reads a value of a custom resource. A value of another type than the schema's
// is kept without a type, so that validation sees it.
func (p *parser) lenient(n int32, typ schema.Ref, known Value) error {
	t := &p.table.Types[typ]
	switch c := p.buf[p.pos]; {
	case t.Kind == schema.Object && c == '{':
		return p.object(n, typ, known)
	case t.Kind == schema.Map && c == '{':
		return p.mapping(n, t.Elem)
	case t.Kind == schema.List && c == '[':
		return p.list(n, t.Elem, known)
	}
	if t.Kind == schema.Object && t.Values.Types == 0 && p.buf[p.pos] == '[' { // what a schema allows without a word
		p.d.nodes[n].typ = schema.None
		return p.list(n, typ, Value{})
	}
	if err := p.any(n); err != nil {
		return err
	}
	if t.Kind != schema.Any || t.Values.Types != 0 {
		p.dropMembers(n)
	}
	if nd := &p.d.nodes[n]; !suits(t.Kind, nd.kind) {
		nd.typ = schema.None
	}
	return nil
}

// dropMembers takes the members of an object, or of the objects in an array, in a place for
// which the schema wants another type of value.
func (p *parser) dropMembers(n int32) {
	d := p.d
	dirt := d.dirt
	switch {
	case d.childless(n):
		return
	case d.nodes[n].kind == Array:
		for m := d.children(n); m != 0; m = d.nodes[m].next {
			p.dropMembers(m)
		}
	case d.nodes[n].kind == Object:
		for m := d.children(n); m != 0; m = d.nodes[m].next {
			p.alien(n, []byte(d.name(m)))
		}
		nd := &d.nodes[n]
		nd.first, nd.last = 0, 0
		d.dirt++
	}
	if d.dirt != dirt {
		d.nodes[n].flags &^= clean | folded
	}
}

// suits reports whether values of a lenient type are of a JSON kind.
func suits(kind schema.Kind, value Kind) bool {
	switch kind {
	case schema.Any:
		return true
	case schema.String:
		return value == String
	case schema.Boolean:
		return value == Bool
	case schema.Integer, schema.Number:
		return value == Number
	}
	return false // containers are read as such
}

// null makes n the meaning of null as an element or member of a lenient type: null where
// the schema allows it, its default, and otherwise null for validation to see. kept is
// false if a member is to be left out instead.
func (p *parser) null(n int32, typ schema.Ref) (kept bool, err error) {
	switch v := p.table.Types[typ].Values; {
	case !v.Nullable && v.Default != "" && p.fill:
		p.d.dirt++
		if err := p.fillIn("", v.Default); err != nil {
			return true, err
		}
		return true, p.inside(v.Default, func(q *parser) error { return q.value(n, typ) })
	default:
		nd := &p.d.nodes[n]
		nd.kind, nd.off, nd.size = Null, uint32(p.pos-4)|p.bit, 4
		return v.Nullable || p.refused(v), nil
	}
}

// refused reports whether null is kept for validation to refuse it: the schema names a type.
func (p *parser) refused(v *schema.Values) bool { return p.nulls && v.Types != 0 }

// sentNull handles null for a field that was read: it is a value where the schema allows
// it, and otherwise counts as absent, or waits for validation to refuse it.
func (p *parser) sentNull(n int32, t *schema.Type, i int) error {
	d, f := p.d, &t.Fields[i]
	if v := p.table.Types[f.Type].Values; v != nil && (v.Nullable || f.Default == "" && p.refused(v)) {
		m, err := p.node(n, f.Type, uint16(i))
		if err != nil {
			return err
		}
		nd := &d.nodes[m]
		nd.kind, nd.off, nd.size = Null, uint32(p.pos-4)|p.bit, 4
		if d.insert(m) {
			p.duplicate(m)
		}
		if d.nodes[n].last != m {
			d.dirt++
		}
		return nil
	}
	d.dirt++
	p.noteNull(n, i)
	for prev, c := int32(0), d.nodes[n].first; c != 0; prev, c = c, d.nodes[c].next {
		if int(d.nodes[c].field) == i {
			p.duplicate(c)
			d.unlink(prev, c)
			break
		}
	}
	return nil
}

// whole reports whether a field is the metadata of a custom object or of an object in it.
func (p *parser) whole(t *schema.Type, f *schema.Field) bool {
	return p.table.Custom && t.Values != nil && f.Presence == schema.Explicit && p.table.Types[f.Type].Kind == schema.Object
}

// emptyMeta reads null for metadata, which is the same as none in it, as in 1.25.
func (p *parser) emptyMeta(n int32, i int, f *schema.Field) error {
	m, err := p.node(n, f.Type, uint16(i))
	if err != nil {
		return err
	}
	p.d.dirt++
	if p.d.insert(m) {
		p.duplicate(m)
	}
	return p.inside("{}", func(q *parser) error { return q.value(m, f.Type) })
}

// keyText is the name of a member as it was read.
type keyText struct {
	off, size  uint32
	hasEscapes bool
}

// chain is a list of nodes on their way into an object.
type chain struct {
	first, last int32
	unsorted    bool
}

// extra reads a member that is not a field of its object. It is linked after all members
// are read, since it follows the fields.
func (p *parser) extra(n int32, name keyText, to *chain) error {
	p.d.odd = true
	return p.without(n, name, to)
}

// without reads a member without a field, and adds it to a chain of such.
func (p *parser) without(n int32, name keyText, to *chain) error {
	m, err := p.node(n, schema.None, noField)
	if err != nil {
		return err
	}
	d := p.d
	nd := &d.nodes[m]
	nd.key, nd.keySize = name.off, name.size
	if name.hasEscapes {
		nd.flags |= keyEscaped
	}
	switch {
	case to.first == 0:
		to.first = m
	default:
		d.nodes[to.last].next = m
		to.unsorted = to.unsorted || d.compareKeys(&d.nodes[to.last], nd) >= 0
	}
	to.last = m
	return p.any(m)
}

// sortApart sorts a chain of members that are not linked yet, and notes repeated ones.
func (p *parser) sortApart(n int32, c *chain) {
	if !c.unsorted {
		return
	}
	nd := &p.d.nodes[n]
	first, last := nd.first, nd.last
	nd.first, nd.last = c.first, c.last
	p.sortMembers(n)
	nd = &p.d.nodes[n]
	c.first, c.last = nd.first, nd.last
	nd.first, nd.last = first, last
}

// addExtras adds the members without a field after the others, by name; of those with the
// same name the last one counts.
func (p *parser) addExtras(n int32, extras *chain) {
	d := p.d
	p.sortApart(n, extras)
	nd := &d.nodes[n]
	if nd.last == 0 {
		nd.first = extras.first
	} else {
		d.nodes[nd.last].next = extras.first
	}
	nd.last = extras.last
}

// number gives a number of a custom resource its spelling: whole numbers of 64 bits as
// they are, all others as encoding/json writes a float64.
func (p *parser) number(n int32) error {
	nd := &p.d.nodes[n]
	text := p.d.text(nd.off, nd.size)
	if value, ok := parseInt(text, 64); ok && (value != 0 || len(text) == 1) {
		return nil
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return &TypeError{Path: string(p.d.appendPath(nil, n, true)),
			Message: "cannot unmarshal number " + string(text[:min(len(text), 64)]) + " into Go value of type float64"}
	}
	if value == 0 {
		value = 0 // -0 is 0
	}
	var space [32]byte
	if written := appendFloat(space[:0], value); string(written) != string(text) {
		p.d.dirt++
		nd.off, nd.size = p.d.addSide(written)
	}
	return nil
}
