// Package lint holds the house rules that no other tool checks, as tests.
package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goFiles visits the Go files of the repository, with their paths in it, including tests
// and nested modules.
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

// Generated files are committed, so that a change of a document shows its effect. For
// that a diff must stay short: files of bounded length, in lines of bounded length. The
// packed OpenAPI documents are those next to them.
func TestGeneratedFilesCanBeReviewed(t *testing.T) {
	const mostLines, longestLine = 5000, 10_000
	root, seen := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(filepath.Join(root, "internal", "gen"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".gz") {
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
		if !handwritten(path) || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "server/cmd/") || strings.HasPrefix(path, "server/command/") || strings.HasPrefix(path, "examples/") ||
			strings.HasPrefix(path, "generator/internal/command/") || path == "internal/sbom/main.go" || strings.HasPrefix(path, "tools/") || strings.HasPrefix(path, "internal/e2e/") || strings.HasPrefix(path, "internal/lint/") {
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
