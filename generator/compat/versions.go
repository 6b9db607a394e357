package compat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// VersionValues is the rule that versions of a kind allow the same values, here and in the house rules.
const VersionValues = "version-values"

// mendVersions is the remedy where they do not.
const mendVersions = "give both versions the same keywords, or let no client write one of them"

// Gap is a field of which one version of a kind allows values that another one refuses.
type Gap struct {
	Pos                 schema.Position
	Element, What, Mend string
	key                 gapKey
	promised            stability
}

// gapKey is the same for a field when another version is stored: it has the path in the version that allows more.
type gapKey struct{ allows, refuses, field string }

// Gaps finds the fields of a version of a kind that have other values in the version that is stored.
func (u *Usable) Gaps(r *model.Resource) []Gap {
	if r.StoredAs == nil {
		return nil
	}
	here, stored := u.shapes.shape(r.Type.Schema, r.Type), u.shapes.shape(r.StoredAs.Type.Schema, r.StoredAs.Type)
	return gapsOf(r.GV, r.StoredAs.GV, true, here, stored, r.Type.ID)
}

// gapsOf compares a version of a kind, of that ID, with the stored one, whose rules every write has to keep or not.
func gapsOf(gv, storedGV *model.GroupVersion, kept bool, here, stored *shape, id string) []Gap {
	g := gaps{here: gv, stored: storedGV, kept: kept, seen: map[pair]bool{}, names: map[string]string{}}
	g.rename(here, stored, map[pair]bool{})
	g.between(here, stored, id, strings.Replace(id, gv.Dir, storedGV.Dir, 1))
	return g.found
}

// gaps is the comparison of two versions of a kind.
type gaps struct {
	here, stored *model.GroupVersion
	kept         bool
	seen         map[pair]bool
	names        map[string]string // of fields here that have another name in the stored version
	found        []Gap
}

// between compares the fields of a shape with those of the same one in the stored version, by the paths in both.
func (g *gaps) between(here, stored *shape, at, there string) {
	if here == stored || g.seen[pair{here, stored}] {
		return
	}
	g.seen[pair{here, stored}] = true
	at, there = cmp.Or(here.name, at), cmp.Or(stored.name, there)
	for _, m := range here.members {
		o := stored.counterpart(m)
		if o == nil {
			continue
		}
		f := fieldOf{m, o, at + "." + m.name, there + "." + o.name}
		g.values(f)
		if !here.hook && !stored.hook { // which may fill the field in
			g.absence(f)
		}
		g.between(m.shape, o.shape, f.at, f.there)
	}
	if here.elem != nil && stored.elem != nil {
		g.between(here.elem.shape, stored.elem.shape, at, there)
	}
	g.rules(here, stored, at, there)
}

// fieldOf is a field in both versions, with its paths.
type fieldOf struct {
	m, o      *member
	at, there string
}

// values compares the values of a field.
func (g *gaps) values(f fieldOf) {
	m, o := f.m, f.o
	switch {
	case m.shape == o.shape || len(m.members) > 0:
	case m.beyond(o.shape) && g.kept:
		g.add(f, true, "allows values that %s refuses, which stores them: such writes fail")
	case m.beyond(o.shape):
		g.add(f, true, "allows values that %s refuses: objects with them are shown there, and no update of them is taken")
	case o.beyond(m.shape):
		g.add(f, false, "refuses values that %s allows and stores: objects with them are shown, and every change of the field is refused")
	}
}

// absence compares whether a field may be left out, where nothing fills it in.
func (g *gaps) absence(f fieldOf) {
	m, o := f.m, f.o
	switch {
	case m.required == o.required || m.defaulted || o.defaulted:
	case m.required && m.presence == "always" && m.takesZero():
		// It is shown as a zero, or as an empty object, which clients may send.
	case m.required:
		g.add(f, false, "is required, and %s stores objects without it: they are shown, and every update that does not add it is refused")
	case g.kept:
		g.add(f, true, "may be left out, and %s, which stores the objects, requires it: writes without it fail")
	default:
		g.add(f, true, "may be left out, and %s requires it: objects without it are shown there, and no update of them is taken")
	}
}

// takesZero reports whether the value that is shown of a field that is always there, and not stored, is taken too.
func (m *member) takesZero() bool {
	switch m.kind {
	case "string", "list", "map":
		return false
	case "object":
		return !slices.ContainsFunc(m.members, func(below *member) bool {
			return below.required && !below.defaulted && !(below.presence == "always" && below.takesZero())
		})
	case "int32", "int64", "number":
		return accepts(m.shape, float64(0), false)
	}
	return true
}

func (g *gaps) add(f fieldOf, wider bool, what string) {
	g.found = append(g.found, Gap{f.m.pos, f.at, fmt.Sprintf(what, g.stored.Dir), mendVersions, g.key(f.at, f.there, wider), stabilityOf(g.here.Stability)})
}

// key is that of a gap at a place, with its paths in both versions.
func (g *gaps) key(at, there string, wider bool) gapKey {
	if wider {
		return gapKey{g.here.Dir, g.stored.Dir, strings.TrimPrefix(at, g.here.Dir)}
	}
	return gapKey{g.stored.Dir, g.here.Dir, strings.TrimPrefix(there, g.stored.Dir)}
}

// counterpart is the member that is a field of another version, by its name or an earlier one; nil for none.
func (t *shape) counterpart(m *member) *member {
	for _, o := range t.members {
		if (schema.FieldNames{Name: o.name, RenamedFrom: o.renamed}).Same(schema.FieldNames{Name: m.name, RenamedFrom: m.renamed}) {
			return o
		}
	}
	return nil
}

// beyond reports whether a shape allows a value that another one refuses, if that can be seen.
func (t *shape) beyond(o *shape) bool {
	p := sortsOf(o.inline())
	if t.kind != o.kind || slices.ContainsFunc(append(sortsOf(t.inline()), p...), (*logic).strange) {
		return false
	}
	y := &trial{}
	refused := slices.ContainsFunc(y.of(t, p), func(v any) bool { return !empty(v) && !accepts(o, v, false) })
	return refused && !y.unsure
}

// gaps are those between the versions of all kinds of a side, in which one is stored.
func (s *Surface) gaps() (all []Gap) {
	for _, v := range s.versions {
		for _, r := range v.resources {
			if to := r.StoredAs; to != nil && s.kinds[r.Type.ID] != nil && s.kinds[to.Type.ID] != nil {
				all = append(all, gapsOf(r.GV, to.GV, true, s.kinds[r.Type.ID].shape, s.kinds[to.Type.ID].shape, r.Type.ID)...)
			}
		}
	}
	for _, name := range sorted(s.converts) {
		is := s.converts[name]
		stored := s.kinds[is.stored]
		if is.webhook || stored == nil {
			continue // the webhook may change values
		}
		for _, id := range is.kinds {
			other := s.kinds[id]
			all = append(all, gapsOf(other.of, stored.of, false, other.shape, stored.shape, id)...)
		}
	}
	return all
}

// gaps finds those between the versions of the new side that the old side did not have. The sides have to name their
// elements alike.
func (c *comparison) gaps() {
	if c.differ() {
		return
	}
	had := map[gapKey]bool{}
	for _, g := range c.old.gaps() {
		had[g.key] = true
	}
	for _, g := range c.now.gaps() {
		if !had[g.key] {
			c.find(use{anyWay, g.promised}, VersionValues, g.Pos, g.Element, "%s", g.What)
		}
	}
}
