package server_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

func TestWhatExtensionServersAreTold(t *testing.T) {
	const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	h := startServer(t, nil)
	r := h.get(path)
	r.expect(t, 200, "")
	if ca, _ := r.field(t, "data.client-ca-file").(string); !strings.Contains(ca, string(h.server.CA())) {
		t.Errorf("client authorities: %q", ca)
	}
	if ca, _ := r.field(t, "data.requestheader-client-ca-file").(string); !strings.Contains(ca, "CERTIFICATE") || strings.Contains(ca, string(h.server.CA())) {
		t.Errorf("the authority of the server as a proxy: %q", ca)
	}
	for key, want := range map[string]string{"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`, "requestheader-allowed-names": `["front-proxy-client"]`} {
		if got := r.field(t, "data."+key); got != want {
			t.Errorf("%s: %v, expected %s", key, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "proxy.crt")
	if err := os.WriteFile(file, h.server.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	h = startServer(t, func(c *server.Config) {
		c.RequestHeaderClientCAFile = file
		c.RequestHeaderUsernameHeaders = []string{"X-Remote-User", "X-User"}
	})
	told := func() {
		t.Helper()
		r := h.get(path)
		for key, want := range map[string]string{"requestheader-username-headers": `["X-Remote-User","X-User"]`, "requestheader-allowed-names": "[]", "mine": "1"} {
			if got := r.field(t, "data."+key); got != want {
				t.Errorf("%s: %v, expected %s", key, got, want)
			}
		}
	}
	h.mergePatch(path, `{"data":{"mine":"1","requestheader-username-headers":"x","requestheader-allowed-names":null}}`)
	if err := h.server.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	told()
}

// certificates are those of another server: its client certificate as a proxy, and a
// serving certificate for some names.
func certificates(t *testing.T, names ...string) *pki.Credentials {
	t.Helper()
	keys, err := pki.Open(pki.Config{}, pki.Site{Names: names, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return keys.Credentials()
}

// file writes a file of the test.
func file(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// as is the harness with a client certificate, and without a token where the header
// Authorization is set to nothing.
func (h *harness) as(cert, key []byte) *harness {
	h.t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.presenting(pair)
}

// presenting is the harness with a client certificate that it presents whatever
// authorities the server asks for.
func (h *harness) presenting(pair tls.Certificate) *harness {
	other := *h
	transport := h.client.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	h.t.Cleanup(transport.CloseIdleConnections)
	other.client = &http.Client{Transport: transport, Timeout: h.client.Timeout}
	return &other
}

// TestAuthenticatingProxy: a proxy with a certificate of its authority names the user in
// headers; the same headers of anybody else have no effect, or are refused.
func TestAuthenticatingProxy(t *testing.T) {
	proxy, stranger := certificates(t), certificates(t)
	h := startServer(t, func(c *server.Config) {
		c.RequestHeaderClientCAFile = file(t, proxy.FrontCA)
		c.RequestHeaderUsernameHeaders, c.RequestHeaderGroupHeaders = []string{"X-Remote-User"}, []string{"X-Remote-Group"}
		c.RequestHeaderAllowedNames = []string{"front-proxy-client"}
	})
	const path = "/api/v1/namespaces"
	masters := []string{"Authorization", "", "X-Remote-User", "ann", "X-Remote-Group", "system:masters"}
	for _, c := range []struct {
		name string
		by   *harness
		says []string
		code int
		text string
	}{
		{"the proxy", h.as(proxy.FrontCert, proxy.FrontKey), masters, 200, ""},
		{"for a user without rights", h.as(proxy.FrontCert, proxy.FrontKey), []string{"Authorization", "", "X-Remote-User", "ann"}, 403, `User \"ann\" cannot list`},
		{"the proxy for nobody", h.as(proxy.FrontCert, proxy.FrontKey), []string{"Authorization", ""}, 401, ""},
		{"a stranger's certificate", h.as(stranger.FrontCert, stranger.FrontKey), masters, 401, ""},
		{"no certificate", h, masters, 403, `User \"system:anonymous\"`},
		{"a user with headers", h, []string{"Authorization", "Bearer bob-token", "X-Remote-User", "ann", "X-Remote-Group", "system:masters"}, 403, `User \"bob\"`},
	} {
		got := c.by.send("GET", path, "", nil, c.says...)
		if got.code != c.code || !strings.Contains(string(got.body), c.text) {
			t.Errorf("%s: %d %s", c.name, got.code, got.body)
		}
	}
}

// TestOneAuthorityOfClientsAndProxies: where each client could be a proxy, the server
// does not start.
func TestOneAuthorityOfClientsAndProxies(t *testing.T) {
	ca := certificates(t).OwnCA
	cfg := server.Config{InMemory: true}
	cfg.ClientCAFile, cfg.RequestHeaderClientCAFile = file(t, ca), file(t, ca)
	s, err := server.Start(t.Context(), cfg)
	if err == nil {
		_ = s.Shutdown(t.Context())
		t.Fatal("it starts")
	}
	if !strings.Contains(err.Error(), "--requestheader-allowed-names") {
		t.Error(err)
	}
	startServer(t, func(c *server.Config) {
		c.ClientCAFile, c.RequestHeaderClientCAFile, c.RequestHeaderAllowedNames = cfg.ClientCAFile, cfg.RequestHeaderClientCAFile, []string{"proxy"}
	})
}
