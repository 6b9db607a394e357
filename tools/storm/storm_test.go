package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/tools/storm/area"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/site"
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

// TestStop: a server with its own checks on stops well while connections wait, those that
// have not greeted and those that are kept.
func TestStop(t *testing.T) {
	server, err := site.Start(t.Context(), site.Options{Binary: binary(t), Memory: true, Dir: t.TempDir(), History: area.History(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	silent, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	kept := site.Transport(false)
	defer kept.CloseIdleConnections()
	resp, err := (&http.Client{Transport: kept}).Get(server.URL + "/readyz") // accepted after the silent one
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := server.Stop(); err != nil {
		t.Errorf("%v: %s", err, server.Tail())
	}
}
