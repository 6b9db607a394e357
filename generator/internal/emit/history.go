package emit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/delta"
)

// The built-in documents have a history of many releases, which share their code: a row of a catalog is there once for all
// releases in which it is the same, and tables and published documents are those of the usual release with the changes that
// lead to another.

// historic reports whether the built-in documents have several releases.
func historic(m *model.Model) bool { return m.Module == "" && len(m.Others) > 0 }

// catalogRow is a row of a catalog as Go source.
type catalogRow struct {
	Text string
	In   string // the condition for the releases that have the row, as Go; "" for all
}

// priorityIn is the priorities of a group version in some releases.
type priorityIn struct {
	Group, Version int
	In             string // the condition for the releases, as Go
}

// addRows writes the rows of a group version in one release.
func (g *catalogGroup) addRows() error {
	for _, r := range g.Resources {
		text, err := execute("catalog_row.tmpl", struct {
			Of *catalogGroup
			catalogResource
		}{g, r})
		if err != nil {
			return err
		}
		g.Rows = append(g.Rows, catalogRow{Text: text.String()})
	}
	return nil
}

// groupsOfReleases are the group versions of all releases, by folder.
func groupsOfReleases(m *model.Model) ([]catalogGroup, error) {
	if !historic(m) {
		return servedGroups(m)
	}
	models := m.InOrder()
	has := map[string][]*catalogGroup{} // by folder, and by release; nil where a release lacks the group version
	for i, of := range models {
		groups, err := servedGroups(of)
		if err != nil {
			return nil, fmt.Errorf("in release %s: %w", of.Releases.Now, err)
		}
		for j := range groups {
			if has[groups[j].Dir] == nil {
				has[groups[j].Dir] = make([]*catalogGroup, len(models))
			}
			has[groups[j].Dir][i] = &groups[j]
		}
	}
	var all []catalogGroup
	for _, dir := range slices.Sorted(maps.Keys(has)) {
		g, err := oneOfReleases(has[dir], m.Releases)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// oneOfReleases gathers a group version in all releases.
func oneOfReleases(in []*catalogGroup, releases model.Releases) (catalogGroup, error) {
	var g catalogGroup
	there, unlisted, off := make([]bool, len(in)), make([]bool, len(in)), make([]bool, len(in))
	priorities := map[[2]int][]bool{} // of the group and of the version
	rows := map[[2]string][]bool{}    // by plural and text: the releases that have it
	for i, one := range in {
		if one == nil {
			continue
		}
		there[i], unlisted[i], off[i] = true, one.Unlisted, one.Off
		if g.GroupVersion == nil {
			g = *one
			g.Historic, g.Rows = true, nil
		} else {
			g.join(one)
		}
		priority := [2]int{one.GroupPriority, one.VersionPriority}
		if priorities[priority] == nil {
			priorities[priority] = make([]bool, len(in))
		}
		priorities[priority][i] = true
		for j, row := range one.Rows {
			key := [2]string{one.Resources[j].Plural, row.Text}
			if rows[key] == nil {
				rows[key] = make([]bool, len(in))
			}
			rows[key][i] = true
		}
	}
	g.In = conditionOf(there, nil, releases.All)
	for _, of := range slices.SortedFunc(maps.Keys(priorities), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		if of != [2]int{g.GroupPriority, g.VersionPriority} {
			g.Priorities = append(g.Priorities, priorityIn{of[0], of[1], conditionOf(priorities[of], there, releases.All)})
		}
	}
	g.Hidden, g.OffIn = boolOf(unlisted, there, releases.All), boolOf(off, there, releases.All)
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b [2]string) int {
		if a[0] != b[0] {
			return strings.Compare(a[0], b[0])
		}
		return slices.Index(rows[a], true) - slices.Index(rows[b], true)
	})
	for _, key := range keys {
		g.Rows = append(g.Rows, catalogRow{Text: key[1], In: conditionOf(rows[key], there, releases.All)})
	}
	return g, g.sortMethods()
}

