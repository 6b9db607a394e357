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
		refused := was.OnMissing == string(api.MissingRefused)
		restricted, cascaded := was.OnDelete == string(api.DeleteRestricted), was.OnDelete == string(api.DeleteCascades)
		if was.To != nil && (was.To.Kind != r.To.Kind || was.To.GV.Group != r.To.GV.Group) {
			refused, restricted, cascaded = false, false, false
		}
		if r.OnMissing == string(api.MissingRefused) && !refused {
			c.find(u, "reference-refuses", r.Pos, path, "%s has to name a %s that is there", field, to)
		}
		if r.OnDelete == string(api.DeleteRestricted) && !restricted {
			c.find(u, "reference-restricts", r.Pos, path, "%s keeps a %s from being deleted", field, to)
		}
		if r.OnDelete == string(api.DeleteCascades) && !cascaded {
			c.find(u, "reference-cascades", r.Pos, path, "%s has objects go with the %s that they name", field, to)
		}
	}
	c.endedCascades(u, path, old, now)
}

// endedCascades finds references whose objects took along what names them, and that no longer do so.
func (c *comparison) endedCascades(u use, path string, old, now *model.Resource) {
	for i := range old.References {
		was := &old.References[i]
		is := referenceAt(now, was)
		if was.OnDelete == string(api.DeleteCascades) && (is.To == nil || is.OnDelete == string(api.DeleteOrphans)) {
			c.findOld(u, "reference-keeps", was.Pos, path, "%s has objects stay when the %s that they name goes",
				strings.Join(was.Path, "."), was.To.GV.Group+" "+was.To.Kind)
		}
	}
}

// referenceAt is the reference of a resource at the path of one of the other side; empty for none.
func referenceAt(res *model.Resource, r *model.Reference) model.Reference {
	for _, other := range res.References {
		if slices.Equal(other.Path, r.Path) {
			return other
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
