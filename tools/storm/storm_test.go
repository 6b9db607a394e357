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

// binary is the server under test, built with its own checks on, next to the one on etcd, which it
// starts. CAPSTAN names another.
func binary(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("CAPSTAN"); given != "" {
		return given
	}
	dir := t.TempDir()
	build(t, filepath.Join("..", ".."), filepath.Join(dir, "capstan"), "./server/cmd/capstan")
	build(t, filepath.Join("..", ".."), filepath.Join(dir, "capstan-etcd"), "./server/cmd/capstan-etcd")
	return filepath.Join(dir, "capstan")
}

// build makes a program of a module.
func build(t *testing.T, module, to, program string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-tags", "invariants", "-ldflags", "-s -w", "-o", to, program)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", program, err, out)
	}
}

// TestStorm runs short storms of fixed seeds, in memory, on disk, and on two servers that share an
// etcd.
func TestStorm(t *testing.T) {
	server, etcd := binary(t), filepath.Join(t.TempDir(), "etcd")
	build(t, filepath.Join("..", "etcd"), etcd, ".")
	for seed := range uint64(3) {
		shared := seed == 2
		p := area.Draw(seed, area.Size{Clients: 8, Steps: 60}, []string{"maps", "upgrade", "namespaces", "owners", "quotas", "services", "rights",
			"pods", "definitions", "policies", "limits", "extensions", "operate", "faults"}, shared)
		p.Memory = seed == 0
		o := site.Options{Binary: server, Memory: p.Memory, Dir: t.TempDir(), History: area.History(p.Areas)}
		if shared {
			o.Etcd, o.Servers = etcd, 2
		}
		r, err := storm(t.Context(), p, o)
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
