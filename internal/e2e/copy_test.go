package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// copyProject copies the sources of the server, without generated files.
func copyProject(t *testing.T, to string) {
	t.Helper()
	from := filepath.Join("..", "..")
	leftOut := []string{"internal/e2e", "internal/gen", "openapi/released", "schemas/examples"}
	parts := []string{"go.mod", "go.sum", "client", "generator", "internal", "kit", "object", "openapi", "schemas", "server", "value"}
	for _, part := range parts {
		err := filepath.WalkDir(filepath.Join(from, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(from, path)
			switch {
			case d.IsDir() && (slices.Contains(leftOut, filepath.ToSlash(rel)) || d.Name() == "testdata"):
				return filepath.SkipDir
			case d.IsDir():
				return os.MkdirAll(filepath.Join(to, rel), 0o755)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), data, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// buildCopy generates a copy of the project, and builds its server, capstan.
func buildCopy(t *testing.T, root string) {
	t.Helper()
	gen := filepath.Join(root, "capstan-gen")
	goInCopy(t, root, "build", "-ldflags", noSymbols, "-o", gen, "./generator/cmd/capstan-gen")
	runIn(t, root, gen, "generate")
	goInCopy(t, root, "build", "-ldflags", noSymbols, "-o", filepath.Join(root, "capstan"), "./server/cmd/capstan")
}

// goInCopy runs the go command in this project, whose files those of a copy overlay: a package
// that is the same in both is found in the build cache.
func goInCopy(t *testing.T, root, command string, args ...string) {
	t.Helper()
	project := must[string](t)(filepath.Abs(filepath.Join("..", "..")))
	replace := map[string]string{}
	files := func(dir string, each func(path string)) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				each(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, generated := range []string{"gen", "internal/gen"} {
		files(filepath.Join(project, generated), func(path string) { replace[path] = "" }) // not there
	}
	files(root, func(path string) {
		replace[filepath.Join(project, must[string](t)(filepath.Rel(root, path)))] = path
	})
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text := must[[]byte](t)(json.Marshal(map[string]any{"Replace": replace}))
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	runIn(t, project, "go", append([]string{command, "-overlay", overlay}, args...)...)
}