// join adds what another release of a group version needs of hand-written code.
func (g *catalogGroup) join(other *catalogGroup) {
	g.Validates, g.Finds, g.Expressive = g.Validates || other.Validates, g.Finds || other.Finds, g.Expressive || other.Expressive
	g.Methods = append(g.Methods, other.Methods...)
	for _, list := range []struct{ to, from *[]string }{{&g.Defaults, &other.Defaults}, {&g.Checks, &other.Checks}, {&g.Skips, &other.Skips}} {
		for i, name := range *list.from {
			if i < len(*list.to) && (*list.to)[i] == "" {
				(*list.to)[i] = name
			} else if i >= len(*list.to) {
				*list.to = append(*list.to, name)
			}
		}
	}
	for _, m := range other.Converts {
		if !slices.Contains(g.Converts, m) {
			g.Converts = append(g.Converts, m)
		}
	}
}

// conditionOf is the condition for some of the releases, as Go; "" if those are all that count.
func conditionOf(has, count []bool, names []string) string {
	if count == nil && !slices.Contains(has, false) || slices.Equal(has, count) {
		return ""
	}
	var runs []string
	for i := 0; i < len(has); i++ {
		if !has[i] {
			continue
		}
		first := i
		for i+1 < len(has) && has[i+1] {
			i++
		}
		runs = append(runs, fmt.Sprintf("r.In(%q, %q)", names[first], names[i]))
	}
	return strings.Join(runs, " || ")
}

// boolOf is a property that holds in some of the releases that count, as Go.
func boolOf(holds, count []bool, names []string) string {
	if !slices.Contains(holds, true) {
		return "false"
	}
	return cmp.Or(conditionOf(holds, count, names), "true")
}

// History emits the changes of tables and published documents between the releases of the built-in documents.
func History(m *model.Model) ([]File, error) {
	if !historic(m) {
		return nil, nil
	}
	var files []File
	models := m.InOrder()
	texts := make([]releaseTexts, len(models))
	usual := slices.Index(models, m)
	for i, of := range models {
		var err error
		if texts[i], err = textsOf(of); err != nil {
			return nil, fmt.Errorf("in release %s: %w", of.Releases.Now, err)
		}
	}
	data := struct {
		Releases model.Releases
		Changes  []releaseChanges
	}{Releases: m.Releases}
	for i := range models {
		from := i - 1
		if i == usual {
			continue
		} else if i < usual {
			from = i + 1
		}
		c := releaseChanges{Name: models[i].Releases.Now, From: models[from].Releases.Now, Suffix: releaseName(models[i].Releases.Now)}
		data.Changes = append(data.Changes, c)
		second, third := delta.Make(texts[from].v2, texts[i].v2), delta.Make(texts[from].v3, texts[i].v3)
		tables := delta.Make(texts[from].tables, texts[i].tables)
		files = append(files, File{"releases/" + c.Suffix + "_tables.txt", []byte(tables)}, File{"releases/packed/" + c.Suffix + "_tables.gz", pack([]byte(tables))},
			File{"releases/" + c.Suffix + "_v2.txt", []byte(second)}, File{"releases/" + c.Suffix + "_v3.txt", []byte(third)},
			File{"releases/packed/" + c.Suffix + "_openapi.gz", pack([]byte(second + third))})
	}
	source, err := executeGo("releases.go.tmpl", data)
	return append(files, File{"releases/releases.go", source}), err
}

// releaseChanges are the changes that lead to a release.
type releaseChanges struct{ Name, From, Suffix string }

// releaseTexts are the tables and the published documents of a release.
type releaseTexts struct{ tables, v2, v3 delta.Texts }

func textsOf(m *model.Model) (releaseTexts, error) {
	t := releaseTexts{delta.Texts{}, delta.Texts{}, delta.Texts{}}
	for _, gv := range m.GroupVersions {
		t.tables[gv.Dir] = gv.Table.Lines()
	}
	files, err := Published(m)
	for _, f := range files {
		of := t.v3
		if f.Path == "" {
			of = t.v2
		}
		of[api.TextName(f.Path)] = delta.Lines(f.Data)
	}
	return t, err
}
