package identity_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/nodeapi"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

// nodeReviewer is a client of a server that knows bob and carol, of whom bob may read the
// metrics of the node n. It counts its requests.
func nodeReviewer(t *testing.T) (*client.REST, *harness.Server, *atomic.Int64) {
	h := harness.Start(t, nil)
	asked := &atomic.Int64{}
	rest, err := client.NewREST(client.Config{Host: h.Running.URL(), BearerToken: harness.AdminToken, Transport: counting{h.HTTP.Transport, asked}})
	if err != nil {
		t.Fatal(err)
	}
	h.Create(harness.RBACGroup+"clusterroles", harness.RoleOf("metrics", `{"apiGroups":[""],"resources":["nodes/metrics"],"resourceNames":["n"],"verbs":["get"]}`))
	h.Create(harness.RBACGroup+"clusterrolebindings", harness.BindingOf("metrics", "ClusterRole", "metrics", harness.ToBob))
	return rest, h, asked
}

type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// guardedEndpoint serves a guarded endpoint, and returns a function that sends a request with a
// token and a certificate.
func guardedEndpoint(t *testing.T, cfg nodeapi.Config) func(method, path, token string, cert *pki.Credentials) string {
	guarded, err := nodeapi.Guard(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "served") }))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(guarded)
	s.TLS = nodeapi.TLS(cfg, tls.Certificate{})
	s.TLS.Certificates = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return func(method, path, token string, cert *pki.Credentials) string {
		t.Helper()
		config := &tls.Config{InsecureSkipVerify: true}
		if cert != nil {
			pair, err := tls.X509KeyPair(cert.AdminCert, cert.AdminKey)
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		req, err := http.NewRequest(method, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path = path
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(body)))
	}
}

func TestGuard(t *testing.T) {
	rest, h, asked := nodeReviewer(t)
	own, strange := harness.Certificates(t, "own"), harness.Certificates(t, "strange")
	cfg := nodeapi.Config{Node: "n", Server: rest, ClientCAs: x509.NewCertPool()}
	cfg.ClientCAs.AppendCertsFromPEM(own.OwnCA)
	send := guardedEndpoint(t, cfg)
	forbidden := func(user, verb, sub string) string {
		return fmt.Sprintf("403 Forbidden (user=%s, verb=%s, resource=nodes, subresource=%s)", user, verb, sub)
	}
	for _, c := range []struct {
		method, path, token string
		cert                *pki.Credentials
		want                string
		asked               int64 // requests for the API server
	}{
		{"GET", "/metrics", "bob-token", nil, "200 served", 2},
		{"GET", "/metrics/cadvisor", "bob-token", nil, "200 served", 0},
		{"HEAD", "/metrics", "bob-token", nil, "200 ", 0},
		{"POST", "/metrics", "bob-token", nil, forbidden("bob", "create", "metrics"), 1},
		{"GET", "/stats/summary", "bob-token", nil, forbidden("bob", "get", "stats"), 1},
		{"GET", "/logs/", "bob-token", nil, forbidden("bob", "get", "log"), 1},
		{"GET", "/spec", "bob-token", nil, forbidden("bob", "get", "spec"), 1},
		{"GET", "/metricsx", "bob-token", nil, forbidden("bob", "get", "proxy"), 1},
		{"GET", "/metrics/../run", "bob-token", nil, forbidden("bob", "get", "proxy"), 0},
		{"GET", "/metrics//run", "bob-token", nil, forbidden("bob", "get", "proxy"), 0},
		{"GET", "/metrics", "carol-token", nil, forbidden("carol", "get", "metrics"), 2},
		{"GET", "/metrics", "carol-token", nil, forbidden("carol", "get", "metrics"), 0},
		{"GET", "/metrics", "wrong", nil, "401 Unauthorized", 1},
		{"GET", "/metrics", "wrong", nil, "401 Unauthorized", 0},
		{"GET", "/metrics", "", nil, forbidden("system:anonymous", "get", "metrics"), 1},
		{"PUT", "/run", "", own, "200 served", 1},
		{"GET", "/metrics", "", strange, "401 Unauthorized", 0},
		{"GET", "/metrics", "bob-token", strange, "200 served", 0},
	} {
		before := asked.Load()
		if got := send(c.method, c.path, c.token, c.cert); got != c.want || asked.Load()-before != c.asked {
			t.Errorf("%s %s %s: %s after %d reviews, want %s after %d", c.method, c.path, c.token, got, asked.Load()-before, c.want, c.asked)
		}
	}

	cfg.RefuseAnonymous = true
	send = guardedEndpoint(t, cfg)
	if got := send("GET", "/metrics", "", nil); got != "401 Unauthorized" {
		t.Errorf("anonymous: %s", got)
	}
	if err := h.Running.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := send("GET", "/metrics", "", own); !strings.HasPrefix(got, "500 Authorization error (user=kubernetes-admin, verb=get, resource=nodes, subresource=metrics)") {
		t.Errorf("without the API server: %s", got)
	}
	if got := send("GET", "/metrics", "bob-token", nil); got != "401 Unauthorized" {
		t.Errorf("a token without the API server: %s", got)
	}
}

// TestGuardAlone: without an API server those that are authenticated may do everything.
func TestGuardAlone(t *testing.T) {
	own := harness.Certificates(t, "own")
	cfg := nodeapi.Config{Node: "n", RefuseAnonymous: true, ClientCAs: x509.NewCertPool()}
	cfg.ClientCAs.AppendCertsFromPEM(own.OwnCA)
	send := guardedEndpoint(t, cfg)
	for _, c := range []struct {
		token string
		cert  *pki.Credentials
		want  string
	}{{"", own, "200 served"}, {"bob-token", nil, "401 Unauthorized"}, {"", nil, "401 Unauthorized"}} {
		if got := send("GET", "/run", c.token, c.cert); got != c.want {
			t.Errorf("%q %v: %s, want %s", c.token, c.cert != nil, got, c.want)
		}
	}
	if _, err := nodeapi.Guard(nodeapi.Config{}, nil); err == nil {
		t.Error("a node without a name")
	}
}
