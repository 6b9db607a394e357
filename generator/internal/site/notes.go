package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// Notes are the notes of a release in Markdown: the changes of a project's documents since the last release, by the
// report of the gate.
func Notes(root, version string, day time.Time) (string, error) {
	w, err := readProject(root)
	if err != nil {
		return "", err
	}
	c, err := compareRelease(root, day, false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Release %s\n\nOf %s, ", version, day.Format(time.DateOnly))
	if c.Release.None() {
		b.WriteString("the first release.\n")
	} else {
		fmt.Fprintf(&b, "after %s. The gate says: %s.\n", c.Release.Version, c.Report.Summary())
	}
	noteFindings(&b, "Breaks promises, and was accepted", c.Report.Accepted)
	noteFindings(&b, "May surprise clients", c.Report.Findings)
	if preferred := otherPreferred(c.before, w.model); preferred != nil {
		fmt.Fprintf(&b, "\n## For clients\n\n%s\n\nClients that name no version, such as kubectl, speak that one.\n", strings.Join(preferred, "\n"))
	}
	if moved := restored(c.before, w.model); moved != nil {
		fmt.Fprintf(&b, "\n## For operators\n\n%s\n\nThe server's command `store migrate` rewrites stored objects while the server runs; until then each read converts them.\n", strings.Join(moved, "\n"))
	}
	added := w.added("", c.before, w.model)
	if len(added) == 0 {
		b.WriteString("\n## New\n\nNothing: no version, kind, operation or field.\n")
		return b.String(), nil
	}
	b.WriteString("\n## New\n\n")
	for i := range added {
		noteAddition(&b, &added[i])
	}
	return b.String(), nil
}

func noteFindings(b *strings.Builder, title string, findings []compat.Finding) {
	for i, f := range findings {
		if i == 0 {
			fmt.Fprintf(b, "\n## %s\n\n", title)
		}
		fmt.Fprintf(b, "- %s (`%s`: %s)\n", f.Text(), f.Rule, f.Why)
	}
}

func noteAddition(b *strings.Builder, a *addition) {
	name := "`" + a.GV.Group + "/" + a.GV.Version + "`"
	var kinds []string
	for _, k := range a.Kinds {
		kinds = append(kinds, "`"+k.Name+"`")
	}
	switch {
	case a.Version:
		fmt.Fprintf(b, "- The version %s with %s.\n", name, strings.Join(kinds, ", "))
	case len(kinds) > 0:
		fmt.Fprintf(b, "- In %s %s.\n", name, strings.Join(kinds, ", "))
	}
	for _, r := range a.Further {
		fmt.Fprintf(b, "- In %s `%s`.\n", name, r)
	}
	for _, f := range a.Fields {
		fmt.Fprintf(b, "- In %s the fields `%s` of `%s`.\n", name, strings.Join(f.Names, "`, `"), f.Type.Name)
	}
}

// otherPreferred are lines about the groups of which clients prefer another version than before.
func otherPreferred(before, now *model.Model) (lines []string) {
	was, is := model.Preferred(before.GroupVersions), model.Preferred(now.GroupVersions)
	for _, group := range slices.Sorted(maps.Keys(is)) {
		if old := was[group]; old != nil && old.Version != is[group].Version {
			lines = append(lines, fmt.Sprintf("- The preferred version of `%s` is `%s`, and was `%s`.", group, is[group].Version, old.Version))
		}
	}
	return lines
}

// restored are lines about the resources whose objects are stored in another version than before.
func restored(before, now *model.Model) (lines []string) {
	was := map[string]string{}
	for _, gv := range before.GroupVersions {
		for _, r := range gv.Resources {
			was[gv.Group+" "+r.Plural] = r.StorageVersion
		}
	}
	for _, gv := range now.GroupVersions {
		for _, r := range gv.Resources {
			if old := was[gv.Group+" "+r.Plural]; old != "" && old != r.StorageVersion && r.Stored {
				lines = append(lines, fmt.Sprintf("- Objects of `%s.%s` are stored as `%s`, and were as `%s`.", r.Plural, gv.Group, r.StorageVersion, old))
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
