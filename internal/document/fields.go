package document

import "github.com/capstan-dev/capstan/internal/schema"

// Fields are some fields of a type's objects: the paths to them, so that a walk visits
// nothing else. Nil for none.
type Fields struct {
	elem    *Fields // of lists and maps
	members []wantedMember
}

// wantedMember is a wanted field, or one on the way to such.
type wantedMember struct {
	field *schema.Field
	is    bool
	below *Fields
}

// OutdatedFields finds the deprecated fields of a type.
func OutdatedFields(table *schema.Table, typ schema.Ref) *Fields {
	if !table.Outdated {
		return nil
	}
	return findFields(table, typ, func(m schema.More) (is, below bool) { return m.Outdated, true })
}

// findFields finds fields of a type by their rarer properties: wanted reports whether one
// is wanted, and whether there may be wanted ones below it. Those of a recursive type are
// found at its first occurrence.
func findFields(table *schema.Table, typ schema.Ref, wanted func(schema.More) (is, below bool)) *Fields {
	return fieldFinder{table, wanted, map[schema.Ref]*Fields{}}.find(typ)
}

type fieldFinder struct {
	table  *schema.Table
	wanted func(schema.More) (is, below bool)
	known  map[schema.Ref]*Fields // nil also for types whose search is not finished
}

func (s fieldFinder) find(typ schema.Ref) *Fields {
	if typ < 0 {
		return nil
	}
	if g, ok := s.known[typ]; ok {
		return g
	}
	s.known[typ] = nil
	g := &Fields{}
	t := &s.table.Types[typ]
	switch t.Kind {
	case schema.List, schema.Map:
		g.elem = s.find(t.Elem)
	case schema.Object:
		for i := range t.Fields {
			f := &t.Fields[i]
			is, below := s.wanted(f.Rest())
			m := wantedMember{field: f, is: is}
			if below {
				m.below = s.find(f.Type)
			}
			if m.is || m.below != nil {
				g.members = append(g.members, m)
			}
		}
	}
	if g.elem == nil && g.members == nil {
		return nil
	}
	s.known[typ] = g
	return g
}

// Each visits the wanted fields that an object has. The visit may change or remove the
// field.
func (g *Fields) Each(v Value, visit func(in Value, f *schema.Field)) {
	if g == nil {
		return
	}
	if g.elem != nil {
		for _, e := range v.Elements() {
			g.elem.Each(e, visit)
		}
		for _, m := range v.Members() {
			g.elem.Each(m, visit)
		}
		return
	}
	for i := range g.members {
		m := &g.members[i]
		if member := v.Get(m.field.Name); member.Exists() {
			if m.below.Each(member, visit); m.is {
				visit(v, m.field)
			}
		}
	}
}
