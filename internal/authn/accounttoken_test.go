package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
)

// boundObjects are the objects of tokens by plural and name, all of the namespace shop.
type boundObjects map[string]Bound

func (o boundObjects) Bound(_ context.Context, plural, namespace, name string) (Bound, error) {
	if of, ok := o[plural+"/"+name]; ok && (namespace == "shop") == (plural != "nodes") {
		return of, nil
	}
	return Bound{}, errors.New(plural + " " + name + " does not exist")
}

// mint makes keys and tokens.
type mint struct {
	t   testing.TB
	key *ecdsa.PrivateKey
	pem []byte
	*TokenIssuer
}

func newMint(t testing.TB) *mint {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	m := &mint{t: t, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})}
	if m.TokenIssuer, err = NewTokenIssuer("https://issuer", m.pem); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mint) token(t AccountToken) string {
	text, err := m.Issue(context.Background(), t)
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

// signed signs any claims, with a key identifier of the caller's choice.
func (m *mint) signed(algorithm jose.SignatureAlgorithm, key any, id string, claims any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

var tokenTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (m *mint) authenticator(objects boundObjects, keys ...crypto.PublicKey) *AccountTokens {
	return NewAccountTokens(AccountTokenConfig{Issuers: []string{"https://issuer", "https://earlier"}, Keys: keys, Audiences: []string{"api"}, Lookup: true,
		Objects: objects, Clock: func() time.Time { return tokenTime }, NodeTokens: true})
}

// plain is a token of the account web, changed.
func plain(change func(*AccountToken)) AccountToken {
	t := AccountToken{Namespace: "shop", Account: Reference{"web", "u1"}, Audiences: []string{"api"}, From: tokenTime, To: tokenTime.Add(time.Hour)}
	if change != nil {
		change(&t)
	}
	return t
}

func TestAccountTokens(t *testing.T) {
	m, other := newMint(t), newMint(t)
	objects := boundObjects{"serviceaccounts/web": {UID: "u1"}, "serviceaccounts/leaving": {UID: "u2", Deleted: tokenTime.Add(-30 * time.Second)},
		"serviceaccounts/left": {UID: "u3", Deleted: tokenTime.Add(-2 * time.Minute)}, "pods/p": {UID: "u4"}, "secrets/s": {UID: "u5"},
		"nodes/n": {UID: "u6"}, "nodes/left": {UID: "u7", Deleted: tokenTime.Add(-2 * time.Minute)}}
	a := m.authenticator(objects, other.key.Public(), m.key.Public())
	for name, c := range map[string]struct {
		change func(*AccountToken)
		refuse string // "": accepted
	}{
		"plain":             {nil, ""},
		"expired":           {func(t *AccountToken) { t.To = tokenTime.Add(-2 * time.Minute) }, "has expired"},
		"a minute late":     {func(t *AccountToken) { t.To = tokenTime.Add(-50 * time.Second) }, ""},
		"of the future":     {func(t *AccountToken) { t.From = tokenTime.Add(2 * time.Minute) }, "not valid yet"},
		"recreated account": {func(t *AccountToken) { t.Account.UID = "u0" }, "does not match"},
		"without a uid":     {func(t *AccountToken) { t.Account.UID = "" }, "does not match"},
		"missing account":   {func(t *AccountToken) { t.Account.Name = "gone" }, "does not exist"},
		"other namespace":   {func(t *AccountToken) { t.Namespace = "other" }, "does not exist"},
		"just deleted":      {func(t *AccountToken) { t.Account = Reference{"leaving", "u2"} }, ""},
		"deleted":           {func(t *AccountToken) { t.Account = Reference{"left", "u3"} }, "has been deleted"},
		"pod":               {func(t *AccountToken) { t.Pod = &Reference{"p", "u4"} }, ""},
		"recreated pod":     {func(t *AccountToken) { t.Pod = &Reference{"p", "u0"} }, "has been invalidated"},
		"missing pod":       {func(t *AccountToken) { t.Pod = &Reference{"q", "u4"} }, "has been invalidated"},
		"pod without uid":   {func(t *AccountToken) { t.Pod = &Reference{"p", ""} }, "has been invalidated"},
		"secret":            {func(t *AccountToken) { t.Secret = &Reference{"s", "u5"} }, ""},
		"recreated secret":  {func(t *AccountToken) { t.Secret = &Reference{"s", "u0"} }, "has been invalidated"},
		"node":              {func(t *AccountToken) { t.Node = &Reference{"n", "u6"} }, ""},
		"recreated node":    {func(t *AccountToken) { t.Node = &Reference{"n", "u0"} }, "has been invalidated"},
		"missing node":      {func(t *AccountToken) { t.Node = &Reference{"m", "u6"} }, "has been invalidated: nodes m does not exist"},
		"deleted node":      {func(t *AccountToken) { t.Node = &Reference{"left", "u7"} }, "has been invalidated: nodes left has been deleted"},
		"node of a pod":     {func(t *AccountToken) { t.Pod, t.Node = &Reference{"p", "u4"}, &Reference{"m", "u0"} }, ""},
		"odd node":          {func(t *AccountToken) { t.Node = &Reference{"../n", "u6"} }, "cannot exist"},
		"odd pod":           {func(t *AccountToken) { t.Pod = &Reference{"../x", "u4"} }, "cannot exist"},
		"odd account":       {func(t *AccountToken) { t.Account.Name = "we/b" }, "cannot exist"},
	} {
		token := m.token(plain(c.change))
		for range 2 { // the second time from the cache
			identity, err := a.AuthenticateToken(t.Context(), token)
			if c.refuse == "" && (err != nil || identity == nil) || c.refuse != "" && (identity != nil || err == nil || !strings.Contains(err.Error(), c.refuse)) {
				t.Errorf("%s: %v, %v, want %q", name, identity, err, c.refuse)
			}
		}
	}
	identity, err := a.AuthenticateToken(t.Context(), m.token(plain(func(t *AccountToken) { t.Pod = &Reference{"p", "u4"}; t.Audiences = []string{"x", "y"} })))
	want := &Identity{Sure: true, Audiences: []string{"x", "y"}, User: &User{Name: "system:serviceaccount:shop:web", UID: "u1",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"},
		Extra:  map[string][]string{"authentication.kubernetes.io/pod-name": {"p"}, "authentication.kubernetes.io/pod-uid": {"u4"}}}}
	if diff := cmp.Diff(want, identity); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	token := m.token(plain(nil))
	if _, err := a.AuthenticateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	delete(objects, "serviceaccounts/web")
	if identity, _ := a.AuthenticateToken(t.Context(), token); identity != nil {
		t.Error("a token that was valid before outlives its account")
	}
}

func TestForgedTokens(t *testing.T) {
	m, stranger := newMint(t), newMint(t)
	a := m.authenticator(boundObjects{"serviceaccounts/web": {UID: "u1"}}, m.key.Public())
	id, err := keyID(m.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{"iss": "https://issuer", "sub": "system:serviceaccount:shop:web", "aud": []string{"api"}, "exp": tokenTime.Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "shop", "serviceaccount": map[string]string{"name": "web", "uid": "u1"}}}
	with := func(name string, value any) map[string]any {
		c := maps.Clone(claims)
		c[name] = value
		return c
	}
	der, err := x509.MarshalPKIXPublicKey(m.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	good := m.signed(jose.ES256, m.key, "", claims)
	if identity, err := a.AuthenticateToken(t.Context(), good); identity == nil || err != nil {
		t.Fatalf("without a key identifier: %v", err)
	}
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for name, token := range map[string]string{
		"no algorithm":           none + "." + parts[1] + ".",
		"no algorithm, signed":   none + "." + parts[1] + "." + parts[2],
		"the public key as HMAC": m.signed(jose.HS256, der, id, claims),
		"a stranger's key":       stranger.signed(jose.ES256, stranger.key, "", claims),
		"a stranger's, our name": stranger.signed(jose.ES256, stranger.key, id, claims),
		"another issuer":         m.signed(jose.ES256, m.key, id, with("iss", "https://elsewhere")),
		"no issuer":              m.signed(jose.ES256, m.key, id, with("iss", nil)),
		"claims of another type": m.signed(jose.ES256, m.key, id, with("kubernetes.io", "x")),
		"no claims":              m.signed(jose.ES256, m.key, id, with("kubernetes.io", nil)),
		"the end as a text":      m.signed(jose.ES256, m.key, id, with("exp", "never")),
		"no signature":           parts[0] + "." + parts[1] + ".",
		"two parts":              parts[0] + "." + parts[1],
		"four parts":             good + ".x",
		"another payload":        parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://issuer","sub":"admin"}`)) + "." + parts[2],
		"empty":                  "",
		"dots":                   "..",
		"huge":                   m.signed(jose.ES256, m.key, id, with("x", strings.Repeat("x", MaxTokenBytes))),
	} {
		if identity, err := a.AuthenticateToken(t.Context(), token); identity != nil {
			t.Errorf("%s: %+v, %v", name, identity.User, err)
		}
	}
}

// Tokens in secrets last as long as their secret has them.
func TestSecretTokens(t *testing.T) {
	m := newMint(t)
	claims := map[string]any{"iss": LegacyIssuer, "sub": "system:serviceaccount:shop:web"}
	for name, value := range map[string]string{"namespace": "shop", "secret.name": "s", "service-account.name": "web", "service-account.uid": "u1"} {
		claims["kubernetes.io/serviceaccount/"+name] = value
	}
	token := m.signed(jose.ES256, m.key, "", claims)
	account := Bound{UID: "u1"}
	for name, c := range map[string]struct {
		objects boundObjects
		ok      bool
	}{
		"valid":           {boundObjects{"serviceaccounts/web": account, "secrets/s": {Token: []byte(token)}}, true},
		"another token":   {boundObjects{"serviceaccounts/web": account, "secrets/s": {Token: []byte("x")}}, false},
		"no secret":       {boundObjects{"serviceaccounts/web": account}, false},
		"deleted":         {boundObjects{"serviceaccounts/web": account, "secrets/s": {Token: []byte(token), Deleted: tokenTime.Add(-time.Second)}}, false},
		"no account":      {boundObjects{"secrets/s": {Token: []byte(token)}}, false},
		"another account": {boundObjects{"serviceaccounts/web": {UID: "u2"}, "secrets/s": {Token: []byte(token)}}, false},
	} {
		identity, err := m.authenticator(c.objects, m.key.Public()).AuthenticateToken(t.Context(), token)
		if (identity != nil) != c.ok || (err == nil) != c.ok {
			t.Errorf("%s: %v, %v", name, identity, err)
		}
		if identity != nil && !cmp.Equal(identity.Audiences, []string{"api"}) {
			t.Errorf("%s: for %v", name, identity.Audiences)
		}
	}
	for _, missing := range []string{"sub", "kubernetes.io/serviceaccount/namespace", "kubernetes.io/serviceaccount/secret.name", "kubernetes.io/serviceaccount/service-account.name", "kubernetes.io/serviceaccount/service-account.uid"} {
		less := maps.Clone(claims)
		delete(less, missing)
		a := m.authenticator(boundObjects{"serviceaccounts/web": account, "secrets/s": {}}, m.key.Public())
		if identity, err := a.AuthenticateToken(t.Context(), m.signed(jose.ES256, m.key, "", less)); identity != nil || err == nil {
			t.Errorf("without %s: %v, %v", missing, identity, err)
		}
	}
}

// A token for other servers is not one for this server.
func TestAudiences(t *testing.T) {
	m := newMint(t)
	tokens := m.authenticator(boundObjects{"serviceaccounts/web": {UID: "u1"}}, m.key.Public())
	for _, c := range []struct {
		audiences []string
		ok        bool
	}{{[]string{"api"}, true}, {[]string{"x", "api"}, true}, {[]string{"x"}, false}, {[]string{}, true}} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+m.token(plain(func(t *AccountToken) { t.Audiences = c.audiences })))
		identity, err := bearer{tokens, []string{"api"}}.Authenticate(r)
		if (identity != nil) != c.ok || (err == nil) != c.ok {
			t.Errorf("%v: %v, %v", c.audiences, identity, err)
		}
	}
}

func TestTokenUses(t *testing.T) {
	m := newMint(t)
	a := m.authenticator(boundObjects{"serviceaccounts/web": {UID: "u1"}}, m.key.Public())
	for _, stale := range []time.Time{{}, tokenTime.Add(time.Minute), tokenTime.Add(-time.Minute)} {
		for range 2 {
			if _, err := a.AuthenticateToken(t.Context(), m.token(plain(func(t *AccountToken) { t.Stale = stale }))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := a.AuthenticateToken(t.Context(), m.token(plain(func(t *AccountToken) { t.To = tokenTime.Add(-time.Hour) }))); err == nil {
		t.Error("an expired token is accepted")
	}
	if u := &a.Uses; u.Valid.Load() != 2 || u.Stale.Load() != 2 || u.Legacy.Load() != 0 {
		t.Errorf("valid %d, stale %d, legacy %d", u.Valid.Load(), u.Stale.Load(), u.Legacy.Load())
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := NewCache[int]()
	for i := range 3 * generationSize {
		c.Put(strings.Repeat("x", i%100)+string(rune(i)), i)
		c.Put("used", 7)
	}
	if n, ok := c.Get("used"); !ok || n != 7 || len(c.now)+len(c.before) > 2*generationSize {
		t.Errorf("%d, %v; %d results", n, ok, len(c.now)+len(c.before))
	}
}

func FuzzAccountToken(f *testing.F) {
	m := newMint(f)
	a := m.authenticator(boundObjects{"serviceaccounts/web": {UID: "u1"}}, m.key.Public())
	good := m.token(plain(nil))
	f.Add(good)
	f.Add("a.e30.c")
	f.Fuzz(func(t *testing.T, token string) {
		if identity, _ := a.AuthenticateToken(t.Context(), token); identity != nil && strings.Split(token, ".")[1] != strings.Split(good, ".")[1] {
			t.Errorf("%q is accepted", token)
		}
	})
}

func BenchmarkAccountToken(b *testing.B) {
	m := newMint(b)
	a := m.authenticator(boundObjects{"serviceaccounts/web": {UID: "u1"}, "pods/p": {UID: "u4"}}, m.key.Public())
	token := m.token(plain(func(t *AccountToken) { t.Pod = &Reference{"p", "u4"} }))
	for name, forget := range map[string]bool{"cached": false, "new": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if forget {
					a.verified = NewCache[*accountLogin]()
				}
				if _, err := a.AuthenticateToken(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The extra values of users are those that are switched on; a token of a node is refused where they are not known.
func TestExtrasOfTokens(t *testing.T) {
	m := newMint(t)
	objects := boundObjects{"serviceaccounts/web": {UID: "u1"}, "pods/p": {UID: "u2"}, "nodes/n": {UID: "u3"}}
	of := plain(func(t *AccountToken) { t.ID, t.Pod, t.Node = "i", &Reference{"p", "u2"}, &Reference{"n", "u3"} })
	bound := plain(func(t *AccountToken) { t.Node = &Reference{"n", "u3"} })
	for name, c := range map[string]struct {
		change func(*AccountTokenConfig)
		token  AccountToken
		want   map[string]string // nil for a refusal; without "authentication.kubernetes.io/"
	}{
		"off":        {func(*AccountTokenConfig) {}, of, map[string]string{"pod-name": "p", "pod-uid": "u2"}},
		"credential": {func(c *AccountTokenConfig) { c.CredentialIDs = true }, of, map[string]string{"pod-name": "p", "pod-uid": "u2", "credential-id": "JTI=i"}},
		"node":       {func(c *AccountTokenConfig) { c.PodNodes = true }, of, map[string]string{"pod-name": "p", "pod-uid": "u2", "node-name": "n", "node-uid": "u3"}},
		"bound":      {func(c *AccountTokenConfig) { c.NodeTokens = true }, bound, map[string]string{"node-name": "n", "node-uid": "u3"}},
		"refused":    {func(c *AccountTokenConfig) { c.PodNodes = true }, bound, nil},
	} {
		cfg := AccountTokenConfig{Issuers: []string{"https://issuer"}, Keys: []crypto.PublicKey{m.key.Public()}, Objects: objects, Clock: func() time.Time { return tokenTime }}
		c.change(&cfg)
		identity, err := NewAccountTokens(cfg).AuthenticateToken(t.Context(), m.token(c.token))
		if (identity == nil) != (c.want == nil) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v, %v", name, identity, err)
			continue
		}
		got := map[string]string{}
		if identity != nil {
			for key, values := range identity.User.Extra {
				got[strings.TrimPrefix(key, "authentication.kubernetes.io/")] = strings.Join(values, ",")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}
