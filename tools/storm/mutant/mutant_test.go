package mutant

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/area"
	"github.com/capstan-dev/capstan/tools/storm/promise"
)

// TestSources: every mutant can still be planted, leaves Go files, and names promises and
// areas that there are.
func TestSources(t *testing.T) {
	all, err := Read(filepath.Join("..", "testdata", "mutants"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no mutants")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var promises []string
	for _, p := range promise.All() {
		promises = append(promises, p.Name)
	}
	for _, p := range promise.AllProbed() {
		promises = append(promises, p.Name)
	}
	for _, p := range history.Promises() {
		promises = append(promises, p.Name)
	}
	for _, m := range all {
		sources, err := m.Sources(root)
		if err != nil {
			t.Error(err)
		}
		for path, text := range sources {
			if _, err := parser.ParseFile(token.NewFileSet(), path, text, 0); err != nil {
				t.Errorf("mutant %s: %v", m.Name, err)
			}
		}
		if !strings.HasSuffix(m.Planted, ".") || len(m.Edits) == 0 || m.Where != "memory" && m.Where != "disk" {
			t.Errorf("mutant %s needs a sentence, an edit, and a place: memory or disk", m.Name)
		}
		if len(m.Areas) == 0 || len(area.Named(m.Areas)) != len(m.Areas) {
			t.Errorf("mutant %s: not all of these are areas: %v", m.Name, m.Areas)
		}
		if len(m.Promises) == 0 || slices.ContainsFunc(m.Promises, func(name string) bool { return !slices.Contains(promises, name) }) {
			t.Errorf("mutant %s: not all of these are promises: %v", m.Name, m.Promises)
		}
	}
}

// TestRotten: a mutant whose text is not in the source, or is there twice, is refused.
func TestRotten(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n\nvar x, y = 1, 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for old, wanted := range map[string]string{"x, y": "", "1": "2 times", "z": "0 times"} {
		m := Mutant{Name: "one", Edits: []Edit{{File: "a.go", Old: old, New: "u, v"}}}
		sources, err := m.Sources(root)
		switch {
		case wanted == "" && (err != nil || string(sources[filepath.Join(root, "a.go")]) != "package a\n\nvar u, v = 1, 1\n"):
			t.Errorf("%s: %q, %v", old, sources, err)
		case wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)):
			t.Errorf("%s: %v, wanted %s", old, err, wanted)
		}
	}
}
