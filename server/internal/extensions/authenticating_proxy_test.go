package extensions_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestWhatExtensionServersAreTold(t *testing.T) {
	const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	h := harness.Start(t, nil)
	r := h.Get(path)
	r.Expect(t, 200, "")
	if ca, _ := r.Field(t, "data.client-ca-file").(string); !strings.Contains(ca, string(h.Running.CA())) {
		t.Errorf("client authorities: %q", ca)
	}
	if ca, _ := r.Field(t, "data.requestheader-client-ca-file").(string); !strings.Contains(ca, "CERTIFICATE") || strings.Contains(ca, string(h.Running.CA())) {
		t.Errorf("the authority of the server as a proxy: %q", ca)
	}
	for key, want := range map[string]string{"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`, "requestheader-allowed-names": `["front-proxy-client"]`} {
		if got := r.Field(t, "data."+key); got != want {
			t.Errorf("%s: %v, expected %s", key, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "proxy.crt")
	if err := os.WriteFile(file, h.Running.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	h = harness.Start(t, func(c *server.Config) {
		c.RequestHeaderClientCAFile = file
		c.RequestHeaderUsernameHeaders = []string{"X-Remote-User", "X-User"}
	})
	told := func() {
		t.Helper()
		r := h.Get(path)
		for key, want := range map[string]string{"requestheader-username-headers": `["X-Remote-User","X-User"]`, "requestheader-allowed-names": "[]", "mine": "1"} {
			if got := r.Field(t, "data."+key); got != want {
				t.Errorf("%s: %v, expected %s", key, got, want)
			}
		}
	}
	h.MergePatch(path, `{"data":{"mine":"1","requestheader-username-headers":"x","requestheader-allowed-names":null}}`)
	if err := h.Running.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	told()
}

// TestAuthenticatingProxy: a proxy with a certificate of its authority names the user in
// headers; the same headers of anybody else have no effect, or are refused.
func TestAuthenticatingProxy(t *testing.T) {
	proxy, stranger := harness.Certificates(t), harness.Certificates(t)
	h := harness.Start(t, func(c *server.Config) {
		c.RequestHeaderClientCAFile = harness.File(t, proxy.FrontCA)
		c.RequestHeaderUsernameHeaders, c.RequestHeaderGroupHeaders = []string{"X-Remote-User"}, []string{"X-Remote-Group"}
		c.RequestHeaderAllowedNames = []string{"front-proxy-client"}
	})
	const path = "/api/v1/namespaces"
	masters := []string{"Authorization", "", "X-Remote-User", "ann", "X-Remote-Group", "system:masters"}
	for _, c := range []struct {
		name string
		by   *harness.Server
		says []string
		code int
		text string
	}{
		{"the proxy", h.As(proxy.FrontCert, proxy.FrontKey), masters, 200, ""},
		{"for a user without rights", h.As(proxy.FrontCert, proxy.FrontKey), []string{"Authorization", "", "X-Remote-User", "ann"}, 403, `User \"ann\" cannot list`},
		{"the proxy for nobody", h.As(proxy.FrontCert, proxy.FrontKey), []string{"Authorization", ""}, 401, ""},
		{"a stranger's certificate", h.As(stranger.FrontCert, stranger.FrontKey), masters, 401, ""},
		{"no certificate", h, masters, 403, `User \"system:anonymous\"`},
		{"a user with headers", h, []string{"Authorization", "Bearer bob-token", "X-Remote-User", "ann", "X-Remote-Group", "system:masters"}, 403, `User \"bob\"`},
	} {
		got := c.by.Send("GET", path, "", nil, c.says...)
		if got.Code != c.code || !strings.Contains(string(got.Body), c.text) {
			t.Errorf("%s: %d %s", c.name, got.Code, got.Body)
		}
	}
}

// TestOneAuthorityOfClientsAndProxies: where each client could be a proxy, the server
// does not start.
func TestOneAuthorityOfClientsAndProxies(t *testing.T) {
	ca := harness.Certificates(t).OwnCA
	cfg := server.Config{InMemory: true}
	cfg.ClientCAFile, cfg.RequestHeaderClientCAFile = harness.File(t, ca), harness.File(t, ca)
	s, err := server.Start(t.Context(), cfg)
	if err == nil {
		_ = s.Shutdown(t.Context())
		t.Fatal("it starts")
	}
	if !strings.Contains(err.Error(), "--requestheader-allowed-names") {
		t.Error(err)
	}
	harness.Start(t, func(c *server.Config) {
		c.ClientCAFile, c.RequestHeaderClientCAFile, c.RequestHeaderAllowedNames = cfg.ClientCAFile, cfg.RequestHeaderClientCAFile, []string{"proxy"}
	})
}
