package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// nowhere is an answer that is not kept.
type nowhere struct {
	header http.Header
	code   int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(code int)        { w.code = code }
func (w *nowhere) Flush()                      {}
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// deliver has the administrator's request handled, which has to succeed.
func (s *Server) deliver(t testing.TB, method, path, contentType, body string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer admin")
	r.Header.Set("Content-Type", contentType)
	w := nowhere{header: http.Header{}}
	if s.http.Handler.ServeHTTP(&w, r); w.code > 299 {
		t.Fatalf("%s %s: %d", method, path, w.code)
	}
}

// startQuiet starts a server on memory that does nothing by itself, so that all allocations are
// those of requests.
func startQuiet(t testing.TB, edits ...func(*Config)) *Server {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("admin,admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{InMemory: true, PKI: PKI{TokenAuthFile: tokens}, Background: Background{Controllers: []string{"-*"}}, Admission: Admission{DisableAdmissionPlugins: []string{"ServiceAccount"}}}
	for _, edit := range edits {
		edit(&cfg)
	}
	s, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	<-s.Bootstrapped()
	return s
}

// TestFrontDoorAllocations: priority and fairness make no allocation for a request that has
// not to wait, and an audit event at level Metadata as many as in the row.
func TestFrontDoorAllocations(t *testing.T) {
	if measured.Race || invariants.Enabled {
		t.Skip("the checks of this build allocate")
	}
	of := func(edit func(*Config)) float64 {
		s := startQuiet(t, edit)
		get := func() {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default", nil)
			r.Header.Set("Authorization", "Bearer admin")
			w := nowhere{header: http.Header{}}
			if s.http.Handler.ServeHTTP(&w, r); w.code != http.StatusOK {
				t.Fatal(w.code)
			}
		}
		return min(testing.AllocsPerRun(100, get), testing.AllocsPerRun(100, get), testing.AllocsPerRun(100, get)) // others may allocate too
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	least := of(func(c *Config) { c.DisablePriorityAndFairness = true })
	for _, c := range []struct {
		name string
		edit func(*Config)
		more float64
	}{
		{"priority and fairness", func(*Config) {}, 0},
		{"audit", func(c *Config) {
			c.Audit = audit.Config{PolicyFile: policy, Log: audit.LogConfig{Path: filepath.Join(t.TempDir(), "log")}}
		}, 16},
	} {
		if n := of(c.edit) - least; n > c.more {
			t.Errorf("%s: %.0f more allocations for a get, the bound is %.0f", c.name, n, c.more)
		}
	}
}

// TestReadAllocations bounds the allocations of reads on the whole way of a request: of an
// object, and of each object of a list. The first read of all fills the renderings.
func TestReadAllocations(t *testing.T) {
	if measured.Race || invariants.Enabled {
		t.Skip("the checks of this build allocate")
	}
	s := startQuiet(t)
	const few, many = 20, 220
	row := s.catalog.Snapshot().Core("pods")
	for i := range few + many {
		namespace := "default"
		if i < few {
			namespace = "kube-public"
		}
		doc, err := s.objects.DecodeOwn(row, benchPod(fmt.Sprint("pod-", i)))
		if err != nil {
			t.Fatal(err)
		}
		doc.Root().Get("metadata").SetString("namespace", namespace)
		w := objects.Write{Ref: objects.Ref{Row: row, Namespace: namespace}, Creates: true, Change: objects.NewObject(doc, nil)}
		if _, err := s.objects.Write(context.Background(), &w); err != nil {
			t.Fatal(err)
		}
	}
	of := func(path, accept string) float64 {
		return testing.AllocsPerRun(20, func() {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces"+path, nil)
			r.Header.Set("Authorization", "Bearer admin")
			r.Header.Set("Accept", accept)
			w := nowhere{header: http.Header{}}
			if s.http.Handler.ServeHTTP(&w, r); w.code != http.StatusOK {
				t.Fatalf("%s as %s: %d", path, accept, w.code)
			}
		})
	}
	for _, c := range []struct {
		accept       string
		object, item float64
	}{
		{"application/json", 26, 0.05},
		{"application/vnd.kubernetes.protobuf", 30, 0.05},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", 60, 0.05},
	} {
		if n := of("/default/pods/pod-100", c.accept); n > c.object {
			t.Errorf("%s: a get makes %.0f allocations, the bound is %.0f", c.accept, n, c.object)
		}
		if n := (of("/default/pods", c.accept) - of("/kube-public/pods", c.accept)) / (many - few); n > c.item {
			t.Errorf("%s: an item of a list makes %.2f allocations, the bound is %.2f", c.accept, n, c.item)
		}
	}
}
