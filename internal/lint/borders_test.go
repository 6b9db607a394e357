package lint

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/capstan-dev/capstan/"

// layersFile has the layers, in a row for each.
const layersFile = "internal/lint/layers.txt"

// row is one line of that file.
type row struct {
	folders []string // in which "*" is any one name
	may     []string // the folders that their packages may import, as other rows write them
}

var code = regexp.MustCompile("`([^`]+)`")

// readLayers reads the text of layersFile. Unreadable parts are mistakes.
func readLayers(text string) (rows []row, mistakes []string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
			mistakes = append(mistakes, fmt.Sprintf("a row needs three cells, the first in backquotes: %s", strings.TrimSpace(line)))
			continue
		}
		var r row
		for _, m := range code.FindAllStringSubmatch(cells[0], -1) {
			r.folders = append(r.folders, m[1])
		}
		if may := strings.TrimSpace(cells[2]); may != "nothing" {
			r.may = strings.Split(may, ", ")
		}
		rows = append(rows, r)
	}
	for i := range rows {
		for j, name := range rows[i].may {
			full := folderOf(rows, name)
			if len(full) != 1 {
				mistakes = append(mistakes, fmt.Sprintf("%s may import %q, which names %d rows: write the folder as the first cell of its row has it", rows[i].folders, name, len(full)))
				continue
			}
			rows[i].may[j] = full[0]
		}
	}
	return rows, mistakes
}

// folderOf returns the folders of rows that a name in the last cell may mean.
func folderOf(rows []row, name string) (full []string) {
	for _, r := range rows {
		for _, f := range r.folders {
			if f == name {
				return []string{f}
			}
			if f == "internal/"+name || f == "server/internal/"+name {
				full = append(full, f)
			}
		}
	}
	return full
}

// rowOf returns the row of a package and the folder in it that matches, or -1.
func rowOf(rows []row, pkg string) (at int, folder string) {
	at = -1
	for i, r := range rows {
		for _, f := range r.folders {
			if ok, _ := path.Match(f, pkg); ok {
				if at >= 0 {
					return -2, folder
				}
				at, folder = i, f
			}
		}
	}
	return at, folder
}

// checkBorders compares the imports of packages, without their tests, with the rows.
func checkBorders(rows []row, imports map[string][]string) (mistakes []string) {
	say := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	matched, used := map[string]bool{}, map[string]bool{}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		at, folder := rowOf(rows, pkg)
		if at < 0 {
			say("%s needs exactly one row", pkg)
			continue
		}
		matched[folder] = true
		for _, name := range imports[pkg] {
			below, to := rowOf(rows, name)
			switch {
			case below < 0: // reported for that package
			case !slices.Contains(rows[at].may, to):
				say("%s imports %s, which its row does not name", pkg, name)
			case below > at:
				say("%s imports %s, whose row is below its own: the rows go from the bottom of the house to its top", pkg, name)
			}
			used[fmt.Sprint(at, to)] = true
		}
	}
	for i, r := range rows {
		for _, f := range r.folders {
			if !matched[f] {
				say("%s has a row and no package", f)
			}
		}
		for _, f := range r.may {
			if !used[fmt.Sprint(i, f)] {
				say("%s may import %s, and does not: remove the permission", r.folders, f)
			}
		}
	}
	return mistakes
}

// packages returns the imports within this module of each of its packages, on all
// platforms and build tags, without those of tests, and which of them are programs.
func packages(t *testing.T) (imports map[string][]string, programs map[string]bool) {
	t.Helper()
	imports, programs = map[string][]string{}, map[string]bool{}
	goFiles(t, func(name string) {
		pkg := path.Dir(name)
		if ownModule(pkg) {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", name), nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		if imports[pkg] == nil {
			imports[pkg] = []string{}
		}
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		programs[pkg] = file.Name.Name == "main"
		for _, imp := range file.Imports {
			if ours, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module); ok && !slices.Contains(imports[pkg], ours) {
				imports[pkg] = append(imports[pkg], ours)
			}
		}
	})
	return imports, programs
}

// ownModule reports whether a package is in a module inside this one, whose go.mod has
// its imports.
func ownModule(pkg string) bool {
	return below(pkg, "internal/e2e") || below(pkg, "tools/differ") || below(pkg, "tools/storm") || below(pkg, "tools/pinned") || below(pkg, "tools/etcd") || below(pkg, "tools/release") || below(pkg, "tools/chart")
}

