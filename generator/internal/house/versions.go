package house

import (
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// place is a schema of a type.
type place struct {
	s  *schema.Schema
	in *model.Type
}

// resolve follows the reference of a schema.
func (c *checker) resolve(p place) place {
	for p.s.Ref != "" {
		id, _ := schema.ResolveRef(p.in.GV.Dir, p.s.Ref)
		t := c.types[id]
		if t == nil {
			break
		}
		p = place{t.Schema, t}
	}
	return p
}

// versions finds values that one version of a kind allows and the version that is stored refuses, or the other way round.
func (c *checker) versions(r *model.Resource) {
	if to := r.StoredAs; to != nil {
		c.between(r, place{r.Type.Schema, r.Type}, place{to.Type.Schema, to.Type}, map[[2]*schema.Schema]bool{})
	}
}

// between compares the fields of a schema with those of the same one in the stored version.
func (c *checker) between(r *model.Resource, here, stored place, seen map[[2]*schema.Schema]bool) {
	here, stored = c.resolve(here), c.resolve(stored)
	key := [2]*schema.Schema{here.s, stored.s}
	if here.s == stored.s || seen[key] || here.in.GV.BuiltIn {
		return
	}
	seen[key] = true
	for _, p := range here.s.Properties {
		o := counterpart(p, stored.s)
		if o == nil {
			continue
		}
		a, b := c.resolve(place{p.Schema, here.in}), c.resolve(place{o.Schema, stored.in})
		c.element = here.in.GV.Dir + "." + here.in.Name + "." + p.Name
		switch {
		case len(a.s.Properties) > 0 || same(a.s, b.s):
		case c.usable.Beyond(a.s, a.in, b.s, b.in):
			c.add(p.Pos, "version-values", true, "give both versions the same keywords",
				"allows values that %s refuses, which stores them: such writes fail", r.StoredAs.GV.Dir)
		case c.usable.Beyond(b.s, b.in, a.s, a.in):
			c.add(p.Pos, "version-values", true, "give both versions the same keywords, or let no client write the other version",
				"refuses values that %s allows and stores: objects with them are shown, and every change of the field is refused", r.StoredAs.GV.Dir)
		}
		c.between(r, a, b, seen)
	}
	for _, parts := range [][2]*schema.Schema{{here.s.Items, stored.s.Items}, {here.s.Additional, stored.s.Additional}} {
		if parts[0] != nil && parts[1] != nil {
			c.between(r, place{parts[0], here.in}, place{parts[1], stored.in}, seen)
		}
	}
}

// counterpart is the field of another version that has the same name, or an earlier one; nil for none.
func counterpart(p schema.Property, of *schema.Schema) *schema.Property {
	for i := range of.Properties {
		if o := &of.Properties[i]; p.SameField(*o) {
			return o
		}
	}
	return nil
}
