package compat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// promises are the parts of an API that are not resources: the gates, metrics and flags of
// the server, in openapi/promises.yaml.
type promises struct{ *model.Promises }

// on reports whether a feature is on by default. Features that the documents do not name
// are on.
func (p promises) on(gate string) bool {
	if p.Promises == nil {
		return true
	}
	g, ok := p.Gates[gate]
	return !ok || g.On()
}

// promises compares gates, metrics and flags.
func (c *comparison) promises() {
	old, now := c.old.promises.Promises, c.now.promises.Promises
	switch {
	case old == nil || c.differ():
		return
	case now == nil:
		now = &model.Promises{}
	}
	for _, name := range sorted(old.Gates) {
		c.gate(name, old.Gates[name], now)
	}
	for _, name := range sorted(old.Metrics) {
		c.metric(name, old.Metrics[name], now)
	}
	for _, name := range sorted(old.Flags) {
		was := old.Flags[name]
		is, ok := now.Flags[name]
		u := use{anyWay, stable}
		switch {
		case !ok:
			if why := c.over(was.Deprecated, 1, 6); why != "" {
				c.findOld(u, "flag-removed", was.Pos, "flag "+name, "is gone: %s", why)
			}
		case was.Default != is.Default:
			c.find(u, "flag-default-changed", is.Pos, "flag "+name, "was %q by default and is %q", was.Default, is.Default)
		}
	}
}

// gate compares a feature gate.
func (c *comparison) gate(name string, was model.Gate, now *model.Promises) {
	u, element := use{anyWay, stable}, "feature gate "+name
	is, ok := now.Gates[name]
	if !ok {
		releases, months := 2, 6
		switch was.Stage {
		case "alpha":
			return
		case "deprecated":
			if !was.WasStable {
				releases, months = 1, 3
			}
		}
		if why := c.over(was.Since, releases, months); was.Stage == "beta" || why != "" {
			if was.Stage == "beta" {
				why = "it was beta in the last release"
			}
			c.findOld(u, "gate-removed", was.Pos, element, "is gone: %s", why)
		}
		return
	}
	stages := []string{"alpha", "beta", "stable"}
	switch before, after := slices.Index(stages, was.Stage), slices.Index(stages, is.Stage); {
	case is.Stage != "deprecated" && after < before, was.Stage == "deprecated" && is.Stage == "alpha":
		c.find(u, "gate-stage-lowered", is.Pos, element, "was %s and is %s", was.Stage, is.Stage)
	case was.On() && !is.On():
		c.find(u, "gate-default-changed", is.Pos, element, "was on by default and is off")
	case !was.On() && is.On() && is.Stage == "alpha":
		c.find(u, "gate-default-changed", is.Pos, element, "is on by default, while it is alpha")
	}
}

// metric compares a metric.
func (c *comparison) metric(name string, was model.Metric, now *model.Promises) {
	u, element := use{anyWay, stable}, "metric "+name
	if was.Stability == "alpha" {
		return
	}
	is, ok := now.Metrics[name]
	switch {
	case !ok:
		if why := c.over(was.Deprecated, 3, 9); why != "" {
			c.findOld(u, "metric-removed", was.Pos, element, "is gone: %s", why)
		}
	case is.Stability == "alpha":
		c.find(u, "metric-changed", is.Pos, element, "was %s and is alpha", was.Stability)
	case was.Type != is.Type:
		c.find(u, "metric-changed", is.Pos, element, "was a %s and is a %s", was.Type, is.Type)
	case unlike(was.Labels, is.Labels):
		c.find(u, "metric-changed", is.Pos, element, "had the labels %s and has %s", list(was.Labels), list(is.Labels))
	case !within(was.Buckets, is.Buckets):
		c.find(u, "metric-changed", is.Pos, element, "had the buckets %s and has %s", list(was.Buckets), list(is.Buckets))
	}
}

