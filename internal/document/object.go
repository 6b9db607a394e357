package document

import "github.com/capstan-dev/capstan/internal/schema"

// object reads a value of an Object type; pos is at the brace.
func (p *parser) object(n int32, typ schema.Ref, known Value) error {
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
	near := known.first()
	var extras, respelled, unknown chain
	for next := 0; !done; {
		i, name, err := p.field(n, t, next)
		switch {
		case err != nil:
		case i >= 0:
			next = i + 1
			if known.d != nil {
				near = near.orLater(known, i)
				p.known = near.ofField(i)
			}
			if extras.first != 0 {
				d.dirt++ // it belongs before those
			}
			err = p.member(n, t, i)
			p.known = Value{}
		case t.Open:
			err = p.extra(n, name, &extras)
		case p.spelled(t, d.text(name.off, name.size)) >= 0:
			respelled, err = p.respelled(n, t, name, respelled)
		default:
			err = p.drop(n, name, &unknown)
		}
		if err != nil {
			return err
		}
		if done, err = p.comma('}'); err != nil {
			return err
		}
	}
	if respelled.first != 0 {
		if err := p.addRespelled(t, respelled.first); err != nil {
			return err
		}
	}
	p.sortApart(n, &unknown)
	if err := p.complete(n, t); err != nil {
		return err
	}
	if extras.first != 0 {
		p.addExtras(n, &extras)
	}
	p.finish(n, start, dirt)
	p.leave()
	return nil
}

// drop reads a member that the type does not have. Those of custom objects are searched for
// repeated ones, as in 1.25: they are gathered in a chain.
func (p *parser) drop(n int32, name keyText, unknown *chain) error {
	if p.table.Custom {
		return p.without(n, name, unknown)
	}
	return p.skip()
}

// field reads the name of a member and the colon. It returns the index of the
// field, likely next or behind it, or -1 and the name, after noting that the type has
// none of that name if it is not open.
func (p *parser) field(n int32, t *schema.Type, next int) (int, keyText, error) {
	if i := expected(t.Fields, next, p.buf[p.pos:]); i >= 0 {
		p.pos += len(t.Fields[i].Name) + 2
		return i, keyText{}, p.colon()
	}
	off, size, hasEscapes, err := p.key()
	if err != nil {
		return -1, keyText{}, err
	}
	name := p.d.text(off, size)
	if hasEscapes {
		name = AppendUnescaped(nil, name)
	}
	i := t.FieldOf(name)
	if i < 0 && !t.Open && p.spelled(t, name) < 0 {
		p.unknown(n, name)
		p.d.dirt++
	}
	return i, keyText{off, size, hasEscapes}, nil
}

// finish notes the text of a container if it is canonical: dirt has not grown since its
// beginning.
func (p *parser) finish(n int32, start int, dirt uint32) {
	if p.d.dirt == dirt {
		nd := &p.d.nodes[n]
		nd.off, nd.size = uint32(start)|p.bit, uint32(p.pos-start)
		nd.flags |= clean
	}
}

// notes reports whether a further problem is noted. Problems may be the same, and the path
// of each is as long as it is deep, so that their levels count too.
func (p *parser) notes() bool {
	p.levels += p.depth
	return len(p.problems) < maxProblems && p.levels < maxLevels
}

// unknown notes a member that the type does not have.
func (p *parser) unknown(n int32, name []byte) {
	if p.notes() {
		path := appendStep(p.d.appendPath(nil, n, false), string(name))
		found := Problem{Path: string(path)}
		if p.table.Custom {
			t := &p.table.Types[p.d.nodes[n].typ]
			found.Meta, found.Loose = t.Name != "", t.Loose
		}
		p.problems = addProblem(p.problems, found)
	}
}

// alien notes a member of an object in a place where the schema wants no object.
func (p *parser) alien(n int32, name []byte) {
	if p.notes() {
		path := appendStep(p.d.appendPath(nil, n, false), string(name))
		p.problems = addProblem(p.problems, Problem{Path: string(path), Alien: true})
	}
}

// duplicate notes a repeated member.
func (p *parser) duplicate(m int32) {
	p.d.dirt++
	if p.notes() {
		path := p.d.appendPath(nil, m, false)
		untyped := p.untyped(p.d.nodes[p.d.nodes[m].parent].typ) && !(p.table != nil && p.table.Custom)
		p.problems = addProblem(p.problems, Problem{Duplicate: true, Untyped: untyped, Path: string(path)})
	}
}

// keepsValue reports whether null after a value of a field has no effect, as in 1.25 for
// fields that cannot hold no value.
func keepsValue(f *schema.Field, kind schema.Kind) bool {
	switch kind {
	case schema.String, schema.Integer, schema.Boolean, schema.Number:
		return f.Presence != schema.Explicit
	case schema.Object:
		return f.Presence == schema.Always
	}
	return false
}

// member reads the value of a field. Null is the same as no value, except that
// it is the written form of some fields that are always written.
func (p *parser) member(n int32, t *schema.Type, i int) error {
	d, f := p.d, &t.Fields[i]
	null := p.isNull()
	if null && f.Presence == schema.Sent {
		return p.sentNull(n, t, i)
	}
	if null && p.whole(t, f) {
		return p.emptyMeta(n, i, f)
	}
	if null && (f.Presence != schema.Always || f.Default != "" || !absentIsNull(p.table.Types[f.Type].Kind)) {
		d.dirt++
		p.noteNull(n, i)
		for prev, c := int32(0), d.nodes[n].first; c != 0; prev, c = c, d.nodes[c].next {
			if int(d.nodes[c].field) == i {
				p.duplicate(c)
				if p.table.Custom || !keepsValue(f, p.table.Types[f.Type].Kind) { // of a custom object the last counts
					d.unlink(prev, c)
				}
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
	if p.wasNull(n, i) {
		p.duplicate(m)
	}
	if null {
		nd := &d.nodes[m]
		nd.kind, nd.off, nd.size = Null, uint32(p.pos-4)|p.bit, 4
		return nil
	}
	return p.value(m, f.Type)
}
