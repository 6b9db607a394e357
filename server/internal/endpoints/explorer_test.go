package endpoints_test

import (
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// page sends a request without credentials, with pairs of headers, and returns the answer with its text.
func page(t *testing.T, h *harness.Server, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.Running.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestExplorer: the files of the page are sent to everybody, with headers that keep a browser from running or
// framing anything else, and no path leads out of them.
func TestExplorer(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.DisableAnonymousAuth = true })
	answer, text := page(t, h, "GET", "/explorer/")
	if answer.StatusCode != 200 || !strings.Contains(text, "explorer.js") || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the page: %d, %s, %s", answer.StatusCode, answer.Header, text)
	}
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Set-Cookie": ""} {
		if have := answer.Header.Get(name); have != want {
			t.Errorf("%s is %q, want %q", name, have, want)
		}
	}
	if again, _ := page(t, h, "GET", "/explorer/", "If-None-Match", answer.Header.Get("Etag")); again.StatusCode != 304 {
		t.Errorf("the same page again: %d", again.StatusCode)
	}
	plain, whole := page(t, h, "GET", "/explorer/explorer.js")
	packed, small := page(t, h, "GET", "/explorer/explorer.js", "Accept-Encoding", "gzip")
	unpacked, err := gzip.NewReader(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(unpacked); err != nil || string(all) != whole || packed.Header.Get("Content-Encoding") != "gzip" ||
		plain.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%v, %v, %v", err, packed.Header, plain.Header)
	}
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/explorer", 307}, {"HEAD", "/explorer/", 200}, {"POST", "/explorer/", 405}, {"GET", "/explorer/nothing.js", 404},
		{"GET", "/explorer/..%2f..%2fapi", 404}, {"GET", "/explorer/%2e%2e/explorer.go", 404}, {"GET", "/explorer/config.json", 200},
		{"GET", "/api/v1/secrets", 401}, {"GET", "/explorerx/", 401},
	} {
		if answer, text := page(t, h, c.method, c.path); answer.StatusCode != c.code || c.method == "HEAD" && text != "" {
			t.Errorf("%s %s: %d %.100s, want %d", c.method, c.path, answer.StatusCode, text, c.code)
		}
	}
	if answer, _ := page(t, h, "GET", "/explorer/", "Authorization", "Bearer wrong"); answer.StatusCode != 200 {
		t.Errorf("with a wrong token: %d", answer.StatusCode)
	}
	off := harness.Start(t, func(c *server.Config) { c.DisableExplorer = true })
	off.Get("/explorer/").Expect(t, 404, "")
}

// TestExplorerIssuer: a page whose users may log in by an issuer knows it, and may connect to it and to the host where it
// gives tokens, as soon as the server knows that.
func TestExplorerIssuer(t *testing.T) {
	var issuer *httptest.Server
	issuer = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys",
			"authorization_endpoint": "https://accounts.example.com/auth", "token_endpoint": "https://tokens.example.com:8443/token"})
	}))
	defer issuer.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(authority string) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.OIDCIssuerURL, c.OIDCClientID, c.OIDCGroupsClaim, c.OIDCCAFile = issuer.URL, "page", "roles", authority
		})
	}
	policy := func(h *harness.Server) string {
		answer, text := page(t, h, "GET", "/explorer/config.json")
		if want := `"oidc":{"issuer":"` + issuer.URL + `","clientID":"page","scopes":["openid","email","profile","groups"]}`; !strings.Contains(text, want) {
			t.Errorf("%s has no %s", text, want)
		}
		_, connect, _ := strings.Cut(answer.Header.Get("Content-Security-Policy"), "connect-src ")
		connect, _, _ = strings.Cut(connect, ";")
		return connect
	}
	if have := policy(start("")); have != "'self' "+issuer.URL { // the issuer's certificate is not trusted
		t.Error(have)
	}
	h, want := start(authority), "'self' "+issuer.URL+" https://tokens.example.com:8443"
	for end := time.Now().Add(15 * time.Second); policy(h) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q, want %q", policy(h), want)
		}
	}
}
