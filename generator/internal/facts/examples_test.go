package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/yaml"
)

// mistakes decodes and validates an example by the schemas alone, without the
// hand-written rules, and lists its mistakes, a line for each.
func mistakes(t *testing.T, gv *model.GroupVersion, kind string, text []byte) []string {
	t.Helper()
	typ := gv.Table.Root(kind)
	if typ == schema.None {
		t.Fatalf("%s has no kind %s", gv.Dir, kind)
	}
	json, err := yaml.ToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	d := document.Decoder{Table: gv.Table, Defaults: make([]func(document.Value), hooks(gv.Table))}
	for i := range d.Defaults {
		d.Defaults[i] = func(document.Value) {}
	}
	doc, problems, err := d.Decode(typ, json)
	if wrong := (*document.TypeError)(nil); errors.As(err, &wrong) {
		return append(lines, "cannot be read: "+wrong.Path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	for _, p := range problems {
		what := "unknown field: "
		if p.Duplicate {
			what = "field twice: "
		}
		lines = append(lines, what+p.Path)
	}
	for _, c := range document.Validate(doc.Root(), nil) {
		lines = append(lines, c.Field+": "+c.Reason)
	}
	slices.Sort(lines)
	return lines
}

func hooks(table *schema.Table) int {
	n := 0
	for _, typ := range table.Types {
		n = max(n, int(typ.Hook))
	}
	return n
}

// TestExamples reads the examples: the valid ones have no mistake, the invalid
// ones those that their first lines name. There is a valid one of each kind
// that a group version serves.
func TestExamples(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	m, err := load.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]*model.GroupVersion{}
	for _, gv := range m.GroupVersions {
		groups[gv.Dir] = gv
	}
	seen := map[string]bool{}
	top := filepath.Join(root, "schemas", "examples")
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		t.Run(filepath.ToSlash(rel), func(t *testing.T) {
			parts := strings.Split(filepath.ToSlash(rel), "/") // valid/core/v1/Pod-web.yaml
			gv := groups[strings.Join(parts[1:len(parts)-1], "/")]
			if gv == nil {
				t.Fatal("no such group version")
			}
			kind, _, _ := strings.Cut(parts[len(parts)-1], "-")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(text)) {
				mistake, ok := strings.CutPrefix(line, "# ")
				if !ok {
					break
				}
				want = append(want, strings.TrimSpace(mistake))
			}
			if valid := parts[0] == "valid"; valid != (len(want) == 0) {
				t.Fatal("an invalid example begins with the mistakes it holds, a valid one does not")
			} else if valid {
				seen[gv.Dir+"."+kind] = true
			}
			slices.Sort(want)
			if got := mistakes(t, gv, kind, text); !slices.Equal(got, want) {
				t.Errorf("mistakes:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range m.GroupVersions {
		for _, r := range gv.Resources {
			if kind := fmt.Sprint(r.Type.GV.Dir, ".", r.Kind); !seen[kind] {
				t.Errorf("no valid example of %s", kind)
			}
		}
	}
}
