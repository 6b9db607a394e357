package endpoints_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestTokenRequest(t *testing.T) {
	h := harness.Start(t, nil)
	path := harness.AccountsPath + "/robot/token"
	h.Run(t, []harness.Step{
		{"no account", "POST", path, "", `{"spec":{}}`, 404, `"kind":"serviceaccounts"`},
		{"account", "POST", harness.AccountsPath, "", `{"metadata":{"name":"robot"}}`, 201, ""},
		{"other name", "POST", path, "", `{"metadata":{"name":"x"},"spec":{}}`, 422, `"details":{"name":"robot","group":"authentication.k8s.io","kind":"TokenRequest"`},
		{"too short", "POST", path, "", `{"spec":{"expirationSeconds":10}}`, 422, "spec.expirationSeconds"},
		{"bound to nothing", "POST", path, "", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"}}}`, 404, `"kind":"pods"`},
		{"bound to a pod, in any version of the core group", "POST", path, "", `{"spec":{"boundObjectRef":{"apiVersion":"v2","kind":"Pod","name":"p"}}}`, 404, `"kind":"pods"`},
		{"bound to a pod of another group", "POST", path, "", `{"spec":{"boundObjectRef":{"apiVersion":"apps/v1","kind":"Pod","name":"p"}}}`, 400, "cannot bind"},
		{"bound to a pod without a name", "POST", path, "", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod"}}}`, 400, "boundObjectRef.name"},
		{"bound to a config map", "POST", path, "", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"ConfigMap","name":"p"}}}`, 400, "cannot bind"},
		{"secret", "POST", "/api/v1/namespaces/default/secrets", "", `{"metadata":{"name":"s"}}`, 201, ""},
		{"other secret", "POST", path, "", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s","uid":"x"}}}`, 409, `"kind":"Secret"`},
		{"owner", "POST", path + "?fieldManager=m", "", `{"metadata":{"uid":"x","managedFields":[]},"spec":{}}`, 201, `"fieldsV1":{"f:spec":{"f:expirationSeconds":{}}},"subresource":"token"}]`},
		{"read", "GET", path, "", "", 405, ""},
	})
	got := h.Post(path, `{"spec":{"audiences":["vault"],"expirationSeconds":600,"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s"}}}`)
	token, _ := got.Field(t, "status.token").(string)
	parts := strings.Split(token, ".")
	if got.Code != 201 || len(parts) != 3 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Iss, Sub string
		Aud      []string
		Iat, Exp int64
		Cluster  struct {
			Namespace string
			Secret    struct{ Name, UID string }
			Account   struct{ Name, UID string } `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	c := claims.Cluster
	if claims.Iss != "https://kubernetes.default.svc" || claims.Sub != "system:serviceaccount:default:robot" || len(claims.Aud) != 1 || claims.Aud[0] != "vault" ||
		claims.Exp-claims.Iat != 600 || c.Namespace != "default" || c.Secret.Name != "s" || c.Secret.UID == "" || c.Account.Name != "robot" || c.Account.UID == "" {
		t.Errorf("claims %s", text)
	}
	if h.Get(harness.AccountsPath+"/robot").Field(t, "metadata.name") != "robot" {
		t.Error("the account is gone")
	}
}

// TestAudiences: tokens are for the audiences of the server unless their requests name others,
// reviews ask for some of a token's, and a token does not outlive the server's bound.
func TestAudiences(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.APIAudiences, c.ServiceAccountMaxTokenExpiration = []string{"api", "other"}, time.Hour
	})
	h.Post(harness.AccountsPath, `{"metadata":{"name":"robot"}}`).Expect(t, 201, "")
	got := h.Post(harness.AccountsPath+"/robot/token", `{"spec":{"expirationSeconds":7200}}`)
	got.Expect(t, 201, "")
	if got.Field(t, "spec.audiences.0") != "api" || got.Field(t, "spec.audiences.1") != "other" || got.Field(t, "spec.expirationSeconds") != 3600.0 ||
		!strings.Contains(got.Header.Get("Warning"), "shortened to 3600 seconds") {
		t.Errorf("%v %s", got.Header, got.Body)
	}
	foreign, _ := h.Post(harness.AccountsPath+"/robot/token", `{"spec":{"audiences":["vault","x"]}}`).Field(t, "status.token").(string)
	for _, c := range []struct {
		token, asked string
		want         []any
	}{
		{harness.AdminToken, "[]", []any{"api", "other"}},
		{harness.AdminToken, `["other","x"]`, []any{"other", nil}},
		{harness.AdminToken, `["x"]`, []any{nil, nil}},
		{foreign, `["vault"]`, []any{"vault", nil}},
		{foreign, `["x","y","vault"]`, []any{"x", "vault"}},
		{foreign, `["api"]`, []any{nil, nil}},
		{foreign, "[]", []any{nil, nil}},
	} {
		got := h.Post("/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"`+c.token+`","audiences":`+c.asked+`}}`)
		authenticated, _ := got.Field(t, "status.authenticated").(bool)
		if got.Field(t, "status.audiences.0") != c.want[0] || got.Field(t, "status.audiences.1") != c.want[1] || authenticated != (c.want[0] != nil) {
			t.Errorf("%s: %s", c.asked, got.Body)
		}
	}
}
