package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/storetest"
	"github.com/capstan-dev/capstan/server"
)

// Server is a server in memory with an administrator's client.
type Server struct {
	T       *testing.T
	Running *Running
	HTTP    *http.Client
}

// EvaluatedOnce is for tests that measure the cost of a write.
func EvaluatedOnce(c *server.Config) { c.Seams.WrapStore = nil }

// AdminToken is the token of an administrator; bob-token and carol-token are those of users
// without rights.
const AdminToken = "admin-token"

// Start starts a server in memory that does nothing by itself; change adapts its configuration
// before.
func Start(t *testing.T, change func(*server.Config)) *Server {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte(AdminToken+",admin,1,system:masters\nbob-token,bob,2\ncarol-token,carol,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Tests of single requests count objects and revisions; controllers have tests of
	// their own.
	cfg := server.Config{InMemory: true, PKI: server.PKI{TokenAuthFile: tokens},
		Background: server.Background{Controllers: []string{"-*"}, DisablePriorityAndFairness: true},
		Admission:  server.Admission{DisableAdmissionPlugins: []string{"ServiceAccount"}}}
	// Evaluations of writes may run again, without effects of their own.
	cfg.Seams.WrapStore = func(s store.Store) store.Store { return storetest.Again{Store: s} }
	if change != nil {
		change(&cfg)
	}
	if os.Getenv("CAPSTAN_TEST_ETCD") != "" && cfg.InMemory {
		OnEtcd(&cfg, Etcd(t), fmt.Sprintf("/%s-%d", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), etcdPrefixes.Add(1)))
	}
	s, err := Launch(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	select {
	case <-s.Bootstrapped(): // else it would write among the objects that the test counts
	case <-time.After(30 * time.Second):
		t.Fatal("the objects that every cluster has are not there; the server's log says why")
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &Server{T: t, Running: s, HTTP: &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// Reply is a complete answer.
type Reply struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Send sends a request of the administrator; header has names and values, which may replace his
// token.
func (h *Server) Send(method, path, contentType string, body []byte, header ...string) Reply {
	h.T.Helper()
	req, err := http.NewRequest(method, h.Running.URL()+path, bytes.NewReader(body))
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	req.Header.Set("User-Agent", "capstan-test")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.HTTP.Do(req)
	if err != nil {
		h.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.T.Fatal(err)
	}
	return Reply{resp.StatusCode, resp.Header, text}
}

// Post sends JSON to a collection.
func (h *Server) Post(path, body string) Reply {
	h.T.Helper()
	return h.Send(http.MethodPost, path, "application/json", []byte(body))
}

// Get reads a path.
func (h *Server) Get(path string) Reply {
	h.T.Helper()
	return h.Send(http.MethodGet, path, "", nil)
}

// Field finds a value in a JSON answer: "metadata.name", "items.0.spec".
func (r Reply) Field(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, r.Body)
	}
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i := 0
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// Expect ends the test unless the answer has a code, and a reason where one is named.
func (r Reply) Expect(t *testing.T, code int, reason string) {
	t.Helper()
	if r.Code != code {
		t.Fatalf("answered %d, want %d: %s", r.Code, code, r.Body)
	}
	if reason != "" {
		if got := r.Field(t, "reason"); got != reason {
			t.Errorf("reason %v, want %s: %s", got, reason, r.Body)
		}
		if got, _ := r.Field(t, "message").(string); len(got) < 10 {
			t.Errorf("message %q does not help", got)
		}
	}
}
