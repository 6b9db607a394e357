package identity_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// tokenIssuer is an issuer of ID tokens.
type tokenIssuer struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey
}

func newTokenIssuer(t *testing.T) *tokenIssuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &tokenIssuer{t: t, key: key}
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "PS256", Use: "sig"}}})
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
	}))
	t.Cleanup(i.Close)
	return i
}

// token is a token of ann.
func (i *tokenIssuer) token() string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.PS256, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{"iss": i.URL, "aud": "kit", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// entry is the issuer in a file, which puts a text before names of users.
func (i *tokenIssuer) entry(prefix string) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	return fmt.Sprintf("- issuer: {url: %q, audiences: [kit], certificateAuthority: %q}\n  claimMappings: {username: {expression: \"'%s' + claims.sub\"}}\n", i.URL, ca, prefix)
}

func writeIssuers(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Users log in by tokens of the issuers of a file, whose changes count; requests without credentials are for its paths only.
func TestIssuersOfAFile(t *testing.T) {
	one, two := newTokenIssuer(t), newTokenIssuer(t)
	path := filepath.Join(t.TempDir(), "authentication.yaml")
	const anonymous = "anonymous: {enabled: true, conditions: [{path: /livez}]}\n"
	writeIssuers(t, path, anonymous+"jwt:\n"+one.entry("one:"))
	h := harness.Start(t, func(c *server.Config) { c.EmulatedVersion, c.AuthenticationConfigFile = []string{"1.32"}, path })
	name := func(i *tokenIssuer) (name string) {
		got := h.Send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/json", []byte("{}"), "Authorization", "Bearer "+i.token())
		if got.Code == 201 {
			name, _ = got.Field(t, "status.userInfo.username").(string)
		}
		return name
	}
	expect := func(step, first, second, success, failure string) {
		t.Helper()
		h.Running.Reload()
		for n, want := range []string{first, second} {
			if got := name([]*tokenIssuer{one, two}[n]); got != want {
				t.Errorf("%s: issuer %d: %q, want %q", step, n, got, want)
			}
		}
		if s, f := reloadsOf(h, "authentication", "success"), reloadsOf(h, "authentication", "failure"); s != success || f != failure {
			t.Errorf("%s: %q and %q reloads", step, s, f)
		}
	}
	for end := time.Now().Add(20 * time.Second); name(one) == "" && time.Now().Before(end); { // until it is discovered
	}
	expect("at first", "one:ann", "", "", "")
	writeIssuers(t, path, anonymous+"jwt:\n"+one.entry("first:")+two.entry("two:"))
	expect("changed", "first:ann", "two:ann", "1", "")
	writeIssuers(t, path, anonymous+"jwt:\n- issuer: {url: x}\n")
	expect("wrong", "first:ann", "two:ann", "1", "1")

	for path, code := range map[string]int{"/livez": 200, "/livez/ping": 401, "/version": 401, "/api": 401} {
		if got := h.Send("GET", path, "", nil, "Authorization", ""); got.Code != code {
			t.Errorf("%s without credentials: %d, want %d", path, got.Code, code)
		}
	}
}

// A wrong file ends the start, with its path; releases before 1.29 have none.
func TestWrongIssuersEndTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		release, text, want string
		change              func(*server.Config)
	}{
		"1.25":          {"1.25", "jwt: []", "--authentication-config: it cannot be used without the feature gate StructuredAuthenticationConfiguration", nil},
		"unknown field": {"1.36", "jwts: []", `authentication.yaml:3: unknown field "jwts"`, nil},
		"mistake":       {"1.36", "jwt: [{}]", "authentication.yaml: [jwt[0].issuer.url: Required value", nil},
		"the own issuer": {"1.36", "jwt: [{issuer: {url: https://kubernetes.default.svc, audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]",
			"URL must not overlap with disallowed issuers", nil},
		"anonymous twice": {"1.36", "anonymous: {enabled: true}", "anonymous: Forbidden: --anonymous-auth flag cannot be set",
			func(c *server.Config) { c.DisableAnonymousAuth = true }},
	} {
		path := filepath.Join(t.TempDir(), "authentication.yaml")
		writeIssuers(t, path, c.text)
		cfg := server.Config{InMemory: true, Features: server.Features{EmulatedVersion: []string{c.release}}}
		cfg.AuthenticationConfigFile = path
		if c.change != nil {
			c.change(&cfg)
		}
		s, err := server.Start(t.Context(), cfg)
		if err == nil {
			_ = s.Shutdown(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	both := server.Config{InMemory: true}
	both.AuthenticationConfigFile, both.OIDCIssuerURL, both.OIDCClientID = "f", "https://i", "c"
	if err := both.Validate(); err == nil || !strings.Contains(err.Error(), "authentication-config file and oidc-* flags are mutually exclusive") {
		t.Error(err)
	}
}
