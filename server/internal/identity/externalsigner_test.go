package identity_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/capstan-dev/capstan/internal/externaljwt"
	"github.com/capstan-dev/capstan/internal/signertest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// externallySigned has a server of a release use a signer.
func externallySigned(release string, signer *signertest.Signer, change func(*server.Config)) func(*server.Config) {
	return func(c *server.Config) {
		c.EmulatedVersion, c.ServiceAccountSigningEndpoint = []string{release}, signer.Path
		c.Seams.Durations = seams.Production
		c.Seams.Durations.Signer = externaljwt.Pauses{Fetch: 10 * time.Second, Metadata: 10 * time.Second, Again: time.Millisecond}
		if change != nil {
			change(c)
		}
	}
}

// tokenOf is a token of the account web.
func tokenOf(t *testing.T, h *harness.Server, spec string) (harness.Reply, string) {
	t.Helper()
	got := h.Post(harness.AccountsPath+"/web/token", `{"spec":`+spec+`}`)
	token, _ := got.Field(t, "status.token").(string)
	if got.Code != http.StatusCreated || token == "" {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	return got, token
}

// login is the code for a request with a token; 200 for a known user.
func login(h *harness.Server, token string) int {
	code := h.Send("GET", "/api/v1/namespaces/default/configmaps", "", nil, "Authorization", "Bearer "+token).Code
	if code == http.StatusForbidden {
		return http.StatusOK
	}
	return code
}

// published are the names of the published keys, and the time for which they count.
func published(t *testing.T, h *harness.Server) (ids string, age int) {
	t.Helper()
	got := h.Send("GET", "/openid/v1/jwks", "", nil, "Accept", "application/jwk-set+json")
	var set struct {
		Keys []struct{ Kid, Alg, Use string }
	}
	if err := json.Unmarshal(got.Body, &set); err != nil || got.Code != http.StatusOK {
		t.Fatalf("%d %s, %v", got.Code, got.Body, err)
	}
	for _, key := range set.Keys {
		if ids += key.Kid + " "; key.Alg != "ES256" || key.Use != "sig" {
			t.Errorf("%+v", key)
		}
	}
	seconds, _ := strings.CutPrefix(got.Header.Get("Cache-Control"), "public, max-age=")
	age, err := strconv.Atoi(seconds)
	if err != nil {
		t.Errorf("%v", got.Header)
	}
	return strings.TrimSpace(ids), age
}

// TestExternalSigner: a token that another program signs logs its account in, in each release that has such programs.
func TestExternalSigner(t *testing.T) {
	for release, version := range map[string]string{"1.32": "v1alpha1", "1.34": "v1", "1.36": "v1"} {
		t.Run(release, func(t *testing.T) {
			signer := signertest.New(t, version)
			signer.Listen(t)
			signer.Change(func(s *signertest.Says) { s.Hint, s.Life = 1000, 7200 })
			var log harness.Lines
			h := harness.Start(t, externallySigned(release, signer, func(c *server.Config) {
				c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				if release == "1.32" {
					c.FeatureGates = []string{"ExternalServiceAccountTokenSigner=true"}
				}
			}))
			h.Create(harness.AccountsPath, `{"metadata":{"name":"web"}}`)
			got, token := tokenOf(t, h, `{"expirationSeconds":10000}`)
			if login(h, token) != http.StatusOK || !strings.Contains(got.Header.Get("Warning"), "requested expiration of 10000 seconds shortened to 7200 seconds") {
				t.Errorf("%d %v", login(h, token), got.Header)
			}
			if claims := claimsOf(t, got); claims["iss"] != "https://kubernetes.default.svc" || claims["exp"].(float64)-claims["iat"].(float64) != 7200 || claims["jti"] == "" {
				t.Errorf("%v", claims)
			}
			if ids, age := published(t, h); ids != "one" || age < 900 || age > 1000 {
				t.Errorf("%q for %d s", ids, age)
			}
			h.Create("/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"web","containers":[{"name":"c","image":"i"}]}}`)
			got, _ = tokenOf(t, h, `{"expirationSeconds":3607,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}`)
			claims := claimsOf(t, got)
			if own := claims["kubernetes.io"].(map[string]any); claims["exp"].(float64)-claims["iat"].(float64) != 7200 || own["warnafter"].(float64)-claims["iat"].(float64) != 3607 {
				t.Errorf("the token of a pod: %v", claims)
			}
			figures := h.Figures()
			for name, want := range map[string]string{`sign_request_total{code="OK"`: "2", `fetch_keys_request_total{code="OK"`: "1", "fetch_keys_data_timestamp": "1.7000000005e+09",
				`request_duration_seconds_count{code="OK",method="/` + version + `.ExternalJWTSigner/Sign"`: "2"} {
				if figures["apiserver_externaljwt_"+name] != want {
					t.Errorf("%s is %q", name, figures["apiserver_externaljwt_"+name])
				}
			}
			log.Mu.Lock()
			defer log.Mu.Unlock()
			if parts := strings.Split(token, "."); strings.Contains(log.Text.String(), parts[1]) || strings.Contains(log.Text.String(), parts[2]) {
				t.Errorf("the token is in the log: %s", &log.Text)
			}
		})
	}
}

// TestExternalKeys: tokens are verified by the present keys of the signer, of which hidden ones are not published.
func TestExternalKeys(t *testing.T) {
	signer := signertest.Start(t)
	h := harness.Start(t, externallySigned("1.36", signer, nil))
	h.Create(harness.AccountsPath, `{"metadata":{"name":"web"}}`)
	_, first := tokenOf(t, h, "{}")
	one, two, three := signertest.Key{}, signertest.NewKey(t, "two"), signertest.NewKey(t, "three")
	signer.Change(func(s *signertest.Says) { one = s.Keys[0]; s.Keys = []signertest.Key{two, one} })
	if login(h, first) != http.StatusOK {
		t.Error("the first token is refused")
	}
	asked := signer.Asked("FetchKeys")
	_, second := tokenOf(t, h, "{}")
	if ids, _ := published(t, h); login(h, second) != http.StatusOK || signer.Asked("FetchKeys") != asked+1 || ids != "two one" {
		t.Errorf("a new key: %d, asked %d times after %d, published %q", login(h, second), signer.Asked("FetchKeys"), asked, ids)
	}
	one.Hidden = true
	signer.Change(func(s *signertest.Says) { s.Keys = []signertest.Key{three, one} })
	_, third := tokenOf(t, h, "{}")
	for name, c := range map[string]struct {
		token string
		code  int
	}{"hidden": {first, 200}, "removed": {second, 401}, "new": {third, 200}} {
		if code := login(h, c.token); code != c.code {
			t.Errorf("%s: %d, want %d", name, code, c.code)
		}
	}
	if ids, _ := published(t, h); ids != "three" {
		t.Errorf("published %q", ids)
	}
	signer.Change(func(s *signertest.Says) { s.Header = `{"alg":"ES256","kid":"one","typ":"JWT"}` })
	says(t, h.Post(harness.AccountsPath+"/web/token", `{"spec":{}}`), 500, "Internal error occurred: failed to generate token: while validating header: key used for signing JWT (kid: one) is excluded from OIDC discovery docs")
	signer.Change(func(s *signertest.Says) { s.Header, s.Keys = "", []signertest.Key{one} })
	login(h, strings.Replace(second, second[:strings.Index(second, ".")], "eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ", 1)) // of the key x, which nobody has
	if ids, _ := published(t, h); ids != "three" || login(h, first) != http.StatusOK {
		t.Errorf("without keys that may be published: %q", ids)
	}
}

// TestExternalSignerAndSecrets: tokens in secrets are signed by a key of their own, which the signer has to name.
func TestExternalSignerAndSecrets(t *testing.T) {
	file, private, foreign := accountKey(t)
	signer := signertest.Start(t)
	h := harness.Start(t, externallySigned("1.36", signer, func(c *server.Config) {
		c.ServiceAccountPrivateKeyFile, c.Controllers = file, []string{"serviceaccount-token"}
	}))
	requested, secret, made := accountTokens(t, h, foreign)
	if codes := [3]int{login(h, requested), login(h, secret), login(h, made)}; codes != [3]int{200, 401, 401} {
		t.Errorf("%v", codes)
	}
	parsed, err := jwt.ParseSigned(secret, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	signer.Change(func(s *signertest.Says) {
		s.Keys = append(s.Keys, signertest.Key{ID: parsed.Headers[0].KeyID, Private: private, Hidden: true})
	})
	if code := login(h, secret); code != 200 {
		t.Errorf("a token of a secret by a key that the signer names: %d", code)
	}
}

// TestExternalSignerFails: a request for a token says why the signer failed, and the server is well.
func TestExternalSignerFails(t *testing.T) {
	signer := signertest.Start(t)
	h := harness.Start(t, externallySigned("1.36", signer, func(c *server.Config) { c.RequestTimeout = 2 * time.Second }))
	h.Create(harness.AccountsPath, `{"metadata":{"name":"web"}}`)
	_, token := tokenOf(t, h, "{}")
	ask := func() harness.Reply { return h.Post(harness.AccountsPath+"/web/token", `{"spec":{}}`) }
	signer.Change(func(s *signertest.Says) { s.Fails, s.Code = "Sign", 8 })
	says(t, ask(), 500, `"message":"Internal error occurred: failed to generate token: while signing jwt: rpc error: code = ResourceExhausted desc = on purpose"`)
	signer.Change(func(s *signertest.Says) { s.Fails, s.Hangs = "", "Sign" })
	says(t, ask(), 504, `"reason":"Timeout"`)
	signer.Stop()
	answer := ask()
	for strings.Contains(string(answer.Body), "code = Unavailable") { // it was sent on the connection that was just ending
		answer = ask()
	}
	says(t, answer, 504, `"reason":"Timeout"`)
	if code := login(h, token); code != http.StatusOK {
		t.Errorf("a token of before: %d", code)
	}
	says(t, h.Get("/readyz"), 200, "ok")
	says(t, h.Get("/livez"), 200, "ok")
}

// TestExternalSignerRefusals: flags that a signer excludes, and signers that cannot be used.
func TestExternalSignerRefusals(t *testing.T) {
	signer := signertest.Start(t)
	signer.Change(func(s *signertest.Says) { s.Life = 7200 })
	const exclusive = "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)"
	const gate = "setting `--service-account-signing-endpoint` requires enabling ExternalServiceAccountTokenSigner feature gate"
	for name, c := range map[string]struct {
		release string
		change  func(*server.Config)
		want    string
	}{
		"1.25":          {"1.25", nil, gate},
		"1.31":          {"1.31", nil, gate},
		"1.33, off":     {"1.33", nil, gate},
		"1.35, off":     {"1.35", func(c *server.Config) { c.FeatureGates = []string{"ExternalServiceAccountTokenSigner=false"} }, gate},
		"a signing key": {"1.36", func(c *server.Config) { c.ServiceAccountSigningKeyFile = "x" }, "service-account-signing-key-file and service-account-signing-endpoint are mutually exclusive and cannot be set at the same time"},
		"keys":          {"1.36", func(c *server.Config) { c.ServiceAccountKeyFiles = []string{"x"} }, exclusive},
		"longer":        {"1.36", func(c *server.Config) { c.ServiceAccountMaxTokenExpiration = 3 * time.Hour }, "service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: 3h0m0s > 2h0m0s"},
		"1.32, any life": {"1.32", func(c *server.Config) {
			c.ServiceAccountMaxTokenExpiration = time.Hour
			c.FeatureGates = []string{"ExternalServiceAccountTokenSigner=true"}
		}, "service-account-max-token-expiration and service-account-signing-endpoint are mutually exclusive and cannot be set at the same time"},
		"a name": {"1.36", func(c *server.Config) { c.ServiceAccountSigningEndpoint = "@a/b" }, `invalid value "@a/b" passed for ` + "`--service-account-signing-endpoint`, when prefixed with @ must be a valid abstract socket name"},
		"1.33, a path": {"1.33", func(c *server.Config) {
			c.ServiceAccountSigningEndpoint = "a"
			c.FeatureGates = []string{"ExternalServiceAccountTokenSigner=true"}
		}, `invalid value "a" passed for ` + "`--service-account-signing-endpoint`, should be a valid location on the filesystem or must be prefixed with @ to name UDS in abstract namespace"},
		"another program": {"1.36", func(c *server.Config) {
			c.ServiceAccountSigningEndpoint = signertest.New(t, "v1").Path
			c.Seams.Durations.Signer.Fetch = 20 * time.Millisecond
		}, "while setting up external-jwt-signer: while initially filling key cache: while performing initial cache fill: while fetching token verification keys: while getting externally supported jwt signing keys: rpc error: code = DeadlineExceeded"},
	} {
		cfg := server.Config{InMemory: true}
		externallySigned(c.release, signer, c.change)(&cfg)
		s, err := harness.Launch(t.Context(), cfg)
		if err == nil {
			_ = s.Shutdown(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := harness.Start(t, externallySigned("1.36", signer, func(c *server.Config) { c.ServiceAccountMaxTokenExpiration = 90 * time.Minute }))
	h.Create(harness.AccountsPath, `{"metadata":{"name":"web"}}`)
	if got, _ := tokenOf(t, h, `{"expirationSeconds":7000}`); got.Field(t, "spec.expirationSeconds") != 5400.0 {
		t.Errorf("%s", got.Body)
	}
}
