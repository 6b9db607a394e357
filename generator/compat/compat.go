package compat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Finding is one difference that a rule forbids or doubts.
type Finding struct {
	Rule      string
	Level     Level
	File      string // of the new side; of the old one for removed things
	Line      int
	Element   string // the place in the API: "core/v1 pods", "PodSpec.containers[].image"
	What      string
	Direction string // the ways on which the element travels
	Why, Mend string
}

// Text is the finding in a line, without position and level.
func (f Finding) Text() string { return strings.TrimSpace(f.Element + " " + f.What) }

func (f Finding) String() string {
	pos := schema.Position{File: f.File, Line: f.Line}
	return fmt.Sprintf("%s: %s %s: %s; %s", pos, f.Level, f.Rule, f.Text(), f.Mend)
}

// Counts are the sizes of a comparison.
type Counts struct{ Resources, Fields, Rules int }

// Report is the result of a comparison.
type Report struct {
	Tool     string    // the program that checked, if that is not the gate: "capstan-gen lint"
	Old, New string    // names of the sides
	Findings []Finding // by file and line
	Accepted []Finding // those that the accepted findings name
	Counts   Counts
}

// Breaking reports whether a finding is an error.
func (r *Report) Breaking() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Error })
}

// Options of a comparison; the zero Options are usual.
type Options struct {
	Config  *Config
	Release string    // the version that the new side will have; "" for the minor version after the old one
	Now     time.Time // the date of that release; zero for today
}

// Compare lists the findings on the way from one state to another.
func Compare(old, now *Surface, o Options) *Report {
	c := &comparison{old: old, now: now, options: o, levels: newLevels(o.Config), compared: map[pair]bool{}, seen: map[*shape]bool{}}
	c.profile()
	for _, v := range old.versions {
		c.groupVersion(v, c.peer(v.GroupVersion))
	}
	c.kinds()
	c.preferred()
	c.roundTrips()
	c.conversions()
	c.gaps()
	c.resolution()
	c.betas()
	c.promises()
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	r := &Report{Old: old.Name, New: now.Name, Findings: slices.Compact(c.findings), Counts: c.counts}
	r.Counts.Rules = len(c.levels)
	for t := range c.seen {
		r.Counts.Fields += len(t.members)
	}
	r.checkFloor(old.Release)
	if o.Config != nil {
		o.Config.Accept(r, c.today())
	}
	return r
}

// checkFloor finds a comparison that saw less than the release had: something in its way
// hides documents from it.
func (r *Report) checkFloor(release *Release) {
	if release == nil {
		return
	}
	for _, n := range []struct {
		what       string
		got, floor int
	}{{"resources", r.Counts.Resources, release.Resources}, {"fields", r.Counts.Fields, release.Fields}, {"rules", r.Counts.Rules, release.Rules}} {
		if n.got < n.floor {
			r.Findings = append(r.Findings, Finding{Rule: "comparison-shrunk", Level: Error, File: Released + "/" + releaseFile, Line: 1, Element: "the comparison",
				What: fmt.Sprintf("has seen %d %s, and the release had %d", n.got, n.what, n.floor), Why: "what is not compared can break unseen",
				Mend: "find the reason; the counts are lowered by the next release only"})
		}
	}
}

// pass notes that a shape of the old side, and all that it reaches, has nothing to be
// compared with.
func (c *comparison) pass(t *shape) {
	if c.seen[t] {
		return
	}
	c.seen[t] = true
	for _, m := range t.members {
		c.pass(m.shape)
	}
	if t.elem != nil {
		c.pass(t.elem.shape)
	}
}

// comparison is the work of one Compare.
type comparison struct {
	old, now *Surface
	options  Options
	levels   levels
	compared map[pair]bool
	seen     map[*shape]bool // of the old side
	findings []Finding
	counts   Counts
}

// both reports whether both sides describe a part of the API.
func (c *comparison) both(f facets) bool { return c.old.knows&c.now.knows&f == f }

// find reports a difference at a place of the new side.
func (c *comparison) find(u use, rule string, pos schema.Position, element, format string, args ...any) {
	c.add(u, rule, c.now.at(pos), element, format, args...)
}

// findOld reports a difference at a place of the old side, where a thing was.
func (c *comparison) findOld(u use, rule string, pos schema.Position, element, format string, args ...any) {
	c.add(u, rule, c.old.at(pos), element, format, args...)
}

func (c *comparison) add(u use, rule string, pos schema.Position, element, format string, args ...any) {
	level := c.levels.of(rule, u)
	if level == Off {
		return
	}
	r := c.levels[rule]
	c.findings = append(c.findings, Finding{Rule: rule, Level: level, File: pos.File, Line: pos.Line, Element: element,
		What: fmt.Sprintf(format, args...), Direction: u.ways.String(), Why: r.Why, Mend: r.Mend})
}

// profile compares the words by which clients know an installation.
func (c *comparison) profile() {
	if c.old.profile == nil || c.now.profile == nil {
		return
	}
	was, is := c.old.profile, c.now.profile
	for _, w := range []struct{ key, was, is string }{
		{"groupSuffix", was.GroupSuffix, is.GroupSuffix}, {"labelDomain", was.LabelDomain, is.LabelDomain},
		{"mediaTypeWord", was.MediaTypeWord, is.MediaTypeWord}, {"extensionPrefix", was.ExtensionPrefix, is.ExtensionPrefix},
	} {
		if w.was != w.is {
			pos := schema.Position{File: "openapi/profile.yaml", Line: 1}
			c.find(use{anyWay, stable}, "profile-changed", pos, w.key, "was %q and is %q", w.was, w.is)
		}
	}
}

// suffixChanged reports whether all groups have other names because of the profile.
func (c *comparison) suffixChanged() bool {
	return c.old.profile != nil && c.now.profile != nil && c.old.profile.GroupSuffix != c.now.profile.GroupSuffix
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// today is the date of the new side.
func (c *comparison) today() time.Time {
	if c.options.Now.IsZero() {
		return time.Now().UTC()
	}
	return c.options.Now
}

// next is the release that the new side will be.
func (c *comparison) next() Release {
	next := Release{Version: c.options.Release, Date: c.today().Format(dateForm)}
	if next.Version == "" && c.old.Release != nil {
		next.Version = fmt.Sprintf("%d.%d", c.old.Release.major(), c.old.Release.minor()+1)
	}
	return next
}
