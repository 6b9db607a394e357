package house

import (
	"github.com/capstan-dev/capstan/generator/compat"
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

// Versions lists the findings that generate reports too: values that one version of a kind allows, and another one refuses.
func Versions(m *model.Model) []compat.Finding {
	c := &checker{usable: compat.NewUsable(m)}
	for _, gv := range m.GroupVersions {
		if gv.BuiltIn || released(m, gv) {
			continue
		}
		for _, r := range gv.Resources {
			c.versions(r)
		}
	}
	return c.sorted()
}

// versions finds values that one version of a kind allows and the version that is stored refuses, or the other way round.
func (c *checker) versions(r *model.Resource) {
	for _, g := range c.usable.Gaps(r) {
		c.element = g.Element
		c.add(g.Pos, compat.VersionValues, true, g.Mend, "%s", g.What)
	}
}
