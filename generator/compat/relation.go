package compat

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
)

// references compares what the fields of a kind refer to. A field that is new may refer to anything: no object has
// it yet.
func (c *comparison) references(u use, path string, old, now *model.Resource) {
	kind := c.old.kinds[typeID(old.Type)]
	for i := range now.References {
		r := &now.References[i]
		if kind == nil || !kind.shape.has(r.Path) {
			continue
		}
		was := referenceAt(old, r)
		field, to := strings.Join(r.Path, "."), r.To.GV.Group+" "+r.To.Kind
		refused, restricted := was.OnMissing == string(api.MissingRefused), was.OnDelete == string(api.DeleteRestricted)
		if was.To != nil && (was.To.Kind != r.To.Kind || was.To.GV.Group != r.To.GV.Group) {
			refused, restricted = false, false
		}
		if r.OnMissing == string(api.MissingRefused) && !refused {
			c.find(u, "reference-refuses", r.Pos, path, "%s has to name a %s that is there", field, to)
		}
		if r.OnDelete == string(api.DeleteRestricted) && !restricted {
			c.find(u, "reference-restricts", r.Pos, path, "%s keeps a %s from being deleted", field, to)
		}
	}
}

// referenceAt is the reference of the earlier side at the path of one of the later side; empty for none.
func referenceAt(old *model.Resource, r *model.Reference) model.Reference {
	for _, was := range old.References {
		if slices.Equal(was.Path, r.Path) {
			return was
		}
	}
	return model.Reference{}
}

// has reports whether values of the type may have a value at a path.
func (t *shape) has(path []string) bool {
	for _, name := range path {
		if name == "*" {
			if t.elem == nil {
				return false
			}
			t = t.elem.shape
			continue
		}
		m := t.property(name)
		if m == nil {
			return false
		}
		t = m.shape
	}
	return true
}
