package compat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// resolution compares the meaning of the names that people type for resources: plural and
// singular names, kinds and short names.
func (c *comparison) resolution() {
	if !c.both(facetNames | facetPriority) {
		return
	}
	was, is := c.old.typed(), c.now.typed()
	for _, name := range sorted(was) {
		before, after := was[name], is[name]
		if len(after) == 0 {
			continue // reported where the name went
		}
		u := use{anyWay, stabilityOf(before[0].GV.Stability)}
		if sameResource(before[0], after[0]) || !slices.ContainsFunc(after, func(r *model.Resource) bool { return sameResource(r, before[0]) }) {
			continue // the same, or gone itself
		}
		c.find(u, "resource-name-taken", after[0].Pos, after[0].GV.Dir+" "+after[0].Plural, "is the meaning of %s now, which was %s", name,
			before[0].GV.Dir+" "+before[0].Plural)
	}
	for _, v := range c.now.versions {
		for _, r := range v.resources {
			old := c.old.find(v.Dir).resource(r.Plural)
			for _, name := range append(slices.Clone(r.ShortNames), r.Singular) {
				if name == "" || old != nil && (slices.Contains(old.ShortNames, name) || old.Singular == name) {
					continue
				}
				if other := taken(was[strings.ToLower(name)], r); other != nil && sameResource(is[strings.ToLower(name)][0], other) {
					c.find(use{anyWay, stabilityOf(v.Stability)}, "resource-name-taken", r.Pos, v.Dir+" "+r.Plural, "takes the name %s, which is that of %s", name,
						other.GV.Dir+" "+other.Plural)
				}
			}
		}
	}
}

// taken is a resource among some that is not the given one, in any of its versions.
func taken(by []*model.Resource, r *model.Resource) *model.Resource {
	for _, o := range by {
		if !sameResource(o, r) && o.Plural != r.Plural {
			return o
		}
	}
	return nil
}

// sameResource reports whether two rows are versions of one resource.
func sameResource(a, b *model.Resource) bool {
	return a.Plural == b.Plural && folder(a.GV.Dir) == folder(b.GV.Dir)
}

// typed lists the resources that a name may mean, the one that it means first. Short names
// go before others, and groups as discovery orders them.
func (s *Surface) typed() map[string][]*model.Resource {
	rows := s.discovered()
	names := map[string][]*model.Resource{}
	for _, short := range []bool{true, false} {
		for _, r := range rows {
			mine := []string{r.Plural, r.Singular, strings.ToLower(r.Kind)}
			if short {
				mine = r.ShortNames
			}
			for _, name := range mine {
				if name = strings.ToLower(name); name != "" && !slices.Contains(names[name], r) {
					names[name] = append(names[name], r)
				}
			}
		}
	}
	return names
}

// discovered lists the resources in the order of discovery.
func (s *Surface) discovered() (rows []*model.Resource) {
	best := map[string]int{}
	for _, v := range s.versions {
		best[v.Group] = max(best[v.Group], v.GroupPriority)
	}
	order := slices.Clone(s.versions)
	slices.SortStableFunc(order, func(a, b *version) int {
		return cmp.Or(cmp.Compare(best[b.Group], best[a.Group]), strings.Compare(a.Group, b.Group), cmp.Compare(b.VersionPriority, a.VersionPriority))
	})
	for _, v := range order {
		if v.Served {
			rows = append(rows, v.resources...)
		}
	}
	return rows
}
