package endpoints_test

import (
	"compress/gzip"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

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

// TestExplorerIssuer: a page whose users may log in by an issuer knows it, and may connect to it.
func TestExplorerIssuer(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.OIDCIssuerURL, c.OIDCClientID, c.OIDCGroupsClaim = "https://login.example.com/realm", "page", "roles"
	})
	answer, text := page(t, h, "GET", "/explorer/config.json")
	if want := `"oidc":{"issuer":"https://login.example.com/realm","clientID":"page","scopes":["openid","email","profile","groups"]}`; !strings.Contains(text, want) {
		t.Errorf("%s has no %s", text, want)
	}
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self' https://login.example.com;") {
		t.Error(policy)
	}
}
