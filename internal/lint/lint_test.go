// Package lint holds the house rules that no other tool checks, as tests.
package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/capstan-dev/capstan/"

// forbidden says which imports may not cross a border: a package below the
// first path may not import one below any of the others. Imports point one
// way: api, document and schema in the centre, the other internal packages
// around them, gen beside those, server on top.
var forbidden = []struct {
	from string
	to   []string
	why  string
}{
	{"internal/", []string{"server"}, "the server is wired from the outside"},
	{"gen/", []string{"server", "generator"}, "generated code calls hand-written code through interfaces"},
	{"internal/store", []string{"gen", "internal/api", "internal/document", "internal/schema"}, "the store knows bytes, not kinds"},
	{"internal/watch", []string{"gen", "internal/api", "internal/document", "internal/schema"}, "watches carry bytes, not kinds"},
	{"internal/index", []string{"gen", "internal/api", "internal/document", "internal/schema", "internal/selector", "internal/watch"}, "the index knows headers, not what is in them"},
	{"internal/schema", []string{"gen", "internal/api", "internal/document", "internal/store", "internal/codec"}, "tables are the centre"},
	{"internal/document", []string{"gen", "internal/api", "internal/store", "internal/codec"}, "documents need tables only"},
	{"internal/api", []string{"gen", "internal/store", "internal/codec", "internal/watch", "internal/authn", "internal/authz"}, "the domain centre imports no adapter"},
	{"client", []string{"internal/", "server", "gen"}, "a client is usable on its own"},
	{"value", []string{"internal/", "server", "gen"}, "value types are usable on their own"},
}

// exceptions are imports that a rule forbids and that have a reason.
var exceptions = map[string]string{
	"internal/e2e": "tests of the whole may see all of it",
}

func goFiles(t *testing.T, visit func(path string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "capstan-data") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			visit(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func below(pkg, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return pkg == dir || strings.HasPrefix(pkg, dir+"/")
}

func TestImportsPointOneWay(t *testing.T) {
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return // tests may look around
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", path), nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		for dir := range exceptions {
			if below(pkg, dir) {
				return
			}
		}
		for _, imp := range file.Imports {
			name := strings.Trim(imp.Path.Value, `"`)
			if !strings.HasPrefix(name, module) {
				continue
			}
			name = strings.TrimPrefix(name, module)
			for _, rule := range forbidden {
				for _, to := range rule.to {
					if below(pkg, rule.from) && below(name, to) {
						t.Errorf("%s imports %s: %s", path, name, rule.why)
					}
				}
			}
		}
	})
}

// handwritten reports whether people maintain a file.
func handwritten(path string) bool { return !strings.HasPrefix(path, "gen/") }

func TestNoHandWrittenFileIsTooLong(t *testing.T) {
	goFiles(t, func(path string) {
		b, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Error(err)
			return
		}
		const limit = 700
		if lines := strings.Count(string(b), "\n"); handwritten(path) && lines > limit {
			t.Errorf("%s has %d lines, the limit is %d: split it by noun", path, lines, limit)
		}
	})
}

// What is generated is committed, so that a change of a document shows what comes
// of it. For that a diff must stay short: files of bounded length, in lines of
// bounded length. The binary form of the OpenAPI document is that of v2.json.
func TestGeneratedFilesCanBeReviewed(t *testing.T) {
	const mostLines, longestLine = 5000, 10_000
	root, seen := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(filepath.Join(root, "gen"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".pb") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		path, _ = filepath.Rel(root, path)
		lines := strings.Split(string(text), "\n")
		if len(lines) > mostLines+1 {
			t.Errorf("%s has %d lines, the limit is %d: let the generator write a file per kind", path, len(lines), mostLines)
		}
		for i, line := range lines {
			if len(line) > longestLine {
				t.Errorf("%s:%d is %d bytes long, the limit is %d: let the generator break it", path, i+1, len(line), longestLine)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files were read, error %v", seen, err)
	}
}

func TestPackageCodeDoesNotPanicOrPrint(t *testing.T) {
	words := []string{"fmt.Print", "log.Print", "log.Fatal", "os.Exit(", "\tinit() {", "func init()"}
	goFiles(t, func(path string) {
		if !handwritten(path) || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "server/cmd/") ||
			path == "generator/main.go" || path == "internal/sbom/main.go" || strings.HasPrefix(path, "internal/differ/") || strings.HasPrefix(path, "internal/e2e/") || strings.HasPrefix(path, "internal/lint/") || strings.HasPrefix(path, "internal/bench/") {
			return
		}
		b, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Error(err)
			return
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, w := range words {
				if strings.Contains(line, w) {
					t.Errorf("%s:%d: %q does not belong in a package: return errors, log through the given logger", path, i+1, strings.TrimSpace(w))
				}
			}
		}
	})
}
