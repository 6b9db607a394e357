package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

const (
	tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"
	accessGroup  = "/apis/authorization.k8s.io/v1/"
	selfReviews  = accessGroup + "selfsubjectaccessreviews"
)

func TestTokenReview(t *testing.T) {
	h := startServer(t, func(cfg *server.Config) {
		cfg.TokenAuthFile = filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(cfg.TokenAuthFile, []byte(adminToken+",admin,1,system:masters\ncarol-token,carol,,\"dev,ops\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	ask := func(spec string) string { return `{"spec":{` + spec + `}}` }
	h.run(t, []step{
		{"admin", "POST", tokenReviews, "", ask(`"token":"admin-token"`), 201,
			`"status":{"authenticated":true,"user":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]},"audiences":["https://kubernetes.default.svc"]}}`},
		{"two groups", "POST", tokenReviews, "", ask(`"token":"carol-token"`), 201, `"user":{"username":"carol","groups":["dev","ops","system:authenticated"]}`},
		{"unknown", "POST", tokenReviews, "", ask(`"token":"no-such"`), 201, `"status":{"user":{},"error":"invalid bearer token"}}`},
		{"what a client claims", "POST", tokenReviews, "", `{"spec":{"token":"no-such"},"status":{"authenticated":true,"user":{"username":"admin"}}}`, 201, `"status":{"user":{},"error":"invalid bearer token"}}`},
		{"for this server too", "POST", tokenReviews, "", ask(`"token":"admin-token","audiences":["a","https://kubernetes.default.svc"]`), 201,
			`"audiences":["https://kubernetes.default.svc"]}}`},
		{"for others", "POST", tokenReviews, "", ask(`"token":"admin-token","audiences":["a"]`), 201, `"status":{"user":{},"error":"invalid bearer token"}}`},
		{"empty", "POST", tokenReviews, "", ask(`"token":""`), 400, "token is required"},
		{"nothing", "POST", tokenReviews, "", `{}`, 400, "token is required"},
		{"name", "POST", tokenReviews, "", `{"metadata":{"name":"x"},"spec":{"token":"admin-token"}}`, 201, `"metadata":{"name":"x","creationTimestamp":null,`},
		{"dry run", "POST", tokenReviews + "?dryRun=All", "", ask(`"token":"admin-token"`), 201, `"authenticated":true`},
		{"unknown field", "POST", tokenReviews + "?fieldValidation=Strict", "", ask(`"tokens":"a"`), 400, `unknown field \"spec.tokens\"`},
		{"other kind", "POST", tokenReviews, "", `{"kind":"Pod"}`, 400, "cannot be handled"},
		{"list", "GET", tokenReviews, "", "", 405, ""},
		{"name in the path", "POST", tokenReviews + "/x", "", ask(`"token":"admin-token"`), 404, ""},
	})
	if got := h.send("POST", tokenReviews, "application/json", []byte(ask(`"token":"admin-token"`)), "Authorization", "Bearer carol-token"); got.code != 403 {
		t.Errorf("carol: %d %s", got.code, got.body)
	}
	if got := h.send("POST", tokenReviews, "application/json", []byte(ask(`"token":"carol-token"`)), "Accept", "application/yaml"); !strings.Contains(string(got.body), "username: carol") {
		t.Errorf("YAML: %s", got.body)
	}
}

const ownReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

// TestOwnReview: kubectl auth whoami.
func TestOwnReview(t *testing.T) {
	h := startServer(t, func(cfg *server.Config) {
		cfg.TokenAuthFile = filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(cfg.TokenAuthFile, []byte(adminToken+",admin,1,system:masters\ncarol-token,carol,c1,\"dev,ops\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	h.run(t, []step{
		{"admin", "POST", ownReviews, "", `{}`, 201, `"status":{"userInfo":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]}}}`},
		{"what a client claims", "POST", ownReviews, "", `{"metadata":{"name":"x"},"status":{"userInfo":{"username":"root"}}}`, 201, `"username":"admin"`},
		{"unknown field", "POST", ownReviews + "?fieldValidation=Strict", "", `{"spec":{}}`, 400, `unknown field \"spec\"`},
		{"list", "GET", ownReviews, "", "", 405, ""},
	})
	ask := func(code int, want string, headers ...string) {
		t.Helper()
		got := h.send("POST", ownReviews, "application/json", []byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`), headers...)
		if got.code != code || !strings.Contains(string(got.body), want) {
			t.Errorf("%v: %d %s, want %d with %s", headers, got.code, got.body, code, want)
		}
	}
	ask(201, `"userInfo":{"username":"carol","uid":"c1","groups":["dev","ops","system:authenticated"]}`, "Authorization", "Bearer carol-token")
	ask(201, `"userInfo":{"username":"dave","groups":["system:authenticated"],"extra":{"team":["red"]}}`, "Impersonate-User", "dave", "Impersonate-Extra-Team", "red")
	ask(403, "", "Authorization", "")
	// The right is that to review the own rights.
	if got := h.send("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:basic-user", "", nil); got.code != 200 {
		t.Fatalf("%d %s", got.code, got.body)
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
	reviewed := []step{
		{"own name", "POST", beta + "/selfsubjectreviews", "", own("v1beta1"), 201, isAdmin("v1beta1")},
		{"token", "POST", beta + "/tokenreviews", "", review, 201, `"status":{"authenticated":true,"user":{"username":"bob","uid":"2","groups":["system:authenticated"]},"audiences":["https://kubernetes.default.svc"]}}`},
		{"token of another version", "POST", beta + "/tokenreviews", "", strings.Replace(review, "v1beta1", "v1", 1), 400, "does not match the expected API version"},
		{"token that is not known", "POST", beta + "/tokenreviews", "", `{"spec":{"token":"x"}}`, 201, `"apiVersion":"authentication.k8s.io/v1beta1"`},
	}
	h := startServer(t, nil)
	h.run(t, append(reviewed,
		step{"not discovered", "GET", beta, "", "", 404, ""},
		step{"off", "POST", alpha + "/selfsubjectreviews", "", own("v1alpha1"), 404, ""}))
	if got := h.get(group); strings.Contains(string(got.body), "v1beta1") || strings.Contains(string(got.body), "v1alpha1") {
		t.Errorf("%s", got.body)
	}
	on := startServer(t, func(c *server.Config) {
		c.RuntimeConfig = []string{"authentication.k8s.io/v1beta1=true", "authentication.k8s.io/v1alpha1=true"}
	})
	on.run(t, append(reviewed,
		step{"discovered", "GET", beta, "", "", 200, `"name":"tokenreviews"`},
		step{"alpha", "POST", alpha + "/selfsubjectreviews", "", own("v1alpha1"), 201, isAdmin("v1alpha1")},
		step{"in the group", "GET", group, "", "", 200, `"versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"},{"groupVersion":"authentication.k8s.io/v1beta1","version":"v1beta1"},{"groupVersion":"authentication.k8s.io/v1alpha1","version":"v1alpha1"}]`}))
	off := startServer(t, func(c *server.Config) { c.RuntimeConfig = []string{"authentication.k8s.io/v1beta1=false"} })
	off.run(t, []step{{"turned off", "POST", beta + "/tokenreviews", "", review, 404, ""}})
}

func TestAccessReview(t *testing.T) {
	h := startServer(t, nil)
	const pods, version = `"resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}`, `"nonResourceAttributes":{"path":"/version","verb":"get"}`
	ask := func(spec string) string { return `{"spec":{` + spec + `}}` }
	const any, local = accessGroup + "subjectaccessreviews", accessGroup + "namespaces/default/localsubjectaccessreviews"
	const yes, no = `"status":{"allowed":true}}`, `"status":{"allowed":false}}`
	h.run(t, []step{
		{"self", "POST", selfReviews, "", ask(pods), 201, yes},
		{"self, everything", "POST", selfReviews, "", ask(`"resourceAttributes":{"namespace":"default","verb":"*","group":"*","resource":"*"}`), 201, yes},
		{"what a client claims", "POST", any, "", `{"spec":{` + pods + `,"user":"bob"},"status":{"allowed":true,"reason":"because"}}`, 201, no},
		{"self, both", "POST", selfReviews, "", ask(pods + "," + version), 422, `"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: cannot be specified in combination with resourceAttributes","field":"spec.nonResourceAttributes"}]`},
		{"self, neither", "POST", selfReviews, "", `{}`, 422, `"field":"spec.resourceAttributes"`},
		{"self, with what the server says", "POST", selfReviews, "", `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z","uid":"u","deletionTimestamp":"2020-01-01T00:00:00Z"},"spec":{` + pods + `}}`, 201, `"metadata":{"creationTimestamp":null,`},
		{"self, with a name", "POST", selfReviews, "", `{"metadata":{"name":"x"},"spec":{` + pods + `}}`, 422, `"field":"metadata"`},
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
		{"local without namespace", "POST", accessGroup + "localsubjectaccessreviews", "", ask(pods + `,"user":"bob"`), 404, ""},
		{"read", "GET", selfReviews, "", "", 405, ""},
	})
	as := func(token, path, body string) reply {
		return h.send("POST", path, "application/json", []byte(body), "Authorization", token)
	}
	for _, c := range []struct {
		name, token, path, spec string
		code                    int
		want                    string
	}{
		{"bob himself", "Bearer bob-token", selfReviews, pods, 201, no},
		{"bob and versions", "Bearer bob-token", selfReviews, version, 201, `"status":{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding`},
		{"bob about others", "Bearer bob-token", any, pods + `,"user":"bob"`, 403, ""},
		{"nobody", "", selfReviews, pods, 403, ""},
	} {
		if got := as(c.token, c.path, ask(c.spec)); got.code != c.code || !strings.Contains(string(got.body), c.want) {
			t.Errorf("%s: %d %s", c.name, got.code, got.body)
		}
	}
}

func TestRulesReview(t *testing.T) {
	h := startServer(t, nil)
	const path, body = accessGroup + "selfsubjectrulesreviews", `{"metadata":{"name":"x"},"spec":{"namespace":"default"}}`
	h.run(t, []step{
		{"admin", "POST", path, "", body, 201, `"spec":{},"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},`},
		{"no namespace", "POST", path, "", `{"spec":{}}`, 400, "no namespace"},
	})
	got := h.send("POST", path, "application/json", []byte(body), "Authorization", "Bearer bob-token")
	for _, want := range []string{`"metadata":{"creationTimestamp":null},"spec":{},"status":{"resourceRules":[{"verbs":["create"],"apiGroups":["authorization.k8s.io"],` +
		`"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":[`,
		`{"verbs":["get"],"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/healthz","/livez","/openapi","/openapi/*","/readyz","/version","/version/"]}`,
		`{"verbs":["get"],"nonResourceURLs":["/healthz","/livez","/readyz","/version","/version/"]}`, `],"incomplete":false}}`} {
		if got.code != 201 || !strings.Contains(string(got.body), want) {
			t.Errorf("bob: %d %s\nwant %s", got.code, got.body, want)
		}
	}
}
