package openid

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/authn"
)

// issuer is an issuer of ID tokens with one key, which can change.
type issuer struct {
	t    testing.TB
	http *httptest.Server
	key  atomic.Pointer[rsa.PrivateKey]
	down atomic.Bool
	read atomic.Int64 // how often its keys were
	more sync.Map     // handlers, by path
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{t: t}
	i.newKey()
	i.http = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.down.Load() {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.http.URL, "jwks_uri": i.http.URL + "/keys", "authorization_endpoint": i.http.URL + "/a", "token_endpoint": i.http.URL + "/t"})
		case "/keys":
			i.read.Add(1)
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Load().Public(), KeyID: i.keyID(), Algorithm: "RS256", Use: "sig"}}})
		default:
			if handle, ok := i.more.Load(r.URL.Path); ok {
				handle.(http.HandlerFunc)(w, r)
				return
			}
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}
	}))
	t.Cleanup(i.http.Close)
	return i
}

func (i *issuer) newKey() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	i.key.Store(key)
}

func (i *issuer) keyID() string { return i.key.Load().N.Text(62)[:8] }

// caFile is a file with the authority of the certificates of all issuers.
func (i *issuer) caFile() string {
	path := filepath.Join(i.t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.http.Certificate().Raw})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		i.t.Fatal(err)
	}
	return path
}

func (i *issuer) token(algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	var key any = jose.JSONWebKey{Key: i.key.Load(), KeyID: i.keyID()}
	if algorithm == jose.HS256 {
		key = []byte(strings.Repeat("k", 32))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// claims are those of a token of ann, changed.
func (i *issuer) claims(changes map[string]any) map[string]any {
	all := map[string]any{"iss": i.http.URL, "aud": "kit", "sub": "ann", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix()}
	maps.Copy(all, changes)
	return all
}

func (i *issuer) open(settings Settings) *Authenticator {
	return i.openAt(settings, func() time.Time { return now })
}

func (i *issuer) openAt(settings Settings, clock func() time.Time) *Authenticator {
	settings.OIDCIssuerURL, settings.OIDCClientID, settings.OIDCCAFile = i.http.URL, "kit", i.caFile()
	settings.SetDefaults()
	if err := settings.Validate(); err != nil {
		i.t.Fatal(err)
	}
	a, err := Open(Config{Settings: settings, Logger: slog.New(slog.DiscardHandler), Clock: clock, Retry: time.Millisecond})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(a.Close)
	return a
}

// discovered waits until the issuer is known.
func discovered(t testing.TB, a *Authenticator) *Authenticator {
	for end := time.Now().Add(20 * time.Second); a.known.Load() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the issuer is not discovered")
		}
	}
	return a
}

