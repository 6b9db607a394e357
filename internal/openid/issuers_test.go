package openid

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/authn"
)

func since(release string) func(string) bool {
	return func(first string) bool { return first <= release }
}

func fileConfig() FileConfig {
	return FileConfig{Path: "/etc/authn.yaml", Since: since("1.36"), AnonymousPaths: true, Own: []string{"https://kubernetes.default.svc"},
		Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now }, Retry: time.Millisecond, Wait: 10 * time.Second}
}

func fileOf(version, rest string) []byte {
	return []byte("apiVersion: apiserver.config.k8s.io/" + version + "\nkind: AuthenticationConfiguration\n" + rest)
}

// TestMistakesAreThoseOfKubeAPIServer: what kube-apiserver 1.36 says of a file with a mistake at each place that is checked.
func TestMistakesAreThoseOfKubeAPIServer(t *testing.T) {
	text, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenFile(fileConfig(), text)
	if err == nil {
		t.Fatal("accepted")
	}
	if diff := cmp.Diff("/etc/authn.yaml: "+strings.TrimSpace(string(want)), err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestFilesOfReleases(t *testing.T) {
	const jwt = "jwt: [{issuer: {url: https://127.0.0.1:1, audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]\n"
	for name, c := range map[string]struct {
		release string
		text    []byte
		want    string // "" for no mistake
	}{
		"alpha":             {"1.29", fileOf("v1alpha1", jwt), ""},
		"beta too early":    {"1.29", fileOf("v1beta1", jwt), "is not what belongs here"},
		"beta":              {"1.30", fileOf("v1beta1", jwt), ""},
		"stable too early":  {"1.33", fileOf("v1", jwt), "is not what belongs here"},
		"stable":            {"1.34", fileOf("v1", jwt), ""},
		"no issuer":         {"1.36", fileOf("v1", ""), ""},
		"two":               {"1.36", fileOf("v1", strings.Replace(jwt, "}}}]", "}}}, {issuer: {url: https://127.0.0.1:1/2, audiences: [a, b], audienceMatchPolicy: MatchAny}, claimMappings: {username: {expression: claims.sub}}}]", 1)), ""},
		"paths":             {"1.32", fileOf("v1beta1", "anonymous: {enabled: true, conditions: [{path: /livez}]}"), ""},
		"paths too early":   {"1.30", fileOf("v1beta1", "anonymous: {enabled: true}"), `:3: unknown field "anonymous"`},
		"unknown":           {"1.36", fileOf("v1", "jwts: []"), `:3: unknown field "jwts"`},
		"another kind":      {"1.36", []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"), "is not what belongs here"},
		"empty":             {"1.36", nil, "the file is empty"},
		"own issuer":        {"1.36", fileOf("v1", strings.Replace(jwt, "https://127.0.0.1:1", "https://kubernetes.default.svc", 1)), "jwt[0].issuer.url: Invalid value: \"https://kubernetes.default.svc\": URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]"},
		"egress":            {"1.36", fileOf("v1", strings.Replace(jwt, "audiences", "egressSelectorType: cluster, audiences", 1)), "jwt[0].issuer.egressSelectorType"},
		"egress too early":  {"1.33", fileOf("v1beta1", strings.Replace(jwt, "audiences", "egressSelectorType: cluster, audiences", 1)), `unknown field "egressSelectorType"`},
		"many":              {"1.36", fileOf("v1", "jwt: ["+strings.Repeat("{issuer: {url: a}},", 65)+"]"), "jwt: Too many: 65: must have at most 64 items"},
		"verified address":  {"1.36", fileOf("v1", strings.Replace(jwt, "claim: sub, prefix: ''", "expression: 'claims.?email_verified.orValue(true) ? claims.email : claims.sub'", 1)), ""},
		"unverified addres": {"1.36", fileOf("v1", strings.Replace(jwt, "claim: sub, prefix: ''", "expression: 'has(claims.email) ? claims.sub : claims.id'", 1)), "claims.email_verified must be used"},
	} {
		cfg := fileConfig()
		cfg.Since = since(c.release)
		issuers, err := OpenFile(cfg, c.text)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "/etc/authn.yaml:")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if issuers != nil {
			issuers.Close()
		}
	}
	cfg := fileConfig()
	cfg.AnonymousPaths = false
	if _, err := OpenFile(cfg, fileOf("v1", "anonymous: {enabled: true}")); err == nil || !strings.Contains(err.Error(), "anonymous: Forbidden: anonymous is not supported when AnonymousAuthConfigurableEndpoints feature gate is disabled") {
		t.Error(err)
	}
}

// entry is an issuer of a file, with its authority and the rest.
func (i *issuer) entry(place, rest string) string {
	ca, err := os.ReadFile(i.caFile())
	if err != nil {
		i.t.Fatal(err)
	}
	return fmt.Sprintf("- issuer: {%s, certificateAuthority: %q}\n%s", place, ca, rest)
}

// opened are the issuers of a file, once they are discovered.
func opened(t *testing.T, entries ...string) *Issuers {
	t.Helper()
	issuers, err := OpenFile(fileConfig(), fileOf("v1", "jwt:\n"+strings.Join(entries, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(issuers.Close)
	for _, a := range *issuers.current.Load() {
		<-a.ready
	}
	return issuers
}

const mapped = `  claimValidationRules:
  - {claim: hd, requiredValue: kit}
  - {expression: "claims.exp - claims.iat <= 7200", message: "it lasts too long"}
  claimMappings:
    username: {expression: "'kit:' + claims.sub"}
    groups: {expression: "claims.roles.split(',')"}
    uid: {claim: id}
    extra:
    - {key: example.com/tenant, valueExpression: "claims.tenant"}
    - {key: example.com/teams, valueExpression: "claims.?teams.orValue([])"}
  userValidationRules:
  - {expression: "!user.username.startsWith('kit:system:')", message: "reserved"}
  - {expression: "user.groups.all(g, g != 'masters') && user.extra['example.com/tenant'][0] != 'none' && user.uid != ''"}
`

func TestUsersOfExpressions(t *testing.T) {
	i := newIssuer(t)
	issuers := opened(t, i.entry("url: "+i.http.URL+", audiences: [kit, other], audienceMatchPolicy: MatchAny", mapped))
	all := map[string]any{"hd": "kit", "roles": "a,b", "id": "7", "tenant": "shop", "jti": "t1"}
	with := func(changes map[string]any) map[string]any {
		for name, value := range all {
			if _, ok := changes[name]; !ok {
				changes[name] = value
			}
		}
		return i.claims(changes)
	}
	user := &authn.User{Name: "kit:ann", UID: "7", Groups: []string{"a", "b", "system:authenticated"},
		Extra: map[string][]string{"example.com/tenant": {"shop"}, "authentication.kubernetes.io/credential-id": {"JTI=t1"}}}
	for name, c := range map[string]struct {
		claims map[string]any
		want   string // part of the refusal; "" for the user
	}{
		"all":              {with(map[string]any{}), ""},
		"another audience": {with(map[string]any{"aud": []string{"x", "other"}}), ""},
		"for others":       {with(map[string]any{"aud": "x"}), `expected audience in ["kit" "other"] got ["x"]`},
		"required":         {with(map[string]any{"hd": "x"}), `claim "hd" is not what is required`},
		"rule":             {with(map[string]any{"exp": now.Add(9 * time.Hour).Unix()}), "validation expression 'claims.exp - claims.iat <= 7200' failed: it lasts too long"},
		"no value":         {with(map[string]any{"roles": nil}), "error evaluating group claim expression: expression 'claims.roles.split(',')' resulted in error"},
		"no text":          {with(map[string]any{"tenant": map[string]any{"a": 1}}), "expression must return a string or a list of strings"},
		"rule of users":    {with(map[string]any{"sub": "system:x"}), "error evaluating user info validation rule: validation expression '!user.username.startsWith('kit:system:')' failed: reserved"},
		"group":            {with(map[string]any{"roles": "masters"}), "error evaluating user info validation rule"},
		"uid":              {with(map[string]any{"id": 7}), `claim "id"`},
	} {
		identity, err := issuers.AuthenticateToken(t.Context(), i.token(jose.RS256, c.claims))
		switch {
		case c.want != "" && (identity != nil || err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, %v, want %q", name, identity, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "":
			if diff := cmp.Diff(user, identity.User); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	if identity, err := issuers.AuthenticateToken(t.Context(), "x.y.z"); identity != nil || err != nil {
		t.Errorf("%v, %v", identity, err)
	}
}

// The description of an issuer may be elsewhere; it names the issuer all the same.
func TestDiscoveryElsewhere(t *testing.T) {
	i := newIssuer(t)
	const name = "https://issuer.example.com/realm"
	i.more.Store("/found", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, name, i.http.URL+"/keys")
	}))
	issuers := opened(t, i.entry("url: "+name+", discoveryURL: "+i.http.URL+"/found, audiences: [kit]", "  claimMappings: {username: {claim: sub, prefix: 'p:'}}\n"))
	identity, err := issuers.AuthenticateToken(t.Context(), i.token(jose.RS256, i.claims(map[string]any{"iss": name})))
	if err != nil || identity.User.Name != "p:ann" {
		t.Errorf("%v, %v", identity, err)
	}
}

// A changed file counts once its issuers are discovered; one with a mistake does not.
func TestIssuersAreReloaded(t *testing.T) {
	one, two := newIssuer(t), newIssuer(t)
	const plain = "  claimMappings: {username: {claim: sub, prefix: ''}}\n"
	first, second := one.entry("url: "+one.http.URL+", audiences: [kit]", plain), two.entry("url: "+two.http.URL+", audiences: [kit]", plain)
	issuers := opened(t, first)
	expect := func(step string, want ...bool) {
		t.Helper()
		for n, i := range []*issuer{one, two} {
			if identity, _ := issuers.AuthenticateToken(t.Context(), i.token(jose.RS256, i.claims(nil))); (identity != nil) != want[n] {
				t.Errorf("%s: issuer %d: %v", step, n, identity)
			}
		}
	}
	expect("at first", true, false)
	before := (*issuers.current.Load())[0]
	for _, c := range []struct {
		step, text, want string
		users            [2]bool
	}{
		{"one more", "jwt:\n" + first + second, "", [2]bool{true, true}},
		{"a mistake", "jwt:\n" + first + first, "Duplicate value", [2]bool{true, true}},
		{"anonymous", "anonymous: {enabled: true}", "anonymous: Forbidden: changed from initial configuration file", [2]bool{true, true}},
		{"none", "jwt: []", "", [2]bool{false, false}},
		{"the second", "jwt:\n" + second, "", [2]bool{false, true}},
	} {
		err := issuers.Reload(fileOf("v1", c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.step, err, c.want)
		}
		expect(c.step, c.users[:]...)
		if c.step == "one more" && (*issuers.current.Load())[0] != before {
			t.Error("an unchanged issuer is looked for again")
		}
	}
	issuers.cfg.Wait = time.Millisecond
	one.down.Store(true)
	if err := issuers.Reload(fileOf("v1", "jwt:\n"+first)); err == nil || !strings.Contains(err.Error(), "is not discovered within 1ms") {
		t.Error(err)
	}
	expect("not found", false, true)
}

// FuzzFile: no text breaks the reader.
func FuzzFile(f *testing.F) {
	f.Add(fileOf("v1", "jwt:\n- issuer: {url: https://127.0.0.1:1, audiences: [a]}\n"+mapped))
	f.Add(fileOf("v1", "anonymous: {enabled: false, conditions: [{path: /}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 {
			return
		}
		if issuers, err := OpenFile(fileConfig(), text); err == nil {
			issuers.Close()
		}
	})
}
