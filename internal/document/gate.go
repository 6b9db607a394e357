package document

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Gated are the fields of a type's objects behind features that are off. Nil when there
// are none.
type Gated struct{ fields *Fields }

// NewGated finds the fields of a type whose features are off. Those of a recursive type
// are found at its first occurrence.
func NewGated(table *schema.Table, typ schema.Ref, on func(feature string) bool) *Gated {
	found := findFields(table, typ, func(m schema.More) (off, below bool) {
		off = m.Gate != "" && !on(m.Gate)
		return off, !off && !m.Ungated
	})
	if found == nil {
		return nil
	}
	return &Gated{found}
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
			if f.More.GateHolder {
				in.dropEmpty()
			}
		}
	})
}

// each visits the gated fields of an object, except those that already have their value
// without the feature. The visit may change or remove the field.
func (g *Gated) each(v Value, visit func(in Value, f *schema.Field)) {
	g.fields.Each(v, func(in Value, f *schema.Field) {
		if f.More.GateValue == "" || !in.Get(f.Name).Equals(f.More.GateValue) {
			visit(in, f)
		}
	})
}

// dropEmpty removes an object without members from the object that holds it, and so on outwards.
func (v Value) dropEmpty() {
	for v.Kind() == Object && v.IsNothing() {
		holder := Value{v.d, v.d.nodes[v.n].parent}
		if holder.n == 0 || holder.Kind() != Object {
			return
		}
		holder.Remove(v.d.name(v.n))
		v = holder
	}
}
