package endpoints_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestTokenReview(t *testing.T) {
	h := harness.Start(t, func(cfg *server.Config) {
		cfg.TokenAuthFile = filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(cfg.TokenAuthFile, []byte(harness.AdminToken+",admin,1,system:masters\ncarol-token,carol,,\"dev,ops\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	ask := func(spec string) string { return `{"spec":{` + spec + `}}` }
	h.Run(t, []harness.Step{
		{"admin", "POST", harness.TokenReviews, "", ask(`"token":"admin-token"`), 201,
			`"status":{"authenticated":true,"user":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]},"audiences":["https://kubernetes.default.svc"]}}`},
		{"two groups", "POST", harness.TokenReviews, "", ask(`"token":"carol-token"`), 201, `"user":{"username":"carol","groups":["dev","ops","system:authenticated"]}`},
		{"unknown", "POST", harness.TokenReviews, "", ask(`"token":"no-such"`), 201, `"status":{"user":{},"error":"invalid bearer token"}}`},
		{"what a client claims", "POST", harness.TokenReviews, "", `{"spec":{"token":"no-such"},"status":{"authenticated":true,"user":{"username":"admin"}}}`, 201, `"status":{"user":{},"error":"invalid bearer token"}}`},
		{"for this server too", "POST", harness.TokenReviews, "", ask(`"token":"admin-token","audiences":["a","https://kubernetes.default.svc"]`), 201,
			`"audiences":["https://kubernetes.default.svc"]}}`},
		{"for others", "POST", harness.TokenReviews, "", ask(`"token":"admin-token","audiences":["a"]`), 201, `"status":{"user":{},"error":"invalid bearer token"}}`},
		{"empty", "POST", harness.TokenReviews, "", ask(`"token":""`), 400, "token is required"},
		{"nothing", "POST", harness.TokenReviews, "", `{}`, 400, "token is required"},
		{"name", "POST", harness.TokenReviews, "", `{"metadata":{"name":"x"},"spec":{"token":"admin-token"}}`, 201, `"metadata":{"name":"x","creationTimestamp":null,`},
		{"dry run", "POST", harness.TokenReviews + "?dryRun=All", "", ask(`"token":"admin-token"`), 201, `"authenticated":true`},
		{"unknown field", "POST", harness.TokenReviews + "?fieldValidation=Strict", "", ask(`"tokens":"a"`), 400, `unknown field \"spec.tokens\"`},
		{"other kind", "POST", harness.TokenReviews, "", `{"kind":"Pod"}`, 400, "cannot be handled"},
		{"list", "GET", harness.TokenReviews, "", "", 405, ""},
		{"name in the path", "POST", harness.TokenReviews + "/x", "", ask(`"token":"admin-token"`), 404, ""},
	})
	if got := h.Send("POST", harness.TokenReviews, "application/json", []byte(ask(`"token":"admin-token"`)), "Authorization", "Bearer carol-token"); got.Code != 403 {
		t.Errorf("carol: %d %s", got.Code, got.Body)
	}
	if got := h.Send("POST", harness.TokenReviews, "application/json", []byte(ask(`"token":"carol-token"`)), "Accept", "application/yaml"); !strings.Contains(string(got.Body), "username: carol") {
		t.Errorf("YAML: %s", got.Body)
	}
}

const ownReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

// TestOwnReview: kubectl auth whoami.
func TestOwnReview(t *testing.T) {
	h := harness.Start(t, func(cfg *server.Config) {
		cfg.TokenAuthFile = filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(cfg.TokenAuthFile, []byte(harness.AdminToken+",admin,1,system:masters\ncarol-token,carol,c1,\"dev,ops\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	h.Run(t, []harness.Step{
		{"admin", "POST", ownReviews, "", `{}`, 201, `"status":{"userInfo":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]}}}`},
		{"what a client claims", "POST", ownReviews, "", `{"metadata":{"name":"x"},"status":{"userInfo":{"username":"root"}}}`, 201, `"username":"admin"`},
		{"unknown field", "POST", ownReviews + "?fieldValidation=Strict", "", `{"spec":{}}`, 400, `unknown field \"spec\"`},
		{"list", "GET", ownReviews, "", "", 405, ""},
	})
	ask := func(code int, want string, headers ...string) {
		t.Helper()
		got := h.Send("POST", ownReviews, "application/json", []byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`), headers...)
		if got.Code != code || !strings.Contains(string(got.Body), want) {
			t.Errorf("%v: %d %s, want %d with %s", headers, got.Code, got.Body, code, want)
		}
	}
	ask(201, `"userInfo":{"username":"carol","uid":"c1","groups":["dev","ops","system:authenticated"]}`, "Authorization", "Bearer carol-token")
	ask(201, `"userInfo":{"username":"dave","groups":["system:authenticated"],"extra":{"team":["red"]}}`, "Impersonate-User", "dave", "Impersonate-Extra-Team", "red")
	ask(403, "", "Authorization", "")
	// The right is that to review the own rights.
	if got := h.Send("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:basic-user", "", nil); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	ask(403, `User \"carol\" cannot create resource \"selfsubjectreviews\" in API group \"authentication.k8s.io\"`, "Authorization", "Bearer carol-token")
}

// TestOlderReviews: versions of earlier and of some later clients, of which one is served
// and not in discovery, and one off; an operator may turn on both.
func TestOlderReviews(t *testing.T) {
	const group, beta, alpha = "/apis/authentication.k8s.io", "/apis/authentication.k8s.io/v1beta1", "/apis/authentication.k8s.io/v1alpha1"
	own := func(version string) string {
		return `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/` + version + `"}`
	}
	isAdmin := func(version string) string {
		return `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/` + version + `","metadata":{"creationTimestamp":"`
	}
	review := `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1beta1","spec":{"token":"bob-token","audiences":["https://kubernetes.default.svc","x"]}}`
	reviewed := []harness.Step{
		{"own name", "POST", beta + "/selfsubjectreviews", "", own("v1beta1"), 201, isAdmin("v1beta1")},
		{"token", "POST", beta + "/tokenreviews", "", review, 201, `"status":{"authenticated":true,"user":{"username":"bob","uid":"2","groups":["system:authenticated"]},"audiences":["https://kubernetes.default.svc"]}}`},
		{"token of another version", "POST", beta + "/tokenreviews", "", strings.Replace(review, "v1beta1", "v1", 1), 400, "does not match the expected API version"},
		{"token that is not known", "POST", beta + "/tokenreviews", "", `{"spec":{"token":"x"}}`, 201, `"apiVersion":"authentication.k8s.io/v1beta1"`},
	}
	h := harness.Start(t, nil)
	h.Run(t, append(reviewed,
		harness.Step{"not discovered", "GET", beta, "", "", 404, ""},
		harness.Step{"off", "POST", alpha + "/selfsubjectreviews", "", own("v1alpha1"), 404, ""}))
	if got := h.Get(group); strings.Contains(string(got.Body), "v1beta1") || strings.Contains(string(got.Body), "v1alpha1") {
		t.Errorf("%s", got.Body)
	}
	on := harness.Start(t, func(c *server.Config) {
		c.RuntimeConfig = []string{"authentication.k8s.io/v1beta1=true", "authentication.k8s.io/v1alpha1=true"}
	})
	on.Run(t, append(reviewed,
		harness.Step{"discovered", "GET", beta, "", "", 200, `"name":"tokenreviews"`},
		harness.Step{"alpha", "POST", alpha + "/selfsubjectreviews", "", own("v1alpha1"), 201, isAdmin("v1alpha1")},
		harness.Step{"in the group", "GET", group, "", "", 200, `"versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"},{"groupVersion":"authentication.k8s.io/v1beta1","version":"v1beta1"},{"groupVersion":"authentication.k8s.io/v1alpha1","version":"v1alpha1"}]`}))
	off := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = []string{"authentication.k8s.io/v1beta1=false"} })
	off.Run(t, []harness.Step{{"turned off", "POST", beta + "/tokenreviews", "", review, 404, ""}})
}

func TestAccessReview(t *testing.T) {
	h := harness.Start(t, nil)
	const pods, version = `"resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}`, `"nonResourceAttributes":{"path":"/version","verb":"get"}`
	ask := func(spec string) string { return `{"spec":{` + spec + `}}` }
	const any, local = harness.AccessGroup + "subjectaccessreviews", harness.AccessGroup + "namespaces/default/localsubjectaccessreviews"
	const yes, no = `"status":{"allowed":true}}`, `"status":{"allowed":false}}`
	h.Run(t, []harness.Step{
		{"self", "POST", harness.SelfReviews, "", ask(pods), 201, yes},
		{"self, everything", "POST", harness.SelfReviews, "", ask(`"resourceAttributes":{"namespace":"default","verb":"*","group":"*","resource":"*"}`), 201, yes},
		{"what a client claims", "POST", any, "", `{"spec":{` + pods + `,"user":"bob"},"status":{"allowed":true,"reason":"because"}}`, 201, no},
		{"self, both", "POST", harness.SelfReviews, "", ask(pods + "," + version), 422, `"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: cannot be specified in combination with resourceAttributes","field":"spec.nonResourceAttributes"}]`},
		{"self, neither", "POST", harness.SelfReviews, "", `{}`, 422, `"field":"spec.resourceAttributes"`},
		{"self, with what the server says", "POST", harness.SelfReviews, "", `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z","uid":"u","deletionTimestamp":"2020-01-01T00:00:00Z"},"spec":{` + pods + `}}`, 201, `"metadata":{"creationTimestamp":null,`},
		{"self, with a name", "POST", harness.SelfReviews, "", `{"metadata":{"name":"x"},"spec":{` + pods + `}}`, 422, `"field":"metadata"`},
		{"user", "POST", any, "", ask(pods + `,"user":"bob"`), 201, no},
		{"group", "POST", any, "", ask(pods + `,"groups":["system:masters"]`), 201, yes},
		{"path", "POST", any, "", ask(version + `,"user":"bob"`), 201, no},
		{"path of the known", "POST", any, "", ask(`"nonResourceAttributes":{"path":"/apis","verb":"get"},"user":"bob"`), 201, no},
		{"with the group", "POST", any, "", ask(`"nonResourceAttributes":{"path":"/apis","verb":"get"},"user":"bob","groups":["system:authenticated"]`), 201,
			`"status":{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\""}}`},
		{"nobody", "POST", any, "", ask(pods), 422, `"field":"spec.user"`},
		{"local", "POST", local, "", ask(pods + `,"user":"bob","uid":"u","extra":{"a":["b"]}`), 201, `"namespace":"default"`},
		{"local, master", "POST", local, "", ask(pods + `,"groups":["system:masters"]`), 201, yes},
		{"local, elsewhere", "POST", local, "", ask(`"resourceAttributes":{"namespace":"other"},"user":"bob"`), 422, `"field":"spec.resourceAttributes.namespace"`},
		{"local, path", "POST", local, "", ask(version + `,"user":"bob"`), 422, `"field":"spec.nonResourceAttributes"`},
		{"local, other namespace", "POST", local, "", `{"metadata":{"namespace":"other"},"spec":{` + pods + `,"user":"bob"}}`, 400, ""},
		{"local, name", "POST", local, "", `{"metadata":{"name":"x"},"spec":{` + pods + `,"user":"bob"}}`, 422, "must be empty except for namespace"},
		{"local without namespace", "POST", harness.AccessGroup + "localsubjectaccessreviews", "", ask(pods + `,"user":"bob"`), 404, ""},
		{"read", "GET", harness.SelfReviews, "", "", 405, ""},
	})
	as := func(token, path, body string) harness.Reply {
		return h.Send("POST", path, "application/json", []byte(body), "Authorization", token)
	}
	for _, c := range []struct {
		name, token, path, spec string
		code                    int
		want                    string
	}{
		{"bob himself", "Bearer bob-token", harness.SelfReviews, pods, 201, no},
		{"bob and versions", "Bearer bob-token", harness.SelfReviews, version, 201, `"status":{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding`},
		{"bob about others", "Bearer bob-token", any, pods + `,"user":"bob"`, 403, ""},
		{"nobody", "", harness.SelfReviews, pods, 403, ""},
	} {
		if got := as(c.token, c.path, ask(c.spec)); got.Code != c.code || !strings.Contains(string(got.Body), c.want) {
			t.Errorf("%s: %d %s", c.name, got.Code, got.Body)
		}
	}
}

func TestRulesReview(t *testing.T) {
	h := harness.Start(t, nil)
	const path, body = harness.AccessGroup + "selfsubjectrulesreviews", `{"metadata":{"name":"x"},"spec":{"namespace":"default"}}`
	h.Run(t, []harness.Step{
		{"admin", "POST", path, "", body, 201, `"spec":{},"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},`},
		{"no namespace", "POST", path, "", `{"spec":{}}`, 400, "no namespace"},
	})
	got := h.Send("POST", path, "application/json", []byte(body), "Authorization", "Bearer bob-token")
	for _, want := range []string{`"metadata":{"creationTimestamp":null},"spec":{},"status":{"resourceRules":[{"verbs":["create"],"apiGroups":["authorization.k8s.io"],` +
		`"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":[`,
		`{"verbs":["get"],"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/healthz","/livez","/openapi","/openapi/*","/readyz","/version","/version/"]}`,
		`{"verbs":["get"],"nonResourceURLs":["/healthz","/livez","/readyz","/version","/version/"]}`, `],"incomplete":false}}`} {
		if got.Code != 201 || !strings.Contains(string(got.Body), want) {
			t.Errorf("bob: %d %s\nwant %s", got.Code, got.Body, want)
		}
	}
}
