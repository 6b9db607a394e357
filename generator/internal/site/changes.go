package site

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// broken is a promise with the changes that break it.
type broken struct {
	Level           compat.Level
	Rule, Why, Mend string
	Findings        []compat.Finding
}

// comparedTo is the present documents next to those of the last release.
type comparedTo struct {
	Release *compat.Release
	before  *model.Model
	Report  *compat.Report
}

// compareRelease compares the documents of a project with its last release, as of a day: of now, or of the
// release itself.
func compareRelease(root string, now time.Time, asReleased bool) (*comparedTo, error) {
	old, err := compat.Baseline(root, now)
	if err != nil {
		return nil, err
	}
	if asReleased {
		if now, err = time.Parse(time.DateOnly, old.Release.Date); err != nil {
			return nil, err
		}
	}
	documents, err := compat.Documents(root)
	if err != nil {
		return nil, err
	}
	config, err := compat.ReadConfig(filepath.Join(root, "compat.yaml"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	before := &model.Model{}
	if !old.Release.None() {
		if before, err = load.Load(filepath.Join(root, filepath.FromSlash(compat.Released))); err != nil {
			return nil, err
		}
	}
	return &comparedTo{old.Release, before, compat.Compare(old, documents, compat.Options{Config: config, Now: now})}, nil
}

// changes adds the page about the last release and the present documents.
func (w *writer) changes(now time.Time) {
	c, err := compareRelease(w.root, now, false)
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	w.changesPage("changes.html", "Changes since "+c.Release.Version, "the documents of these pages", "make compat", c.Release.Date, c, w.model)
}

// releases adds a page for each step from one release of documents with a history to the next.
func (w *writer) releases(all []*model.Model, now time.Time) {
	for i := 1; i < len(all); i++ {
		w.step(all[i-1], all[i], now)
	}
}

// step adds the page about the step from one release to the next.
func (w *writer) step(before, after *model.Model, now time.Time) {
	from, to := before.Releases.Now, after.Releases.Now
	old := compat.ReleaseOf(before, now)
	report := compat.Compare(old, compat.ReleaseOf(after, now), compat.Options{Release: to, Now: now})
	command := "capstan-gen compat --from " + from + " --to " + to
	w.changesPage(stepPage(from, to), titleOfStep(from, to), "release "+to, command, before.Releases.Dates[from], &comparedTo{old.Release, before, report}, after)
}

// stepPage is the page of the step from one release to the next.
func stepPage(from, to string) string { return "changes-" + from + "-" + to + ".html" }

func titleOfStep(from, to string) string { return "Changes from " + from + " to " + to }

// stepsOf are the pages of the steps from each of all releases to the next.
func stepsOf(releases []string) (all []entry) {
	for i, to := range releases {
		if i > 0 {
			from := releases[i-1]
			all = append(all, entry{Page: stepPage(from, to), Title: titleOfStep(from, to)})
		}
	}
	return all
}

// changesPage adds a page about two states of the documents.
func (w *writer) changesPage(page, title, with, command, date string, c *comparedTo, after *model.Model) {
	data := struct {
		*comparedTo
		Title, With, Command, Date string
		Breaking                   []broken
		Added                      []addition
	}{c, title, with, command, date, byRule(c.Report.Findings), w.added(page, c.before, after)}
	headings := []heading{{2, "breaking", "What breaks clients, or may"}, {2, "new", "New"}}
	w.add(page, title, headings, w.render(page, "changes", data))
}

// byRule groups findings by the promise that they break, the gravest first.
func byRule(findings []compat.Finding) (all []broken) {
	for _, f := range findings {
		i := slices.IndexFunc(all, func(b broken) bool { return b.Rule == f.Rule && b.Level == f.Level })
		if i < 0 {
			all = append(all, broken{f.Level, f.Rule, f.Why, f.Mend, nil})
			i = len(all) - 1
		}
		all[i].Findings = append(all[i].Findings, f)
	}
	grave := []compat.Level{compat.Error, compat.Warning, compat.Note}
	slices.SortStableFunc(all, func(a, b broken) int { return slices.Index(grave, a.Level) - slices.Index(grave, b.Level) })
	return all
}

// addition lists the new parts of a group version since the release.
type addition struct {
	GV      *model.GroupVersion
	Version bool       // the release lacks the version
	Kinds   []typeName // new kinds, with their pages
	Further []string   // resources and subresources of kinds that were there
	Fields  []newFields
}

// newFields are the new fields of a type that was there.
type newFields struct {
	Type  typeName
	Names []string
}

// added lists the additions, for a page.
func (w *writer) added(page string, old, now *model.Model) (all []addition) {
	types, resources, versions := model.TypesByID(old.GroupVersions), map[string]bool{}, map[string]bool{}
	for _, gv := range old.GroupVersions {
		versions[gv.Dir] = true
		for _, name := range resourcesOf(gv) {
			resources[gv.Dir+" "+name] = true
		}
	}
	for _, gv := range now.GroupVersions {
		if gv.BuiltIn {
			continue
		}
		a := addition{GV: gv, Version: !versions[gv.Dir]}
		for _, t := range gv.Types {
			before := types[t.ID]
			if before == nil && t.Kind {
				a.Kinds = append(a.Kinds, w.linkTo(page, t))
			} else if before != nil {
				a.addFields(w.linkTo(page, t), before, t)
			}
		}
		for _, name := range resourcesOf(gv) {
			if versions[gv.Dir] && !resources[gv.Dir+" "+name] {
				a.Further = append(a.Further, name)
			}
		}
		if len(a.Kinds)+len(a.Further)+len(a.Fields) > 0 {
			all = append(all, a)
		}
	}
	return all
}

// addFields adds the fields that a type did not have before.
func (a *addition) addFields(name typeName, before, now *model.Type) {
	var names []string
	for _, p := range now.Schema.Properties {
		had := false
		for _, q := range before.Schema.Properties {
			had = had || p.Name == q.Name
		}
		if !had {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 {
		a.Fields = append(a.Fields, newFields{name, names})
	}
}

// resourcesOf names the resources of a group version and their subresources.
func resourcesOf(gv *model.GroupVersion) (names []string) {
	for _, r := range gv.Resources {
		names = append(names, r.Plural)
		for _, s := range r.Subresources {
			names = append(names, strings.Join([]string{r.Plural, s.Name}, "/"))
		}
	}
	return names
}
