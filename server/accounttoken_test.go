package server_test

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
)

// A service account logs in by its tokens while the objects that they depend on exist.
func TestServiceAccountTokens(t *testing.T) {
	h := startServer(t, nil)
	const ns = "/api/v1/namespaces/default"
	h.create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	h.create(ns+"/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"web","containers":[{"name":"c","image":"i"}]}}`)
	h.create(rbacGroup+"clusterroles", roleOf("maps", `{"verbs":["list"],"apiGroups":[""],"resources":["configmaps"]}`))
	h.create(rbacGroup+"namespaces/default/rolebindings", bindingOf("maps", "ClusterRole", "maps", `{"kind":"ServiceAccount","name":"web"}`))
	token := func(spec string) string {
		t.Helper()
		got := h.post(ns+"/serviceaccounts/web/token", `{"spec":{`+spec+`}}`)
		text, _ := got.field(t, "status.token").(string)
		if got.code != 201 || text == "" {
			t.Fatalf("%d %s", got.code, got.body)
		}
		return text
	}
	login := func(token string) int {
		return h.send("GET", configMaps, "", nil, "Authorization", "Bearer "+token).code
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
	h.run(t, []step{
		{"review", "POST", tokenReviews, "", `{"spec":{"token":"` + pods + `"}}`, 201, `"authentication.kubernetes.io/pod-name":["p"]`},
		{"review for others", "POST", tokenReviews, "", `{"spec":{"token":"` + others + `"}}`, 201, `"error":"invalid bearer token"`},
	})
	h.send("DELETE", ns+"/pods/p?gracePeriodSeconds=0", "", nil)
	if got := login(pods); got != 401 {
		t.Errorf("the token of a deleted pod: %d", got)
	}
	h.send("DELETE", ns+"/serviceaccounts/web", "", nil)
	h.create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	if got := login(own); got != 401 {
		t.Errorf("the token of an account that was created anew: %d", got)
	}
}

// Another program verifies tokens by the published documents.
func TestIssuerDocuments(t *testing.T) {
	h := startServer(t, nil)
	if got := h.get("/.well-known/openid-configuration"); got.code != 200 || got.field(t, "issuer") != "https://kubernetes.default.svc" || !strings.HasSuffix(got.field(t, "jwks_uri").(string), "/openid/v1/jwks") {
		t.Fatalf("%d %s", got.code, got.body)
	}
	if got := h.send("GET", "/openid/v1/jwks", "", nil, "Accept", "application/json"); got.code != 406 {
		t.Errorf("keys as JSON: %d", got.code)
	}
	got := h.send("GET", "/openid/v1/jwks", "", nil, "Accept", "application/jwk-set+json, application/json")
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(got.body, &keys); err != nil || got.code != 200 || got.header.Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("%d %s: %v", got.code, got.body, err)
	}
	h.create("/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"web"}}`)
	text := h.post("/api/v1/namespaces/default/serviceaccounts/web/token", `{"spec":{"audiences":["x"]}}`).field(t, "status.token").(string)
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := token.Claims(keys, &claims); err != nil || claims.Subject != "system:serviceaccount:default:web" {
		t.Errorf("%+v: %v", claims, err)
	}
	for _, path := range []string{"/openid/v1/jwks", "/.well-known/openid-configuration"} {
		if got := h.send("GET", path, "", nil, "Authorization", "Bearer bob-token"); got.code != 403 {
			t.Errorf("a user that is no service account reads %s: %d", path, got.code)
		}
		if got := h.post(path, ""); got.code != 405 {
			t.Errorf("POST %s: %d", path, got.code)
		}
	}
}

// A secret for a token is filled in, and goes with its account.
func TestTokenSecrets(t *testing.T) {
	h := withControllers(t, "serviceaccount-token")
	const ns = "/api/v1/namespaces/default"
	secret := func(name, account string) string {
		return `{"metadata":{"name":"` + name + `","annotations":{"kubernetes.io/service-account.name":"` + account + `"}},"type":"kubernetes.io/service-account-token"}`
	}
	h.create(ns+"/serviceaccounts", `{"metadata":{"name":"web"},"secrets":[{"name":"t"},{"name":"other"}]}`)
	h.create(ns+"/secrets", secret("t", "web"))
	filled := h.await(ns+"/secrets", func(o contents) bool { return o.in("t", "data.token") != nil })
	for key, want := range map[string]string{"namespace": "default", "ca.crt": string(h.server.CA())} {
		text, err := base64.StdEncoding.DecodeString(fmt.Sprint(filled.in("t", "data").(map[string]any)[key]))
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", key, text, err)
		}
	}
	token, err := base64.StdEncoding.DecodeString(filled.in("t", "data.token").(string))
	if err != nil {
		t.Fatal(err)
	}
	h.run(t, []step{{"review", "POST", tokenReviews, "", `{"spec":{"token":"` + string(token) + `"}}`, 201, `"username":"system:serviceaccount:default:web"`}})

	h.mergePatch(ns+"/secrets/t", `{"data":{"namespace":"eA=="}}`)
	h.await(ns+"/secrets", func(o contents) bool { return o.in("t", "data.namespace") == "ZGVmYXVsdA==" })
	h.send("DELETE", ns+"/secrets/t", "", nil)
	h.await(ns+"/serviceaccounts", func(o contents) bool { return len(o.in("web", "secrets").([]any)) == 1 })
	h.run(t, []step{{"review of a deleted one", "POST", tokenReviews, "", `{"spec":{"token":"` + string(token) + `"}}`, 201, `"error":`}})

	h.create(ns+"/secrets", secret("t2", "web"))
	h.create(ns+"/secrets", secret("t3", "nobody"))
	h.await(ns+"/secrets", func(o contents) bool { return o.in("t2", "data.token") != nil && o["t3"] == nil })
	h.send("DELETE", ns+"/serviceaccounts/web", "", nil)
	h.await(ns+"/secrets", func(o contents) bool { return o["t2"] == nil })
}

// Uses of tokens that should have been renewed, and of those in secrets, are counted, and
// noted in the audit events.
func TestUsesOfTokensAreNoted(t *testing.T) {
	c := &clock{start: time.Now()}
	h, lines := startAudited(t, "", func(cfg *server.Config) { cfg.Clock, cfg.Controllers = c.now, []string{"serviceaccount-token"} })
	const ns = "/api/v1/namespaces/default"
	h.create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	h.create(ns+"/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"web","containers":[{"name":"c","image":"i"}]}}`)
	h.create(ns+"/secrets", `{"metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":"web"}},"type":"kubernetes.io/service-account-token"}`)
	encoded, _ := h.await(ns+"/secrets", func(o contents) bool { return o.in("t", "data.token") != nil }).in("t", "data.token").(string)
	inSecret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	token := func(spec string) string {
		text, _ := h.post(ns+"/serviceaccounts/web/token", `{"spec":{`+spec+`}}`).field(t, "status.token").(string)
		return text
	}
	ofPod, plain := token(`"expirationSeconds":3607,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}`), token(`"expirationSeconds":86400`)
	use := func(path string, tokens ...string) {
		for _, token := range tokens {
			h.send("GET", path, "", nil, "Authorization", "Bearer "+token).expect(t, 200, "")
		}
	}
	use("/version?0", ofPod, plain)
	c.pass(2 * time.Hour)
	use("/version?1", ofPod)
	use("/version?2", plain)
	use("/version?3", string(inSecret))
	h.post(tokenReviews, `{"spec":{"token":"`+string(inSecret)+`"}}`).expect(t, 201, "")
	for name, want := range map[string]string{"valid": "1", "stale": "1", "legacy": "2"} {
		if got := h.figures()["serviceaccount_"+name+"_tokens_total"]; got != want {
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
				if !strings.Contains(line, where) && !strings.Contains(line, tokenReviews) {
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
