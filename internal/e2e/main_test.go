// Package e2e drives the real capstan binary with the clients that people use:
// kubectl and client-go, unmodified.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaries holds what TestMain builds.
var binaries struct{ dir, capstan, kubectl string }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "capstan-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries.dir = dir
	binaries.capstan, binaries.kubectl = filepath.Join(dir, "capstan"), filepath.Join(dir, "kubectl")
	for _, build := range []struct{ from, pkg, to string }{
		{filepath.Join("..", ".."), "./server/cmd/capstan", binaries.capstan},
		{".", "./kubectl", binaries.kubectl},
	} {
		cmd := exec.Command("go", "build", "-o", build.to, build.pkg)
		cmd.Dir = build.from
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", build.pkg, err, out)
			return 1
		}
	}
	return m.Run()
}
