package load

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the messages that come out into the want.txt files")

const testdata = "../../testdata"

// position is the beginning of every message.
var position = regexp.MustCompile(`^(openapi|schemas)/[^:]+:[1-9][0-9]*: `)

// project copies the right documents of testdata/shop into a new folder, and
// lays those of the overlay over them.
func project(t testing.TB, overlay string) string {
	t.Helper()
	root := t.TempDir()
	for _, from := range []string{filepath.Join(testdata, "shop"), overlay} {
		if from == "" {
			continue
		}
		err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, rel)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(root, rel), text, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// writeFiles writes files below a folder.
func writeFiles(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRightDocuments(t *testing.T) {
	m, err := Load(project(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.GroupVersions) != 2 || m.GroupVersions[1].Group != "shop.example.org" || m.GroupVersions[1].Table == nil {
		t.Fatalf("got %+v", m.GroupVersions)
	}
	orders := m.GroupVersions[1].Resources[0]
	if !orders.Stored || !orders.Namespaced || !orders.HasStatus || orders.ListKind != "OrderList" || orders.Type.ID != "shop/v1.Order" || len(orders.Verbs) != 8 {
		t.Errorf("got %+v", orders)
	}
}

// Every folder below testdata/wrong holds one mistake, as the document that has
// it, and the message that a designer shall see.
func TestWrongDocuments(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(testdata, "wrong"))
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) < 25 {
		t.Errorf("only %d wrong documents", len(folders))
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			dir := filepath.Join(testdata, "wrong", folder.Name())
			_, err := Load(project(t, dir))
			if err == nil {
				t.Fatal("no mistake was found")
			}
			got, golden := err.Error()+"\n", filepath.Join(dir, "want.txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
				if !position.MatchString(line) || !strings.Contains(line, "; ") {
					t.Errorf("%q has no position or no fix", line)
				}
			}
		})
	}
}
