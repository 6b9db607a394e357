// Package overlay builds programs of the server with some files changed. The source is not touched: the
// compiler reads the changed files in place of the others.
package overlay

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds a package of the module in root, with the server's own checks on, as a program in dir that
// has the name of the package's folder, and returns its path. The changed files, by their paths, are
// kept in dir, too.
func Build(ctx context.Context, root, dir, pkg string, changed map[string][]byte) (string, error) {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	for path, text := range changed {
		at := filepath.Join(dir, fmt.Sprintf("%d-%s", len(overlay.Replace), filepath.Base(path)))
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return "", err
		}
		overlay.Replace[path] = at
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, filepath.Base(pkg))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", file, "-tags", "invariants", "-ldflags", "-s -w", "-o", program, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}
