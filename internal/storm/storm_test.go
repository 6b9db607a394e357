package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/capstan-dev/capstan/internal/storm/area"
	"github.com/capstan-dev/capstan/internal/storm/promise"
)

// binary is the server under test, built with its own checks on. CAPSTAN names another.
func binary(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("CAPSTAN"); given != "" {
		return given
	}
	to := filepath.Join(t.TempDir(), "capstan")
	cmd := exec.Command("go", "build", "-tags", "invariants", "-ldflags", "-s -w", "-o", to, "./server/cmd/capstan")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	return to
}

// TestStorm runs short storms of fixed seeds, in memory and on disk.
func TestStorm(t *testing.T) {
	server := binary(t)
	for seed := range uint64(2) {
		p := area.Draw(seed, area.Size{Clients: 8, Steps: 60}, []string{"maps", "upgrade", "namespaces", "owners", "quotas", "services", "rights",
			"pods", "definitions", "policies", "limits", "extensions", "operate", "faults"})
		p.Memory = seed == 0
		r, err := storm(t.Context(), p, server, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d calls", p, len(r.Calls))
		for _, v := range promise.Check(r) {
			t.Error(v)
		}
	}
}
