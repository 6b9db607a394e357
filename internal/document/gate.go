package document

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Gated are the fields of a type's objects behind features that are off: the paths to the
// fields, so that a walk visits nothing else. Nil when there are none.
type Gated struct {
	elem    *Gated // of lists and maps
	members []gatedMember
}

// gatedMember is a field that is gated itself, or on the way to one that is.
type gatedMember struct {
	field *schema.Field
	off   bool // dropped together with its feature
	below *Gated
}

// NewGated finds the fields of a type whose features are off. Those of a recursive type
// are found at its first occurrence.
func NewGated(table *schema.Table, typ schema.Ref, on func(feature string) bool) *Gated {
	return gatedFinder{table, on, map[schema.Ref]*Gated{}}.find(typ)
}

type gatedFinder struct {
	table *schema.Table
	on    func(string) bool
	known map[schema.Ref]*Gated // nil also for types whose search is not finished
}

func (s gatedFinder) find(typ schema.Ref) *Gated {
	if typ < 0 {
		return nil
	}
	if g, ok := s.known[typ]; ok {
		return g
	}
	s.known[typ] = nil
	g := &Gated{}
	t := &s.table.Types[typ]
	switch t.Kind {
	case schema.List, schema.Map:
		g.elem = s.find(t.Elem)
	case schema.Object:
		for i := range t.Fields {
			f := &t.Fields[i]
			m := gatedMember{f, f.Rest().Gate != "" && !s.on(f.More.Gate), nil}
			if !m.off && !f.Rest().Ungated {
				m.below = s.find(f.Type)
			}
			if m.off || m.below != nil {
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

// Drop removes from obj, which replaces old (absent for a new object), the fields whose
// features are off, or sets their values without the feature. A field that old has,
// anywhere in it, is in use and stays everywhere.
func (g *Gated) Drop(obj, old Value) {
	if g == nil {
		return
	}
	var sent []*schema.Field
	g.each(obj, func(_ Value, f *schema.Field) {
		if !slices.Contains(sent, f) {
			sent = append(sent, f)
		}
	})
	if sent == nil {
		return
	}
	g.each(old, func(_ Value, f *schema.Field) {
		sent = slices.DeleteFunc(sent, func(other *schema.Field) bool { return other == f })
	})
	g.each(obj, func(in Value, f *schema.Field) {
		switch {
		case !slices.Contains(sent, f):
		case f.More.GateValue != "":
			in.SetString(f.Name, f.More.GateValue)
		default:
			in.Remove(f.Name)
		}
	})
}

// each visits the gated fields of an object, except those that already have their value
// without the feature. The visit may change or remove the field.
func (g *Gated) each(v Value, visit func(in Value, f *schema.Field)) {
	if g.elem != nil {
		for _, e := range v.Elements() {
			g.elem.each(e, visit)
		}
		for _, m := range v.Members() {
			g.elem.each(m, visit)
		}
		return
	}
	for i := range g.members {
		m := &g.members[i]
		switch member := v.Get(m.field.Name); {
		case !member.Exists():
		case !m.off:
			m.below.each(member, visit)
		case m.field.More.GateValue == "" || !member.Equals(m.field.More.GateValue):
			visit(v, m.field)
		}
	}
}
