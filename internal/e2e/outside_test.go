package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutsideModule tests a program in a module of its own, outside of this tree, that has
// the typed client and the server for tests.
func TestOutsideModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, requires, _ := strings.Cut(read(filepath.Join(root, "go.mod")), "\ngo ")
	for name, text := range map[string]string{
		"go.mod": "module example.com/shop\n\ngo " + requires +
			"\nrequire github.com/capstan-dev/capstan v0.0.0\n\nreplace github.com/capstan-dev/capstan => " + root + "\n",
		"go.sum":       read(filepath.Join(root, "go.sum")),
		"shop_test.go": read(filepath.Join("testdata", "outside", "shop_test.go.txt")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-vet=off", "-count=1", "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
