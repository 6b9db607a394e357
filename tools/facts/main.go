// Command facts writes what Kubernetes served in each release as tables: fields of types, resources, lifecycles
// of kinds, and feature gates, each with the releases of which a row is true. It reads the published Go
// modules k8s.io/kubernetes and k8s.io/api.
//
//	facts DIR 1.25.16 1.26.15 ...
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: facts DIR RELEASE...: writes the tables of releases, as 1.25.16, into DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the tables of releases.
func write(dir string, releases []string) error {
	all := map[string]*table{}
	for name, columns := range columnsOf {
		all[name] = &table{columns: columns, rows: map[string][]int{}}
	}
	for _, number := range releases {
		minor, err := minorOf(number)
		if err != nil {
			return err
		}
		source, err := openRelease(number)
		if err != nil {
			return fmt.Errorf("release %s: %w", number, err)
		}
		found, err := source.read()
		source.close()
		if err != nil {
			return fmt.Errorf("release %s: %w", number, err)
		}
		for name, rows := range found {
			for _, row := range rows {
				all[name].add(row, minor)
			}
		}
		fmt.Fprintf(os.Stderr, "%s: %d fields, %d resources, %d lifecycles, %d gates\n", number,
			len(found["fields"]), len(found["resources"]), len(found["lifecycles"]), len(found["gates"]))
	}
	for name, t := range all {
		if err := os.WriteFile(filepath.Join(dir, name+".tsv"), t.text(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// minorOf is 25 for 1.25.16.
func minorOf(number string) (int, error) {
	parts := strings.Split(number, ".")
	if len(parts) != 3 || parts[0] != "1" {
		return 0, fmt.Errorf("%q is no release; write all three numbers, as 1.25.16", number)
	}
	return strconv.Atoi(parts[1])
}

// columnsOf are the columns of the tables, before the releases.
var columnsOf = map[string]string{
	"fields":     "type\tfield\tform\trequired\tpresence\tnumber\tlist_type\tlist_map_keys\tmap_type\tpatch_strategy\tpatch_merge_key\tdefault\tenum",
	"resources":  "group\tversion\tresource\tkind\tnamespaced\tverbs",
	"lifecycles": "group\tversion\tkind\tintroduced\tdeprecated\tremoved\treplacement",
	"gates":      "gate\tstage\tenabled\tlocked",
}

// table has rows, and the minor numbers of the releases that have each of them.
type table struct {
	columns string
	rows    map[string][]int
}

func (t *table) add(row string, minor int) {
	if n := len(t.rows[row]); n == 0 || t.rows[row][n-1] != minor {
		t.rows[row] = append(t.rows[row], minor)
	}
}

// text is the table in the order of its rows. The last column has ranges of minor numbers.
func (t *table) text() []byte {
	keys := slices.SortedFunc(maps.Keys(t.rows), func(a, b string) int {
		one := func(row string) string { return strings.Join(strings.SplitN(row, "\t", 4)[:2], "\t") }
		return cmp.Or(cmp.Compare(one(a), one(b)), cmp.Compare(t.rows[a][0], t.rows[b][0]), cmp.Compare(a, b))
	})
	out := []byte(t.columns + "\treleases\n")
	for _, row := range keys {
		out = fmt.Appendf(out, "%s\t%s\n", row, ranges(t.rows[row]))
	}
	return out
}

// ranges writes ascending numbers as "25-28,30".
func ranges(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		part := strconv.Itoa(all[i])
		if j > i {
			part += "-" + strconv.Itoa(all[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