func TestImportsAreThoseOfTheLayers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", layersFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, mistakes := readLayers(string(text))
	imports, _ := packages(t)
	for _, m := range append(mistakes, checkBorders(rows, imports)...) {
		t.Errorf("%s: %s", layersFile, m)
	}
	if len(rows) < 20 || len(imports) < 50 {
		t.Errorf("%d rows and %d packages were found", len(rows), len(imports))
	}
}

// exposed are the packages that other programs can import and should not, with the plan
// for each.
var exposed = map[string]string{"openapi": "only a package in that folder can embed the profile", "schemas": "only a package in that folder can embed the schemas",
	"explorer": "only a package in that folder can embed the page"}

// TestOtherProgramsMayImportLittle: a package that can be imported from outside has to
// stay as it is, so everything else is in a folder internal.
func TestOtherProgramsMayImportLittle(t *testing.T) {
	public := []string{"server", "server/command", "server/manual", "server/servertest", "server/builtin", "server/extras", "object", "action", "kit/*", "client", "nodeapi", "gen/client", "gen/*/*", "value", "generator/compat"}
	found := map[string]bool{}
	imports, programs := packages(t)
	for pkg := range imports {
		if programs[pkg] || slices.Contains(strings.Split(pkg, "/"), "internal") || below(pkg, "tools/bench") || // which has tests only
			slices.ContainsFunc(public, func(p string) bool { ok, _ := path.Match(p, pkg); return ok }) {
			continue
		}
		found[pkg] = true
		if exposed[pkg] == "" {
			t.Errorf("other programs can import %s: put it into a folder internal", pkg)
		}
	}
	for pkg, why := range exposed {
		if !found[pkg] {
			t.Errorf("%s (%s) is not exposed any more: remove it from the list", pkg, why)
		}
	}
}

func TestBorders(t *testing.T) {
	const head = "# The layers.\n#\n# | `internal/z` | a comment | nothing |\n"
	tests := []struct {
		name, rows, want string
		imports          map[string][]string
	}{
		{"exact", "| `internal/a`, `internal/b` | bottom | nothing |\n| `server/internal/c` | room | a, internal/b |\n| `gen/*/*` | many | gen/*/*, c |\n", "",
			map[string][]string{"internal/a": nil, "internal/b": nil, "server/internal/c": {"internal/a", "internal/b"},
				"gen/x/v1": {"gen/x/v2", "server/internal/c"}, "gen/x/v2": nil}},
		{"not permitted", "| `internal/a` | | nothing |\n| `internal/b` | | nothing |\n", "internal/b imports internal/a, which its row does not name",
			map[string][]string{"internal/a": nil, "internal/b": {"internal/a"}}},
		{"unused", "| `internal/a` | | nothing |\n| `internal/b` | | a |\n", "[internal/b] may import internal/a, and does not",
			map[string][]string{"internal/a": nil, "internal/b": nil}},
		{"upwards", "| `internal/b` | | a |\n| `internal/a` | | nothing |\n", "internal/b imports internal/a, whose row is below its own",
			map[string][]string{"internal/a": nil, "internal/b": {"internal/a"}}},
		{"no row", "| `internal/a` | | nothing |\n", "internal/b needs exactly one row",
			map[string][]string{"internal/a": nil, "internal/b": nil}},
		{"two rows", "| `gen/a` | | nothing |\n| `gen/*` | | nothing |\n", "gen/a needs exactly one row",
			map[string][]string{"gen/a": nil, "gen/b": nil}},
		{"no package", "| `internal/a` | | nothing |\n", "internal/a has a row and no package", nil},
		{"which", "| `internal/a`, `server/internal/a` | | nothing |\n| `internal/b` | | a |\n", `[internal/b] may import "a", which names 2 rows`,
			map[string][]string{"internal/a": nil, "server/internal/a": nil, "internal/b": {"internal/a"}}},
		{"cells", "| `internal/a` | nothing |\n", "a row needs three cells", nil},
		{"no quotes", "| internal/a | | nothing |\n", "a row needs three cells, the first in backquotes", nil},
	}
	for _, tt := range tests {
		rows, mistakes := readLayers(head + tt.rows)
		got := strings.Join(append(mistakes, checkBorders(rows, tt.imports)...), "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
