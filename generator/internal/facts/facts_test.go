// Package facts compares the project's documents with tables of facts about
// the 1.25 surface, so that an edit of a document that clients would notice
// does not go unnoticed here.
package facts

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// row is one line of a table of facts, by column. "-" is nothing.
type row map[string]string

func (r row) list(column string) []string {
	if r[column] == "-" {
		return nil
	}
	return strings.Split(r[column], ",")
}

// table reads testdata/<name>.tsv.
func table(t *testing.T, name string) []row {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var columns []string
	var rows []row
	for s := bufio.NewScanner(f); s.Scan(); {
		cells := strings.Split(s.Text(), "\t")
		if columns == nil {
			columns = cells
			continue
		}
		if len(cells) != len(columns) {
			t.Fatalf("%s: %d cells in %q, want %d", name, len(cells), s.Text(), len(columns))
		}
		r := row{}
		for i, c := range columns {
			r[c] = cells[i]
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: no rows", name)
	}
	return rows
}

// differences collects the disagreements of facts and documents, once each, as
// "<subject>: fact <x>, document <y>", and counts by table the facts that no document can
// be compared with.
type differences struct {
	found   map[string]bool
	skipped map[string]int
}

func (d differences) compare(subject, aspect, fact, document string) {
	if fact != document {
		d.found[fmt.Sprintf("%s: fact %s %s, document %s", subject, aspect, fact, document)] = true
	}
}

func (d differences) missing(subject string) {
	d.found[subject+": fact present, document missing"] = true
}

func (d differences) unexpected(subject string) {
	d.found[subject+": fact missing, document present"] = true
}

// skip counts facts of a table.
func (d differences) skip(table string, n int) { d.skipped[table] += n }

// skippedFacts are the numbers of facts that are compared with nothing, by table.
var skippedFacts = map[string]int{
	"constants": 470, // of types of which no field has an enum in the documents
	"types":     33,  // of group versions that are not served
}

func list(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}

func sorted(words []string) string { return list(slices.Sorted(slices.Values(words))) }

func yes(b bool) string {
	if b {
		return "y"
	}
	return "n"
}

// dir is the directory of the documents of a group version as facts name it:
// authentication.k8s.io/v1 is authentication/v1.
func dir(gv, suffix string) string { return strings.Replace(gv, "."+suffix+"/", "/", 1) }

// served reports for each group version, by its directory, whether the documents serve
// it. Facts of the others count only where a document has the type.
func served(m *model.Model) map[string]bool {
	s := map[string]bool{"meta/v1": true}
	for _, gv := range m.GroupVersions {
		if gv.Served {
			s[gv.Dir] = true
		}
	}
	return s
}

func TestDocumentsAgreeWithFacts(t *testing.T) {
	m, err := load.Load(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dropOwn(m)
	types := factTypes(t, m.Profile.GroupSuffix)
	for _, r := range dropNewer(m, table(t, "newer"), func(id string) bool { _, ok := types[id]; return ok }) {
		t.Errorf("newer.tsv: there are no %s in %s/%s", r["resource"], r["group"], r["version"])
	}
	all := differences{found: map[string]bool{}, skipped: map[string]int{}}
	found := all.found
	compareTypes(t, m, all)
	compareDefaults(t, m, all)
	compareResources(t, m, all)
	compareConstants(t, m, all)
	compareVersions(t, m, all)

	for _, r := range table(t, "exceptions") {
		if r["reason"] == "" {
			t.Errorf("exception without a reason: %s", r["difference"])
		}
		if !found[r["difference"]] {
			t.Errorf("exception that is not needed any more, remove it: %s", r["difference"])
		}
		delete(found, r["difference"])
	}
	for _, d := range slices.Sorted(maps.Keys(found)) {
		t.Error(d)
	}
	if !maps.Equal(all.skipped, skippedFacts) {
		t.Errorf("facts that are compared with nothing, by table: %v, want %v: compare them, or note the lower number", all.skipped, skippedFacts)
	}
}

// typesByID indexes the types of the documents: "core/v1.PodSpec".
func typesByID(m *model.Model) map[string]*model.Type {
	types := map[string]*model.Type{}
	for _, gv := range m.GroupVersions {
		for _, typ := range gv.Types {
			types[gv.Dir+"."+typ.Name] = typ
		}
	}
	return types
}
