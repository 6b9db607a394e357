package identity_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// boundTokenCases are releases with what their tokens have.
var boundTokenCases = []struct {
	release       string
	gates         []string
	id, node      bool
	binding       string // of a token to a node: part of the answer; "" when it is bound
	uids          bool   // the answer to a request for a token has the account's uid
	refusesOthers bool   // a request with another uid
}{
	{release: "1.25", node: true, binding: "to object of type Node"},
	{release: "1.28", binding: "to object of type Node"},
	{release: "1.29", binding: `cannot bind token to a Node object as the \"ServiceAccountTokenNodeBinding\" feature-gate is disabled`},
	{release: "1.29", gates: []string{"ServiceAccountTokenJTI=true", "ServiceAccountTokenNodeBinding=true", "ServiceAccountTokenNodeBindingValidation=true"}, id: true},
	{release: "1.30", id: true, node: true, binding: "feature-gate is disabled"},
	{release: "1.31", id: true, node: true},
	{release: "1.33", id: true, node: true},
	{release: "1.34", id: true, node: true, uids: true, refusesOthers: true},
	{release: "1.36", gates: []string{"TokenRequestServiceAccountUIDValidation=false"}, id: true, node: true, uids: true},
}

// Tokens of a release have its claims, which are the extra values of their users and in the audit log.
func TestBoundTokensOfReleases(t *testing.T) {
	for _, c := range boundTokenCases {
		t.Run(strings.Join(append([]string{c.release}, c.gates...), " "), func(t *testing.T) {
			h, lines := harness.StartAudited(t, "", func(cfg *server.Config) { cfg.EmulatedVersion, cfg.FeatureGates = []string{c.release}, c.gates })
			const ns, account = "/api/v1/namespaces/default", "/api/v1/namespaces/default/serviceaccounts/web"
			h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
			h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
			h.Create(ns+"/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","serviceAccountName":"web","containers":[{"name":"c","image":"i"}]}}`)
			got := h.Post(account+"/token", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}}`)
			claims := claimsOf(t, got)
			own, _ := claims["kubernetes.io"].(map[string]any)
			id, _ := claims["jti"].(string)
			if node, _ := own["node"].(map[string]any); (id != "") != c.id || (node["name"] == "n" && node["uid"] != "") != c.node {
				t.Errorf("claims %v", claims)
			}
			if _, has := got.Field(t, "metadata.uid").(string); has != c.uids {
				t.Errorf("%s", got.Body)
			}
			extra := extraOf(t, h, got)
			if (extra["credential-id"] == "JTI="+id && id != "") != c.id || (extra["node-name"] == "n" && extra["node-uid"] != "") != c.node {
				t.Errorf("extra values %v", extra)
			}
			reply := h.Post(account+"/token", `{"metadata":{"uid":"other"},"spec":{}}`)
			if c.refusesOthers {
				says(t, reply, 409, "the UID in the token request (other) does not match the UID of the service account (")
			} else if says(t, reply, 201, ""); c.uids && !strings.Contains(strings.Join(reply.Header["Warning"], ""), "In the future, this will return a conflict error") {
				t.Errorf("%v", reply.Header)
			}
			nodeToken(t, h, account, c.binding)
			if issued := strings.Count(strings.Join(lines(), "\n"), `"authentication.kubernetes.io/issued-credential-id":"JTI=`+id); issued > 0 != c.id {
				t.Errorf("the audit log names the token %d times", issued)
			}
		})
	}
}

// nodeToken binds a token to a node, whose end is that of the token.
func nodeToken(t *testing.T, h *harness.Server, account, refusal string) {
	got := h.Post(account+"/token", `{"spec":{"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"n"}}}`)
	if refusal != "" {
		says(t, got, 400, refusal)
		return
	}
	claims := claimsOf(t, got)
	own, _ := claims["kubernetes.io"].(map[string]any)
	if node, _ := own["node"].(map[string]any); node["name"] != "n" || own["pod"] != nil {
		t.Errorf("%v", claims)
	}
	if extra := extraOf(t, h, got); extra["node-name"] != "n" || extra["node-uid"] == "" {
		t.Errorf("%v", extra)
	}
	says(t, h.Post(account+"/token", `{"spec":{"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"n","uid":"other"}}}`), 409,
		"the UID in the bound object reference (other) does not match the UID in record")
	h.Send("DELETE", "/api/v1/nodes/n", "", nil)
	token, _ := got.Field(t, "status.token").(string)
	says(t, h.Send("GET", "/version", "", nil, "Authorization", "Bearer "+token), 401, "Unauthorized")
	says(t, h.Post(harness.TokenReviews, `{"spec":{"token":"`+token+`"}}`), 201, "service account token has been invalidated: ")
	h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	says(t, h.Post(harness.TokenReviews, `{"spec":{"token":"`+token+`"}}`), 201, "service account token has been invalidated: ")
}

// says requires the code and a part of an answer.
func says(t *testing.T, r harness.Reply, code int, part string) {
	t.Helper()
	if r.Code != code || !strings.Contains(string(r.Body), part) {
		t.Errorf("%d %s, want %d %q", r.Code, r.Body, code, part)
	}
}

// claimsOf are the claims of the token in an answer.
func claimsOf(t *testing.T, r harness.Reply) (claims map[string]any) {
	t.Helper()
	token, _ := r.Field(t, "status.token").(string)
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// extraOf are the extra values of the user of the token in an answer, without "authentication.kubernetes.io/".
func extraOf(t *testing.T, h *harness.Server, r harness.Reply) map[string]string {
	t.Helper()
	review := h.Post(harness.TokenReviews, fmt.Sprintf(`{"spec":{"token":%q}}`, r.Field(t, "status.token")))
	extra := map[string]string{}
	all, _ := review.Field(t, "status.user.extra").(map[string]any)
	for key, values := range all {
		extra[strings.TrimPrefix(key, "authentication.kubernetes.io/")] = fmt.Sprint(values.([]any)[0])
	}
	return extra
}
