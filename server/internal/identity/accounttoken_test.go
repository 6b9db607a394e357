package identity_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A service account logs in by its tokens while the objects that they depend on exist.
func TestServiceAccountTokens(t *testing.T) {
	h := harness.Start(t, nil)
	const ns = "/api/v1/namespaces/default"
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	h.Create(ns+"/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"web","containers":[{"name":"c","image":"i"}]}}`)
	h.Create(harness.RBACGroup+"clusterroles", harness.RoleOf("maps", `{"verbs":["list"],"apiGroups":[""],"resources":["configmaps"]}`))
	h.Create(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf("maps", "ClusterRole", "maps", `{"kind":"ServiceAccount","name":"web"}`))
	token := func(spec string) string {
		t.Helper()
		got := h.Post(ns+"/serviceaccounts/web/token", `{"spec":{`+spec+`}}`)
		text, _ := got.Field(t, "status.token").(string)
		if got.Code != 201 || text == "" {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		return text
	}
	login := func(token string) int {
		return h.Send("GET", harness.ConfigMaps, "", nil, "Authorization", "Bearer "+token).Code
	}
	own, others := token(""), token(`"audiences":["elsewhere"]`)
	both := token(`"audiences":["elsewhere","https://kubernetes.default.svc"]`)
	pods := token(`"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}`)
	for name, c := range map[string]struct {
		token string
		code  int
	}{"own": {own, 200}, "for others": {others, 401}, "for both": {both, 200}, "bound": {pods, 200}, "cut": {own[:len(own)-3], 401}} {
		if got := login(c.token); got != c.code {
			t.Errorf("%s: %d, want %d", name, got, c.code)
		}
	}
	h.Run(t, []harness.Step{
		{"review", "POST", harness.TokenReviews, "", `{"spec":{"token":"` + pods + `"}}`, 201, `"authentication.kubernetes.io/pod-name":["p"]`},
		{"review for others", "POST", harness.TokenReviews, "", `{"spec":{"token":"` + others + `"}}`, 201, `"error":"invalid bearer token"`},
	})
	h.Send("DELETE", ns+"/pods/p?gracePeriodSeconds=0", "", nil)
	if got := login(pods); got != 401 {
		t.Errorf("the token of a deleted pod: %d", got)
	}
	h.Send("DELETE", ns+"/serviceaccounts/web", "", nil)
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	if got := login(own); got != 401 {
		t.Errorf("the token of an account that was created anew: %d", got)
	}
}

// Another program verifies tokens by the published documents.
func TestIssuerDocuments(t *testing.T) {
	h := harness.Start(t, nil)
	if got := h.Get("/.well-known/openid-configuration"); got.Code != 200 || got.Field(t, "issuer") != "https://kubernetes.default.svc" || !strings.HasSuffix(got.Field(t, "jwks_uri").(string), "/openid/v1/jwks") {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if got := h.Send("GET", "/openid/v1/jwks", "", nil, "Accept", "application/json"); got.Code != 406 {
		t.Errorf("keys as JSON: %d", got.Code)
	}
	got := h.Send("GET", "/openid/v1/jwks", "", nil, "Accept", "application/jwk-set+json, application/json")
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(got.Body, &keys); err != nil || got.Code != 200 || got.Header.Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("%d %s: %v", got.Code, got.Body, err)
	}
	h.Create("/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"web"}}`)
	text := h.Post("/api/v1/namespaces/default/serviceaccounts/web/token", `{"spec":{"audiences":["x"]}}`).Field(t, "status.token").(string)
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := token.Claims(keys, &claims); err != nil || claims.Subject != "system:serviceaccount:default:web" {
		t.Errorf("%+v: %v", claims, err)
	}
	for _, path := range []string{"/openid/v1/jwks", "/.well-known/openid-configuration"} {
		if got := h.Send("GET", path, "", nil, "Authorization", "Bearer bob-token"); got.Code != 403 {
			t.Errorf("a user that is no service account reads %s: %d", path, got.Code)
		}
		if got := h.Post(path, ""); got.Code != 405 {
			t.Errorf("POST %s: %d", path, got.Code)
		}
	}
}

// A secret for a token is filled in, and goes with its account.
func TestTokenSecrets(t *testing.T) {
	h := harness.WithControllers(t, "serviceaccount-token")
	const ns = "/api/v1/namespaces/default"
	secret := func(name, account string) string {
		return `{"metadata":{"name":"` + name + `","annotations":{"kubernetes.io/service-account.name":"` + account + `"}},"type":"kubernetes.io/service-account-token"}`
	}
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"web"},"secrets":[{"name":"t"},{"name":"other"}]}`)
	h.Create(ns+"/secrets", secret("t", "web"))
	filled := h.Await(ns+"/secrets", func(o harness.Contents) bool { return o.In("t", "data.token") != nil })
	for key, want := range map[string]string{"namespace": "default", "ca.crt": string(h.Running.CA())} {
		text, err := base64.StdEncoding.DecodeString(fmt.Sprint(filled.In("t", "data").(map[string]any)[key]))
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", key, text, err)
		}
	}
	token, err := base64.StdEncoding.DecodeString(filled.In("t", "data.token").(string))
	if err != nil {
		t.Fatal(err)
	}
	h.Run(t, []harness.Step{{"review", "POST", harness.TokenReviews, "", `{"spec":{"token":"` + string(token) + `"}}`, 201, `"username":"system:serviceaccount:default:web"`}})

	h.MergePatch(ns+"/secrets/t", `{"data":{"namespace":"eA=="}}`)
	h.Await(ns+"/secrets", func(o harness.Contents) bool { return o.In("t", "data.namespace") == "ZGVmYXVsdA==" })
	h.Send("DELETE", ns+"/secrets/t", "", nil)
	h.Await(ns+"/serviceaccounts", func(o harness.Contents) bool { return len(o.In("web", "secrets").([]any)) == 1 })
	h.Run(t, []harness.Step{{"review of a deleted one", "POST", harness.TokenReviews, "", `{"spec":{"token":"` + string(token) + `"}}`, 201, `"error":`}})

	h.Create(ns+"/secrets", secret("t2", "web"))
	h.Create(ns+"/secrets", secret("t3", "nobody"))
	h.Await(ns+"/secrets", func(o harness.Contents) bool { return o.In("t2", "data.token") != nil && o["t3"] == nil })
	h.Send("DELETE", ns+"/serviceaccounts/web", "", nil)
	h.Await(ns+"/secrets", func(o harness.Contents) bool { return o["t2"] == nil })
}

// Uses of tokens that should have been renewed, and of those in secrets, are counted, and
// noted in the audit events.
func TestUsesOfTokensAreNoted(t *testing.T) {
	c := &harness.Clock{Start: time.Now()}
	h, lines := harness.StartAudited(t, "", func(cfg *server.Config) { cfg.Clock, cfg.Controllers = c.Now, []string{"serviceaccount-token"} })
	const ns = "/api/v1/namespaces/default"
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	h.Create(ns+"/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"web","containers":[{"name":"c","image":"i"}]}}`)
	h.Create(ns+"/secrets", `{"metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":"web"}},"type":"kubernetes.io/service-account-token"}`)
	encoded, _ := h.Await(ns+"/secrets", func(o harness.Contents) bool { return o.In("t", "data.token") != nil }).In("t", "data.token").(string)
	inSecret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	token := func(spec string) string {
		text, _ := h.Post(ns+"/serviceaccounts/web/token", `{"spec":{`+spec+`}}`).Field(t, "status.token").(string)
		return text
	}
	ofPod, plain := token(`"expirationSeconds":3607,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}`), token(`"expirationSeconds":86400`)
	use := func(path string, tokens ...string) {
		for _, token := range tokens {
			h.Send("GET", path, "", nil, "Authorization", "Bearer "+token).Expect(t, 200, "")
		}
	}
	use("/version?0", ofPod, plain)
	c.Pass(2 * time.Hour)
	use("/version?1", ofPod)
	use("/version?2", plain)
	use("/version?3", string(inSecret))
	h.Post(harness.TokenReviews, `{"spec":{"token":"`+string(inSecret)+`"}}`).Expect(t, 201, "")
	for name, want := range map[string]string{"valid": "1", "stale": "1", "legacy": "2"} {
		if got := h.Figures()["serviceaccount_"+name+"_tokens_total"]; got != want {
			t.Errorf("%s tokens: %s, want %s", name, got, want)
		}
	}
	const web = "system:serviceaccount:default:web"
	found := map[string]int{}
	for _, line := range lines() {
		for note, where := range map[string]string{`"authentication.k8s.io/stale-token":"subject: ` + web + `, seconds after warning threshold: 359`: "/version?1",
			`"authentication.k8s.io/legacy-token":"` + web + `"`: "/version?3"} {
			if strings.Contains(line, note) {
				found[note]++
				if !strings.Contains(line, where) && !strings.Contains(line, harness.TokenReviews) {
					t.Error(line)
				}
			} else if strings.Contains(line, where) {
				t.Errorf("%s\nwant %s", line, note)
			}
		}
	}
	if len(found) != 2 {
		t.Error(found)
	}
}