func TestTokens(t *testing.T) {
	i := newIssuer(t)
	groups := Settings{OIDCUsernamePrefix: "oidc:", OIDCGroupsClaim: "groups", OIDCGroupsPrefix: "g:", OIDCRequiredClaims: map[string]string{"hd": "kit"}}
	mail := Settings{OIDCUsernameClaim: "email"}
	hd := map[string]any{"hd": "kit"}
	with := func(name string, value any) map[string]any { return map[string]any{"hd": "kit", name: value} }
	authenticated := func(name string, groups ...string) *authn.User {
		return &authn.User{Name: name, Groups: append(groups, "system:authenticated")}
	}
	for name, c := range map[string]struct {
		settings Settings
		changes  map[string]any
		want     *authn.User // nil for a refusal
	}{
		"plain":                 {Settings{}, nil, authenticated(i.http.URL + "#ann")},
		"no prefix":             {Settings{OIDCUsernamePrefix: "-"}, nil, authenticated("ann")},
		"groups":                {groups, with("groups", []string{"a", "b"}), authenticated("oidc:ann", "g:a", "g:b")},
		"one group":             {groups, with("groups", "a"), authenticated("oidc:ann", "g:a")},
		"groups of null":        {groups, with("groups", json.RawMessage("null")), authenticated("oidc:ann")},
		"no groups":             {groups, hd, authenticated("oidc:ann")},
		"groups of numbers":     {groups, with("groups", []int{1}), nil},
		"without required":      {groups, nil, nil},
		"another required":      {groups, map[string]any{"hd": "other"}, nil},
		"several audiences":     {Settings{OIDCUsernamePrefix: "-"}, map[string]any{"aud": []string{"x", "kit"}}, authenticated("ann")},
		"another audience":      {Settings{}, map[string]any{"aud": "x"}, nil},
		"no audience":           {Settings{}, map[string]any{"aud": nil}, nil},
		"expired":               {Settings{}, map[string]any{"exp": now.Add(-time.Minute).Unix()}, nil},
		"not yet":               {Settings{}, map[string]any{"nbf": now.Add(time.Hour).Unix()}, nil},
		"mail":                  {mail, map[string]any{"email": "ann@example.com"}, authenticated("ann@example.com")},
		"verified mail":         {mail, map[string]any{"email": "ann@example.com", "email_verified": true}, authenticated("ann@example.com")},
		"mail not verified":     {mail, map[string]any{"email": "ann@example.com", "email_verified": false}, nil},
		"mail verified by text": {mail, map[string]any{"email": "ann@example.com", "email_verified": "true"}, nil},
		"no mail":               {mail, nil, nil},
		"name as a number":      {Settings{}, map[string]any{"sub": 7}, nil},
		"no name":               {Settings{OIDCUsernameClaim: "x", OIDCUsernamePrefix: "system:"}, map[string]any{"x": ""}, nil},
	} {
		a := discovered(t, i.open(c.settings))
		identity, err := a.AuthenticateToken(t.Context(), i.token(jose.RS256, i.claims(c.changes)))
		var got *authn.User
		if identity != nil {
			got = identity.User
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestForgedTokens(t *testing.T) {
	i, stranger := newIssuer(t), newIssuer(t)
	a := discovered(t, i.open(Settings{}))
	good := i.token(jose.RS256, i.claims(nil))
	if identity, err := a.AuthenticateToken(t.Context(), good); identity == nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"another algorithm": i.token(jose.PS256, i.claims(nil)),
		"a shared key":      i.token(jose.HS256, i.claims(nil)),
		"a stranger's key":  stranger.token(jose.RS256, i.claims(nil)),
		"no signature":      parts[0] + "." + parts[1] + ".",
		"none":              "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"huge":              i.token(jose.RS256, i.claims(map[string]any{"x": strings.Repeat("x", authn.MaxTokenBytes)})),
	} {
		if identity, _ := a.AuthenticateToken(t.Context(), token); identity != nil {
			t.Errorf("%s: %+v", name, identity.User)
		}
	}
	for name, token := range map[string]string{"another issuer": stranger.token(jose.RS256, stranger.claims(nil)), "no token": "x", "empty": "", "dots": ".."} {
		if identity, err := a.AuthenticateToken(t.Context(), token); identity != nil || err != nil {
			t.Errorf("%s: %v, %v: not one of this issuer", name, identity, err)
		}
	}
}

// The issuer may be started later, and may change its keys.
func TestIssuerComesAndChanges(t *testing.T) {
	i := newIssuer(t)
	i.down.Store(true)
	a := i.open(Settings{})
	if identity, err := a.AuthenticateToken(t.Context(), i.token(jose.RS256, i.claims(nil))); identity != nil || err == nil {
		t.Errorf("%v, %v", identity, err)
	}
	i.down.Store(false)
	discovered(t, a)
	for range 2 {
		if identity, err := a.AuthenticateToken(t.Context(), i.token(jose.RS256, i.claims(nil))); identity == nil {
			t.Error(err)
		}
		i.newKey()
	}
}

// Tokens that no key of the issuer has signed make the server read the keys, but not each
// time; keys that are changed meanwhile are found soon, and known ones serve all the time.
func TestUnknownKeys(t *testing.T) {
	i := newIssuer(t)
	var later atomic.Int64
	a := i.openAt(Settings{}, func() time.Time { return now.Add(time.Duration(later.Load())) })
	discovered(t, a)
	logsIn := func(token string) bool {
		identity, _ := a.AuthenticateToken(t.Context(), token)
		return identity != nil
	}
	good := i.token(jose.RS256, i.claims(nil))
	if !logsIn(good) || i.read.Load() != 1 {
		t.Fatal("a good token is refused")
	}
	known := i.key.Load()
	wrong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(id string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: wrong, KeyID: id}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.Signed(signer).Claims(i.claims(nil)).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for range 50 { // one id that is not there
		if logsIn(forge("absent")) {
			t.Fatal("a forged token is accepted")
		}
	}
	if got := i.read.Load(); got != 2 {
		t.Errorf("the keys were read %d times for one unknown key, want once", got-1)
	}
	for n := range 50 { // ids that are all new, none, and the one of a known key
		for _, id := range []string{fmt.Sprint("absent-", n), "", i.keyID()} {
			if logsIn(forge(id)) {
				t.Fatal("a forged token is accepted")
			}
		}
	}
	if got := i.read.Load(); got > 5 {
		t.Errorf("the keys were read %d times", got)
	}
	if !logsIn(good) {
		t.Error("a good token is refused because of forged ones")
	}
	i.newKey()
	if i.key.Load() == known {
		t.Fatal("the key is the same")
	}
	next := i.token(jose.RS256, i.claims(nil))
	logsIn(next) // may be too early
	later.Store(int64(time.Minute))
	if !logsIn(next) {
		t.Error("a token of the issuer's next key is refused")
	}
}

func TestSettings(t *testing.T) {
	for want, s := range map[string]Settings{
		"belong together":          {OIDCClientID: "x"},
		"with the scheme https":    {OIDCIssuerURL: "http://x", OIDCClientID: "x"},
		`"HS256" is not one of`:    {OIDCSigningAlgorithms: []string{"HS256"}},
		"--oidc-issuer-url: \"x\"": {OIDCIssuerURL: "x", OIDCClientID: "x"},
	} {
		s.SetDefaults()
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// The origin of a URL has nothing that would begin another part of a policy.
func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{
		"https://login.example.com/realm?x=y":    "https://login.example.com",
		"https://127.0.0.1:8443/token":           "https://127.0.0.1:8443",
		"https://user:secret@example.com/":       "https://example.com",
		"http://example.com/":                    "",
		"https:///token":                         "",
		"https://*/":                             "",
		"https://*.example.com/":                 "",
		"https://x;script-src/":                  "",
		"https://x,y/":                           "",
		"https://'unsafe-inline'/":               "",
		"https://[::1]/":                         "",
		"https://x:/":                            "",
		"data:,x":                                "",
		"":                                       "",
		"https://example.com\r\nSet-Cookie: a=b": "",
	} {
		if have := Origin(address); have != want {
			t.Errorf("%q: %q, want %q", address, have, want)
		}
	}
}