// over is the reason why something that was deprecated in a release may not go yet; "" when
// both the releases and the months have passed.
func (c *comparison) over(since string, releases, months int) string {
	next := c.next()
	switch {
	case since == "":
		return "no release has deprecated it"
	case c.old.Release == nil:
		return "it is not known when it was deprecated, since the old side has no release.yaml"
	}
	if n := next.releasesSince(since); n < releases {
		return fmt.Sprintf("it was deprecated in %s, %d releases ago, and stays for %d", since, n, releases)
	}
	date, ok := c.old.Release.dateOf(since)
	if !ok {
		return "release.yaml has no date of " + since + ", in which it was deprecated"
	}
	if date.AddDate(0, months, 0).After(next.date()) {
		return fmt.Sprintf("it was deprecated on %s and stays for %d months", date.Format(dateForm), months)
	}
	return ""
}

// betas finds beta versions that have lived longer than beta versions may. It needs to know
// which release comes next.
func (c *comparison) betas() {
	known := c.old.Release
	if known == nil || c.options.Release == "" {
		return
	}
	next := c.next()
	for _, v := range c.now.versions {
		since := known.Served[v.Dir]
		date, ok := known.dateOf(since)
		if stabilityOf(v.Stability) != beta || since == "" || !ok || next.releasesSince(since) < 3 || date.AddDate(0, 9, 0).After(next.date()) {
			continue
		}
		for _, r := range v.resources {
			u, path := use{anyWay, beta}, v.Dir+" "+r.Plural
			switch {
			case r.DeprecatedSince == "" || next.before(r.DeprecatedSince):
				c.find(u, "beta-overdue", r.Pos, path, "has been beta since %s and is not deprecated", since)
			case r.RemovedIn != "" && !next.before(r.RemovedIn) && c.old.find(v.Dir) != nil:
				c.find(u, "beta-overdue", r.Pos, path, "was to go in %s", r.RemovedIn)
			}
		}
	}
}

// roundTrips finds new members of kinds in several versions that only one of the version of
// the request and the stored version has, where hand-written code converts them: generated
// conversions lose nothing.
func (c *comparison) roundTrips() {
	for _, v := range c.now.versions {
		for _, r := range v.resources {
			if r.StoredAs == nil || r.Conversion == nil || !r.Conversion.Hook || c.now.kinds[r.Type.ID] == nil || c.now.kinds[r.StoredAs.Type.ID] == nil {
				continue
			}
			u := use{anyWay, stabilityOf(v.Stability)}
			here, there := c.now.kinds[r.Type.ID].shape, c.now.kinds[r.StoredAs.Type.ID].shape
			c.alone(u, r.Type.ID, here, there, map[pair]bool{})
			c.alone(u, r.StoredAs.Type.ID, there, here, map[pair]bool{})
		}
	}
}

// alone reports members of a shape that the old side did not have, and that the other
// version lacks.
func (c *comparison) alone(u use, path string, t, other *shape, seen map[pair]bool) {
	if seen[pair{t, other}] || t == other {
		return
	}
	seen[pair{t, other}] = true
	for _, m := range t.members {
		o := other.property(m.name)
		switch {
		case o != nil:
			c.alone(u, path+"."+m.name, m.shape, o.shape, seen)
		case other.open:
		case !c.had(strings.Split(path+"."+m.name, ".")):
			c.find(u, "round-trip-lost", m.pos, path+"."+m.name, "is in one version only")
		}
	}
	if t.elem != nil && other.elem != nil {
		c.alone(u, path, t.elem.shape, other.elem.shape, seen)
	}
}

// had reports whether the old side had the member at a path, which begins with the ID of a
// kind. Steps into lists and maps have no names.
func (c *comparison) had(path []string) bool {
	for i := len(path) - 1; i > 0; i-- {
		k := c.old.kinds[strings.Join(path[:i], ".")]
		if k == nil {
			continue
		}
		t := k.shape
		for _, name := range path[i:] {
			for t.elem != nil {
				t = t.elem.shape
			}
			m := t.property(name)
			if m == nil {
				return false
			}
			t = m.shape
		}
		return true
	}
	return true // a new kind: its first release
}
