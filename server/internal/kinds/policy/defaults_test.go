package policy

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/defaults.tsv")

// Stored objects are shown with the values of default hooks, so a change of a hook must
// show in the documents. Each hook, with all code of this package that it uses, is
// therefore compared with its recorded form.
func TestDefaultHooksAreAsTheyWere(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	declared := map[string]ast.Node{} // declarations of the package, by name
	var hooks []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[d.Name.Name] = d
				if d.Recv != nil && strings.HasPrefix(d.Name.Name, "Default") {
					hooks = append(hooks, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range v.Names {
							declared[name.Name] = v
						}
					}
				}
			}
		}
	}
	slices.Sort(hooks)
	var got bytes.Buffer
	for _, hook := range hooks {
		h := sha256.New()
		uses := map[string]bool{}
		collectUses(declared, hook, uses)
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			if err := printer.Fprint(h, token.NewFileSet(), declared[name]); err != nil { // without comments and positions
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&got, "%s\t%x\n", hook, h.Sum(nil)[:8])
	}
	const path = "testdata/defaults.tsv"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	for line := range strings.Lines(got.String()) {
		if line = strings.TrimSpace(line); !slices.Contains(want, line) {
			hook, _, _ := strings.Cut(line, "\t")
			t.Errorf("%s, or what it uses, has changed: if it fills in more for an object that is stored, raise x-cluster-hook-revision of %s in schemas/; then run go test ./server/policy -run %s -update",
				hook, strings.TrimPrefix(hook, "Default"), t.Name())
		}
	}
	if len(want) != len(hooks)+1 {
		t.Errorf("%s has %d hooks, the package %d: run with -update", path, len(want)-1, len(hooks))
	}
}

// collectUses adds a declaration and all that it uses.
func collectUses(declared map[string]ast.Node, name string, uses map[string]bool) {
	if uses[name] || declared[name] == nil {
		return
	}
	uses[name] = true
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit) // the selected name is another type's or package's
			return false
		case *ast.Ident:
			collectUses(declared, n.Name, uses)
		}
		return true
	}
	ast.Inspect(declared[name], visit)
}
