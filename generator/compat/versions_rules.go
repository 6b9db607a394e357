package compat

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// rename notes the fields of a shape, and below it, that have another name in the stored version.
func (g *gaps) rename(here, stored *shape, seen map[pair]bool) {
	if here == stored || seen[pair{here, stored}] {
		return
	}
	seen[pair{here, stored}] = true
	for _, m := range here.members {
		o := stored.counterpart(m)
		if o == nil {
			continue
		}
		if m.name != o.name {
			g.names[m.name] = o.name
		}
		g.rename(m.shape, o.shape, seen)
	}
	if here.elem != nil && stored.elem != nil {
		g.rename(here.elem.shape, stored.elem.shape, seen)
	}
}

// rules compares the rules across the fields of a shape.
func (g *gaps) rules(here, stored *shape, at, there string) {
	own := g.translated(here.demands)
	add := func(of *shape, i int, wider bool, what string) {
		text := says(&of.demands[i])
		key := g.key(at, there, wider)
		key.field += " " + text
		g.found = append(g.found, Gap{of.ruleAt(i), at, fmt.Sprintf(what, g.stored.Dir, text), mendVersions, key, stabilityOf(g.here.Stability)})
	}
	for i := range own {
		if d := &own[i]; !fresh(stored, here, d) && !demanded(stored.demands, d, absent(stored, here, d.Finds)) {
			add(here, i, false, "has a rule that %s lacks: objects that break it are shown, and their updates are refused: %s")
		}
	}
	for i := range stored.demands {
		d := &stored.demands[i]
		switch {
		case fresh(here, stored, d) || demanded(own, d, absent(here, stored, d.Finds)):
		case g.kept:
			add(stored, i, true, "lacks a rule of %s, which stores the objects: writes that break it fail: %s")
		default:
			add(stored, i, true, "lacks a rule of %s: objects that break it are shown there, and no update of them is taken: %s")
		}
	}
}

// ruleAt is the place of a rule.
func (t *shape) ruleAt(i int) schema.Position {
	if i < len(t.rulesAt) {
		return t.rulesAt[i]
	}
	return t.pos
}

// translated are rules in the names of the stored version.
func (g *gaps) translated(rules []schema.Demand) []schema.Demand {
	if len(g.names) == 0 {
		return rules
	}
	path := func(steps []string) []string {
		now := slices.Clone(steps)
		for i, name := range now {
			if other := g.names[name]; other != "" {
				now[i] = other
			}
		}
		return now
	}
	tests := func(all []schema.Test) []schema.Test {
		now := slices.Clone(all)
		for i := range now {
			now[i].Path, now[i].Than = path(now[i].Path), path(now[i].Than)
		}
		return now
	}
	all := slices.Clone(rules)
	for i := range all {
		d := &all[i]
		d.If, d.Then, d.Was, d.Each = tests(d.If), tests(d.Then), tests(d.Was), path(d.Each)
		d.Finds = memberNames.ReplaceAllStringFunc(d.Finds, func(step string) string {
			if other := g.names[step[1:]]; other != "" {
				return "." + other
			}
			return step
		})
	}
	return all
}

// memberNames are the members that an expression reads.
var memberNames = regexp.MustCompile(`\.[A-Za-z_]\w*`)
