package facts

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// dropOwn removes the group versions of groups that are not a part of the release: those of
// another domain.
func dropOwn(m *model.Model) {
	m.GroupVersions = slices.DeleteFunc(m.GroupVersions, func(gv *model.GroupVersion) bool {
		return strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, "."+m.Profile.GroupSuffix)
	})
}

// dropNewer removes from the model resources of testdata/newer.tsv, which 1.25 does not
// have, with the types that only they have: kinds, those below them without facts, and
// group versions of nothing else. It returns the rows of which the model has nothing.
func dropNewer(m *model.Model, newer []row, known func(id string) bool) (without []row) {
	types := typesByID(m)
	for _, r := range newer {
		dropped := strings.Contains(r["resource"], "/") // a subresource, which goes with its resource
		for _, gv := range m.GroupVersions {
			if groupName(gv) != r["group"] || gv.Version != r["version"] {
				continue
			}
			for _, res := range gv.Resources {
				if res.Plural == r["resource"] {
					dropped = true
					dropTypes(known, types, res.Type)
				}
			}
			gv.Resources = slices.DeleteFunc(gv.Resources, func(res *model.Resource) bool { return res.Plural == r["resource"] })
			gv.Served = gv.Served && len(gv.Resources) > 0
		}
		if !dropped {
			without = append(without, r)
		}
	}
	return without
}

// dropTypes removes a kind without facts, its list, and the types without facts below it.
func dropTypes(known func(id string) bool, types map[string]*model.Type, kind *model.Type) {
	drop := func(t *model.Type) {
		if !known(t.ID) {
			t.GV.Types = slices.DeleteFunc(t.GV.Types, func(other *model.Type) bool { return other == t })
		}
	}
	drop(kind)
	if list := types[kind.GV.Dir+"."+kind.Name+"List"]; list != nil {
		drop(list)
	}
	walk(types, kind, "", func(_ string, p typeMember) {
		if e := elem(p.property.Schema); e.Ref != "" {
			if below := types[target(p.owner, e.Ref)]; below != nil {
				drop(below)
			}
		}
	})
}
