package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/generator/compat"
)

// guide is the part of CONTRIBUTING.md that designers copy from.
type guide struct {
	text  string
	field string   // the new field of config maps
	kind  []string // the schema and the resource of the new kind
}

func readGuide(t *testing.T) guide {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	g := guide{text: string(text)}
	for _, block := range regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```").FindAllStringSubmatch(g.text, -1) {
		switch body := regexp.MustCompile("(?m)^"+block[1]).ReplaceAllString(block[2], ""); {
		case block[1] != "":
			g.kind = append(g.kind, body)
		case g.field == "":
			g.field = body
		}
	}
	if g.field == "" || len(g.kind) != 2 {
		t.Fatalf("CONTRIBUTING.md has the field %q and the blocks of a kind %q", g.field, g.kind)
	}
	return g
}

// The steps of the guide make correct documents and lead to the messages that it shows.
func TestContributingIsTrue(t *testing.T) {
	g := readGuide(t)
	const schema, resource, configMap = "schemas/apps/v1/Cobbler.yaml", "openapi/apps/v1.yaml", "schemas/core/v1/ConfigMap.yaml"
	for _, c := range []struct{ name, file, old, new, want string }{
		{name: "as it says"},
		{"a number twice", schema, "default: 4\n", "default: 4\n        x-cluster-binary: 1\n", schema + ":11: the binary number 1 of street belongs to pairsPerDay already"},
		{"a default that does not fit", schema, "default: 4", "default: -4", schema + ":17: the default of pairsPerDay does not fit"},
		{"a wrong word", schema, "default: 4\n", "default: 4\n        x-cluster-presence: explizit\n", schema + `:18: unknown presence "explizit"`},
		{"a wrong path", resource, ".spec.pairsPerDay", ".spec.pairsADay", resource + `:17: the column "Per-Day" shows .spec.pairsADay`},
		{"another number", configMap, "x-cluster-binary: 4", "x-cluster-binary: 6", configMap + ":6: error field-binary-number-changed: core/v1.ConfigMap.immutable had the binary number 4 and has 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"openapi", "schemas"} {
				if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("..", dir))); err != nil {
					t.Fatal(err)
				}
			}
			change(t, root, schema, "", g.kind[0])
			change(t, root, resource, "x-cluster-resources:\n", "x-cluster-resources:\n"+regexp.MustCompile("(?m)^").ReplaceAllString(g.kind[1], "  ")+"\n")
			change(t, root, configMap, "", g.field)
			if c.file != "" {
				change(t, root, c.file, c.old, c.new)
			}
			var said strings.Builder
			now, err := compat.Documents(root)
			if err != nil {
				said.WriteString(err.Error())
			} else if old, err := compat.Baseline(root, time.Now()); err != nil {
				t.Fatal(err)
			} else if err := compat.Compare(old, now, compat.Options{}).Write(&said, "human"); err != nil {
				t.Fatal(err)
			}
			if c.want == "" && (err != nil || strings.Contains(said.String(), ": error ")) || !strings.Contains("\n"+said.String(), "\n"+c.want) {
				t.Errorf("got\n%s\nwant %q", said.String(), c.want)
			}
			if !strings.Contains(g.text, c.want) {
				t.Errorf("CONTRIBUTING.md lacks %q", c.want)
			}
		})
	}
}

// change replaces a text of a document; without an old text it adds the new one at the end.
func change(t *testing.T, root, name, old, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	was, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	now := string(was) + text
	if old != "" {
		if now = strings.Replace(string(was), old, text, 1); now == string(was) {
			t.Fatalf("%s does not hold %q", name, old)
		}
	}
	if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}
