package schema_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"testing"
)

// TestKitHasAllNames looks for the names that generated code of this module uses in the
// packages that generated code of others gets in place of the internal ones.
func TestKitHasAllNames(t *testing.T) {
	for _, pkg := range []string{"api", "document", "expression", "schema"} {
		has := map[string]bool{}
		kit, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", pkg, pkg+".go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range kit.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					has[n.Name.Name] = true
				case *ast.ValueSpec:
					has[n.Names[0].Name] = true
				case *ast.FuncDecl:
					has[n.Name.Name] = true
				}
				return true
			})
		}
		if len(has) == 0 {
			t.Errorf("kit/%s is empty", pkg)
		}
		files, _ := filepath.Glob("../../internal/gen/*/*/*.go")
		if len(files) < 20 {
			t.Fatal(files)
		}
		missing := map[string]bool{}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if of, ok := s.X.(*ast.Ident); ok && of.Name == pkg && !has[s.Sel.Name] && regexp.MustCompile(`^[A-Z]`).MatchString(s.Sel.Name) {
						missing[s.Sel.Name] = true
					}
				}
				return true
			})
		}
		for name := range missing {
			t.Errorf("kit/%s lacks %s: add it", pkg, name)
		}
	}
}
