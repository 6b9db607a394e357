package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditor works in the module of an API with the language server of VS Code's YAML extension: documents and
// manifests are checked and completed without any step, by the settings of the module or by the first lines alone.
func TestEditor(t *testing.T) {
	t.Parallel()
	if nodeFolder == "" {
		t.Skip("make test-clients runs this")
	}
	script, err := os.ReadFile(filepath.Join("testdata", "node", "editor.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(nodeFolder, "editor.mjs") // imports are resolved next to the script
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := newAPI(t)
	for _, use := range []string{"settings", "none"} {
		if out, err := exec.CommandContext(testContext(t), "node", path, dir, use).CombinedOutput(); err != nil || !strings.Contains(string(out), "all well") {
			t.Errorf("%s: %v\n%s", use, err, out)
		}
	}
}
