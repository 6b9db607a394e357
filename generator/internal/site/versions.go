package site

import (
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// comparison shows the versions of a kind side by side: the fields in which they differ.
type comparison struct {
	Versions []versionHead
	Rows     []versionRow
	Same     int // fields that are the same in all versions
}

// versionHead is a version at the head of its column.
type versionHead struct {
	Name, Link, Stability string
	Here                  bool
}

// versionRow is a field, with its form in each version; "" in those that lack it.
type versionRow struct {
	Field string
	Forms []string
}

// compareVersions compares a kind with the kinds of its name in other versions of the group; nil
// when it has one version.
func (w *writer) compareVersions(page string, t *model.Type) *comparison {
	var all []*model.Type
	for _, gv := range w.model.GroupVersions {
		if other := w.types[gv.Dir+"."+t.Name]; gv.Group == t.GV.Group && gv.Served == t.GV.Served && other != nil && other.Kind {
			all = append(all, other)
		}
	}
	if len(all) < 2 || !t.GV.Served {
		return nil
	}
	slices.SortFunc(all, func(a, b *model.Type) int { return b.GV.VersionPriority - a.GV.VersionPriority })
	c := &comparison{}
	var names []string
	forms := make([]map[string]string, len(all))
	for i, version := range all {
		c.Versions = append(c.Versions, versionHead{version.GV.Version, w.linkTo(page, version).Link, version.GV.Stability, version == t})
		forms[i] = map[string]string{}
		w.flatten(version, version, version.Schema, "", nil, func(name, form string) {
			if _, known := forms[i][name]; !known && !slices.Contains(names, name) {
				names = append(names, name)
			}
			forms[i][name] = form
		})
	}
	for _, name := range names {
		row := versionRow{Field: name}
		for i := range all {
			row.Forms = append(row.Forms, forms[i][name])
		}
		if len(slices.Compact(slices.Clone(row.Forms))) > 1 {
			c.Rows = append(c.Rows, row)
		} else {
			c.Same++
		}
	}
	return c
}

// flatten visits the fields of a kind with their paths, those in types of its group version too.
func (w *writer) flatten(kind, t *model.Type, s *schema.Schema, prefix string, inside []*model.Type, visit func(name, form string)) {
	for _, p := range s.Properties {
		name, inner := prefix+p.Name, p.Schema
		form := w.typeName("", t, p.Schema).String()
		if len(p.Schema.Default) > 0 {
			form += ", " + string(p.Schema.Default) + " by default"
		}
		if s.Enforces(p.Name) {
			form += ", required"
		}
		visit(name, form)
		for inner.Items != nil || inner.Additional != nil {
			if inner.Items != nil {
				name, inner = name+"[]", inner.Items
			} else {
				name, inner = name+"{}", inner.Additional
			}
		}
		of := t
		if inner.Ref != "" {
			of = w.types[targetID(t, inner.Ref)]
			if of == nil || of.GV != kind.GV || slices.Contains(inside, of) {
				continue
			}
			inner = of.Schema
		}
		w.flatten(kind, of, inner, name+".", append(slices.Clone(inside), of), visit)
	}
}
