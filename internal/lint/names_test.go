package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile(`[\w./-]*\w\.go\b`)

// inventedFiles are named by examples only.
var inventedFiles = map[string]bool{"server/internal/kinds/policy/cobbler.go": true}

// TestNamedFilesExist: a file named in a comment or a page exists. A comment may leave
// out the folder for a file of its package, a page for any.
func TestNamedFilesExist(t *testing.T) {
	known := map[string]bool{}
	goFiles(t, func(name string) {
		for at := name; ; {
			known[at] = true
			_, rest, ok := strings.Cut(at, "/")
			if !ok {
				break
			}
			at = rest
		}
	})
	checked := 0
	check := func(where, dir, text string) {
		for _, name := range goFile.FindAllString(text, -1) {
			checked++
			if !strings.Contains(name, "/") {
				name = path.Join(dir, name)
			}
			if !known[name] && !inventedFiles[name] {
				t.Errorf("%s names %s, which is not there", where, name)
			}
		}
	}
	goFiles(t, func(name string) {
		if !handwritten(name) || strings.HasSuffix(name, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("..", "..", name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, c := range file.Comments {
			check(files.Position(c.Pos()).String(), path.Dir(name), c.Text())
		}
	})
	pages, err := filepath.Glob(filepath.Join("..", "..", "*.md"))
	for _, page := range pages {
		text, readErr := os.ReadFile(page)
		if readErr != nil {
			t.Fatal(readErr)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			check(filepath.Base(page), "", m[1])
		}
	}
	if err != nil || checked < 30 {
		t.Errorf("%d names were checked, error %v", checked, err)
	}
}

// TestDocCommentsNameTheirSubject: a doc comment that begins with an identifier begins with
// that of its declaration.
func TestDocCommentsNameTheirSubject(t *testing.T) {
	identifier := regexp.MustCompile(`^[a-z_]\w*$`)
	goFiles(t, func(name string) {
		if !handwritten(name) {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("..", "..", name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range file.Decls {
			doc, declared := documented(d)
			if first, _, _ := strings.Cut(doc.Text(), " "); identifier.MatchString(first) && first != declared {
				t.Errorf("%s: the comment on %s begins with %s", files.Position(doc.Pos()), declared, first)
			}
		}
	})
}

// documented returns the doc comment and the name of a declaration of one thing.
func documented(d ast.Decl) (doc *ast.CommentGroup, name string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc, d.Name.Name
	case *ast.GenDecl:
		if d.Lparen.IsValid() {
			return nil, ""
		}
		switch s := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return d.Doc, s.Name.Name
		case *ast.ValueSpec:
			return d.Doc, s.Names[0].Name
		}
	}
	return nil, ""
}
