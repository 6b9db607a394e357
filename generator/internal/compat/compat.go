// Package compat compares the documents with those of the last release and finds changes
// that would break clients, stored objects or the deprecation policy.
//
// openapi/released holds a copy of openapi/ and schemas/ as they were released.
package compat

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// released is the folder of the copy, below the root of the project.
const released = "openapi/released"

// Run compares the documents below root with the released ones, writes a line per
// finding, "file:line: level rule: finding", and reports whether one of them is an error.
// Without a released copy there is nothing to break.
func Run(root string, w io.Writer) (breaking bool, err error) {
	dir := filepath.Join(root, filepath.FromSlash(released))
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		_, err := fmt.Fprintf(w, "%s does not exist, so there is nothing to compare with: copy openapi/ and schemas/ there at a release\n", released)
		return false, err
	}
	before, err := load.Load(dir)
	if err != nil {
		return false, fmt.Errorf("the released documents cannot be read:\n%w", err)
	}
	now, err := load.Load(root)
	if err != nil {
		return false, err
	}
	findings := Compare(before, now)
	counts := map[Level]int{}
	for _, f := range findings {
		counts[f.Level]++
		if _, err := fmt.Fprintln(w, f); err != nil {
			return false, err
		}
	}
	_, err = fmt.Fprintf(w, "%d errors, %d warnings\n", counts[Error], counts[Warning])
	return counts[Error] > 0, err
}

// Finding is one difference that a rule forbids or doubts.
type Finding struct {
	Pos   schema.Position // in the documents; in the released ones for removed things
	Level Level
	Rule  string // an ID of Rules
	What  string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %s %s: %s", f.Pos, f.Level, f.Rule, f.What)
}

// Compare lists the findings on the way from one model to another, in the order of files
// and lines.
func Compare(before, now *model.Model) []Finding {
	c := &comparison{before: index(before), now: index(now), compared: map[pair]bool{}}
	for _, old := range before.GroupVersions {
		c.groupVersion(old, c.now.groups[old.Dir])
	}
	c.preferred(before, now)
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	return slices.Compact(c.findings)
}

// comparison is the work of one Compare.
type comparison struct {
	before, now documents
	compared    map[pair]bool
	findings    []Finding
}

// pair is two schemas that stand for each other. A type that many fields have
// is compared once.
type pair struct{ before, now *schema.Schema }

// scope is the surrounding of a compared type; it decides how strict the rules are.
type scope struct {
	stability  string
	deprecated bool // clients of the last release were warned
}

// of is the scope of a type that is declared in a group version. Types that no version
// serves of its own are as strict as stable ones.
func (s scope) of(gv *model.GroupVersion) scope {
	if !gv.Served {
		return scope{stability: "stable"}
	}
	if gv.Stability != s.stability {
		return scope{stability: gv.Stability}
	}
	return s
}

// documents finds things in a model.
type documents struct {
	groups map[string]*model.GroupVersion // by directory
	types  map[string]*model.Type         // by ID
}

func index(m *model.Model) documents {
	d := documents{groups: map[string]*model.GroupVersion{}, types: map[string]*model.Type{}}
	for _, gv := range m.GroupVersions {
		d.groups[gv.Dir] = gv
		for _, t := range gv.Types {
			d.types[t.ID] = t
		}
	}
	return d
}

// find reports a difference.
func (c *comparison) find(s scope, rule string, pos schema.Position, format string, args ...any) {
	c.findings = append(c.findings, Finding{pos, levelOf(rule, s), rule, fmt.Sprintf(format, args...)})
}

// gone is a position in the released documents.
func gone(pos schema.Position) schema.Position {
	pos.File = released + "/" + pos.File
	return pos
}
