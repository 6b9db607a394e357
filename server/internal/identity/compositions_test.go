package identity_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// compositions are the servers that a program can be made of, by their names. Those whose
// name begins with "own" have no built-in groups.
var compositions = map[string]func(*server.Config){
	"built-in":         func(*server.Config) {},
	"built-in and own": func(c *server.Config) { c.API = harness.OwnAPI(false) },
	"own":              func(c *server.Config) { c.OwnGroupsOnly, c.API = true, harness.OwnAPI(true) },
	"own and some": func(c *server.Config) {
		c.OwnGroupsOnly, c.API, c.RuntimeConfig = true, harness.OwnAPI(false), []string{"apps/v1=true", "v1/pods=true", "certificates.k8s.io/v1=true"}
	},
	"own without plug-ins": func(c *server.Config) {
		c.OwnGroupsOnly, c.API, c.AdmissionControl, c.DisableAdmissionPlugins = true, harness.OwnAPI(true), []string{"AlwaysAdmit"}, nil
	},
	"without groups": func(c *server.Config) {
		c.RuntimeConfig = []string{"apps/v1=false", "certificates.k8s.io/v1=false", "admissionregistration.k8s.io/v1=false", "api/beta=false"}
	},
	"with everything": func(c *server.Config) { c.RuntimeConfig = []string{"api/all=true"} },
	"without plug-ins": func(c *server.Config) {
		c.DisableAdmissionPlugins = slices.Concat(admission.Names(false), admission.Names(true))
	},
	"plug-ins named one by one": func(c *server.Config) {
		c.AdmissionControl, c.DisableAdmissionPlugins = []string{"NamespaceLifecycle"}, nil
	},
	"nodes":  func(c *server.Config) { c.AuthorizationModes = []string{"Node", "RBAC"} },
	"denied": func(c *server.Config) { c.AuthorizationModes = []string{"AlwaysDeny", "RBAC"} },
}

const (
	everyPath   = `{"verbs":["*"],"nonResourceURLs":["*"]}`
	roleWriting = `{"verbs":["create","get","list","update","patch","delete","deletecollection"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"]}`
	ofBob       = harness.RBACGroup + "clusterroles/of-bob"
)

// escalations are ways of somebody who may write roles to get every right, with the answers
// that are right in every server. Nobody else gets as far as that.
var escalations = []struct {
	method, path, contentType, body string
	code                            int
}{
	{"POST", harness.RBACGroup + "clusterroles", "", harness.RoleOf("a", harness.EveryRight), 403},
	{"POST", harness.RBACGroup + "clusterroles?dryRun=All", "", harness.RoleOf("a", harness.EveryRight), 403},
	{"POST", harness.RBACGroup + "clusterroles", "", harness.RoleOf("a", everyPath), 403},
	{"POST", harness.RBACGroup + "clusterroles", "application/yaml", "metadata: {name: a}\nrules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]", 403},
	{"PUT", harness.RBACGroup + "clusterroles/a", "", harness.RoleOf("a", harness.EveryRight), 403},
	{"PUT", harness.RBACGroup + "clusterroles/a?dryRun=All", "", harness.RoleOf("a", harness.EveryRight), 403},
	{"PATCH", harness.RBACGroup + "clusterroles/a?fieldManager=m", harness.ApplyMedia, applied("ClusterRole", harness.RoleOf("a", harness.EveryRight)), 403},
	{"PATCH", harness.RBACGroup + "clusterroles/a?fieldManager=m&dryRun=All", harness.ApplyMedia, applied("ClusterRole", harness.RoleOf("a", harness.EveryRight)), 403},
	{"POST", harness.RBACGroup + "namespaces/default/roles", "", harness.RoleOf("a", harness.EveryRight), 403},
	{"PUT", harness.RBACGroup + "namespaces/default/roles/a", "", harness.RoleOf("a", harness.EveryRight), 403},
	{"PATCH", harness.RBACGroup + "namespaces/default/roles/a?fieldManager=m", harness.ApplyMedia, applied("Role", harness.RoleOf("a", harness.EveryRight)), 403},
	{"POST", harness.RBACGroup + "clusterroles", "", `{"metadata":{"name":"a"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}}`, 403},
	{"PUT", harness.RBACGroup + "clusterroles/a", "", `{"metadata":{"name":"a"},"aggregationRule":{"clusterRoleSelectors":[{}]}}`, 403},

	{"POST", harness.RBACGroup + "clusterroles", "", harness.RoleOf("of-bob", roleWriting), 201},
	{"PATCH", ofBob, "application/merge-patch+json", `{"metadata":{"labels":{"x":"y"}}}`, 200},
	{"PUT", ofBob, "", harness.RoleOf("of-bob", harness.EveryRight), 403},
	{"PUT", ofBob + "/status", "", harness.RoleOf("of-bob", harness.EveryRight), 404},
	{"PATCH", ofBob, "application/merge-patch+json", `{"rules":[` + harness.EveryRight + `]}`, 403},
	{"PATCH", ofBob, "application/merge-patch+json", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}}`, 403},
	{"PATCH", ofBob, "application/strategic-merge-patch+json", `{"rules":[` + harness.EveryRight + `]}`, 403},
	{"PATCH", ofBob, "application/json-patch+json", `[{"op":"add","path":"/rules/0","value":` + harness.EveryRight + `}]`, 403},
	{"PATCH", ofBob, "application/json-patch+json", `[{"op":"replace","path":"/rules/0/apiGroups/0","value":"*"}]`, 403},
	{"PATCH", ofBob + "?fieldManager=m&force=true", harness.ApplyMedia, applied("ClusterRole", harness.RoleOf("of-bob", harness.EveryRight)), 403},
	{"PATCH", ofBob + "?fieldManager=m&force=true&dryRun=All", harness.ApplyMedia, applied("ClusterRole", harness.RoleOf("of-bob", harness.EveryRight)), 403},
	{"DELETE", ofBob, "", "", 200},
	{"POST", harness.RBACGroup + "clusterroles", "", harness.RoleOf("of-bob", harness.EveryRight), 403},
	{"PATCH", harness.RBACGroup + "clusterroles/powerful", "application/merge-patch+json", `{"metadata":{"labels":{"x":"y"}}}`, 403},

	{"POST", harness.RBACGroup + "clusterrolebindings", "", harness.BindingOf("a", "ClusterRole", "cluster-admin", harness.ToBob), 403},
	{"POST", harness.RBACGroup + "clusterrolebindings?dryRun=All", "", harness.BindingOf("a", "ClusterRole", "cluster-admin", harness.ToBob), 403},
	{"PUT", harness.RBACGroup + "clusterrolebindings/a", "", harness.BindingOf("a", "ClusterRole", "cluster-admin", harness.ToBob), 403},
	{"PATCH", harness.RBACGroup + "clusterrolebindings/a?fieldManager=m", harness.ApplyMedia, applied("ClusterRoleBinding", harness.BindingOf("a", "ClusterRole", "cluster-admin", harness.ToBob)), 403},
	{"POST", harness.RBACGroup + "clusterrolebindings", "", harness.BindingOf("a", "ClusterRole", "absent", harness.ToBob), 404},
	{"POST", harness.RBACGroup + "namespaces/default/rolebindings", "", harness.BindingOf("a", "ClusterRole", "cluster-admin", harness.ToBob), 403},
	{"PUT", harness.RBACGroup + "namespaces/default/rolebindings/a", "", harness.BindingOf("a", "ClusterRole", "powerful", harness.ToBob), 403},
	{"PATCH", harness.RBACGroup + "clusterrolebindings/powerful", "application/merge-patch+json", `{"subjects":[` + harness.ToBob + `]}`, 403},
	{"PATCH", harness.RBACGroup + "clusterrolebindings/powerful", "application/json-patch+json", `[{"op":"add","path":"/subjects/-","value":` + harness.ToBob + `}]`, 403},
	{"PATCH", harness.RBACGroup + "clusterrolebindings/powerful?fieldManager=m&force=true", harness.ApplyMedia, applied("ClusterRoleBinding", harness.BindingOf("powerful", "ClusterRole", "powerful", harness.ToBob)), 403},
	{"PUT", harness.RBACGroup + "clusterrolebindings/powerful", "", harness.BindingOf("powerful", "ClusterRole", "powerful", harness.ToBob), 403},
	{"DELETE", harness.RBACGroup + "clusterrolebindings/powerful", "", "", 200},
	{"POST", harness.RBACGroup + "clusterrolebindings", "", harness.BindingOf("powerful", "ClusterRole", "powerful", harness.ToBob), 403},

	{"POST", harness.AccessGroup + "subjectaccessreviews", "", `{"spec":{"user":"x","nonResourceAttributes":{"path":"/","verb":"get"}}}`, 403},
	{"POST", harness.AccessGroup + "namespaces/default/localsubjectaccessreviews", "", `{"spec":{"user":"x","resourceAttributes":{"namespace":"default","verb":"get"}}}`, 403},
	{"POST", "/apis/authentication.k8s.io/v1/tokenreviews", "", `{"spec":{"token":"` + harness.AdminToken + `"}}`, 403},
	{"POST", "/api/v1/namespaces/default/serviceaccounts/default/token", "", `{"spec":{}}`, 403},
	{"POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", "", `{}`, 403},
	{"PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval", "", `{}`, 403},
}

// applied is a role or a binding as it is applied.
func applied(kind, object string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"` + kind + `",` + object[1:]
}

func sendMedia(h *harness.Server, token, method, path, contentType, body string, header ...string) harness.Reply {
	h.T.Helper()
	if contentType == "" {
		contentType = "application/json"
	}
	if token != "" {
		token = "Bearer " + token
	}
	return h.Send(method, path, contentType, []byte(body), append(header, "Authorization", token)...)
}

// prepare gives bob the right to write roles, and somebody else every right.
func prepare(h *harness.Server) {
	h.T.Helper()
	h.Each([]harness.RoleRequest{
		{harness.AdminToken, "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("writing", roleWriting), 201, ""},
		{harness.AdminToken, "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("writing", "ClusterRole", "writing", harness.ToBob), 201, ""},
		{harness.AdminToken, "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("powerful", harness.EveryRight), 201, ""},
		{harness.AdminToken, "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("powerful", "ClusterRole", "powerful", `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"olga"}`), 201, ""},
	})
}

// TestNobodyEscalatesInAnyServer walks every composition of a server: nobody, somebody
// without rights, and somebody who may write roles do not become administrators.
func TestNobodyEscalatesInAnyServer(t *testing.T) {
	for name, change := range compositions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.Start(t, change)
			prepare(h)
			for _, user := range []string{"", "carol-token", "bob-token"} {
				for _, e := range escalations {
					code := e.code
					if user != "bob-token" {
						code = 403
					}
					if got := sendMedia(h, user, e.method, e.path, e.contentType, e.body); got.Code != code {
						t.Errorf("%q: %s %s %s: %d %s, want %d", user, e.method, e.path, e.body, got.Code, got.Body, code)
					}
				}
				for _, as := range [][]string{{"Impersonate-User", "admin"}, {"Impersonate-User", "bob", "Impersonate-Group", "system:masters"}} {
					if got := sendMedia(h, user, "GET", "/version", "", "", as...); got.Code != 403 {
						t.Errorf("%q as %v: %d %s", user, as, got.Code, got.Body)
					}
				}
				if got := sendMedia(h, user, "GET", "/metrics", "", ""); got.Code != 403 {
					t.Errorf("%q is let in: %d", user, got.Code)
				}
				want := 201
				if user == "" {
					want = 403
				}
				if got := sendMedia(h, user, "POST", harness.AccessGroup+"selfsubjectaccessreviews", "", `{"spec":{"resourceAttributes":{"verb":"*","group":"*","resource":"*"}}}`); got.Code != want || want == 201 && got.Field(t, "status.allowed") != false {
					t.Errorf("%q asks about its own rights: %d %s", user, got.Code, got.Body)
				}
			}
			trusted(h)
		})
	}
}

// trusted checks that the verbs escalate and bind count, and only for what they name.
func trusted(h *harness.Server) {
	h.T.Helper()
	const trust = `{"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]},{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["powerful"]}`
	h.Each([]harness.RoleRequest{
		{harness.AdminToken, "PUT", harness.RBACGroup + "clusterroles/writing", harness.RoleOf("writing", roleWriting+","+trust), 200, ""},
		{"bob-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("all", harness.EveryRight), 201, ""},
		{"bob-token", "POST", harness.RBACGroup + "namespaces/default/roles", harness.RoleOf("all", harness.EveryRight), 403, "is attempting to grant"},
		{"bob-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("b", "ClusterRole", "all", harness.ToBob), 403, "is attempting to grant"},
		{"bob-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("b", "ClusterRole", "powerful", harness.ToCarol), 201, ""},
		{"carol-token", "GET", "/api/v1/namespaces", "", 200, ""},
		{harness.AdminToken, "PUT", harness.RBACGroup + "clusterroles/writing", harness.RoleOf("writing", roleWriting), 200, ""},
	})
}

// TestNobodyEscalatesByOtherModes is the same where others decide about rights: by a webhook that
// lets bob write roles, by a file, which cannot tell writing from escalating, and by none.
func TestNobodyEscalatesByOtherModes(t *testing.T) {
	hook := harness.NewLoginWebhook(t)
	hook.Answer(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Spec struct {
				User     string
				Resource struct{ Verb, Group string } `json:"resourceAttributes"`
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&review)
		s := review.Spec
		allowed := s.User == "bob" && s.Resource.Group == "rbac.authorization.k8s.io" && s.Resource.Verb != "escalate" && s.Resource.Verb != "bind"
		answer, _ := json.Marshal(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": map[string]any{"allowed": allowed}})
		_, _ = w.Write(answer)
	})
	const line = `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":`
	policies := harness.File(t, []byte(line+`{"user":"bob","apiGroup":"rbac.authorization.k8s.io","resource":"*","namespace":"*"}}`+"\n"+
		line+`{"user":"*","readonly":true,"apiGroup":"*","resource":"namespaces","namespace":"*","nonResourcePath":"/version"}}`+"\n"+`{"user":"*","readonly":true,"resource":"clusterroles"}`))
	for name, change := range compositions {
		if !strings.HasPrefix(name, "own") && name != "built-in" {
			continue
		}
		t.Run(name+", Webhook", func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) {
				change(c)
				c.AuthorizationModes, c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = []string{"Webhook"}, hook.Config, "v1"
			})
			prepare(h)
			for _, e := range escalations {
				if e.code != 403 || !strings.HasPrefix(e.path, harness.RBACGroup+"cluster") {
					continue
				}
				for _, user := range []string{"", "carol-token", "bob-token"} {
					if got := sendMedia(h, user, e.method, e.path, e.contentType, e.body); got.Code == 200 || got.Code == 201 {
						t.Errorf("%q: %s %s %s: %d %s", user, e.method, e.path, e.body, got.Code, got.Body)
					}
				}
			}
		})
		t.Run(name+", ABAC", func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) {
				change(c)
				c.AuthorizationModes, c.AuthorizationPolicyFile = []string{"ABAC"}, policies
			})
			all := harness.RoleOf("all", harness.EveryRight)
			h.Each([]harness.RoleRequest{
				{"", "GET", "/api/v1/namespaces", "", 403, "system:anonymous"},
				{"", "GET", "/version", "", 403, ""},
				{"", "GET", harness.RBACGroup + "clusterroles", "", 403, ""},
				{"", "POST", harness.RBACGroup + "clusterroles", all, 403, ""},
				{"carol-token", "GET", "/api/v1/namespaces", "", 200, ""},
				{"carol-token", "GET", "/version", "", 200, ""},
				{"carol-token", "GET", harness.RBACGroup + "clusterroles", "", 200, ""},
				{"carol-token", "POST", harness.RBACGroup + "clusterroles", all, 403, ""},
				{"bob-token", "POST", harness.RBACGroup + "clusterroles", all, 201, ""}, // the line gives escalate and bind too
				{"bob-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("b", "ClusterRole", "all", harness.ToBob), 201, ""},
				{"bob-token", "GET", "/metrics", "", 403, ""}, // roles do not decide here
			})
		})
		t.Run(name+", AlwaysAllow", func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) {
				change(c)
				c.AuthorizationModes = []string{"AlwaysAllow"}
			})
			h.Each([]harness.RoleRequest{
				{"", "GET", "/version", "", 401, ""},
				{"carol-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("all", harness.EveryRight), 201, ""},
			})
		})
	}
}

// TestSigningInAnyServer: who may change the status of requests for certificates does not
// sign them, and nobody asks for a certificate of those who may do everything.
func TestSigningInAnyServer(t *testing.T) {
	for name, group := range map[string]string{"built-in": "certificates.k8s.io", "own": "certs.example.com"} {
		t.Run(name, func(t *testing.T) {
			h := harness.Start(t, compositions[name])
			all := "/apis/" + group + "/v1/certificatesigningrequests"
			write := `{"verbs":["*"],"apiGroups":["` + group + `"],"resources":["certificatesigningrequests","certificatesigningrequests/status","certificatesigningrequests/approval"]}`
			sign := `{"verbs":["sign"],"apiGroups":["` + group + `"],"resources":["signers"],"resourceNames":["example.com/x"]}`
			forged := func(name string) string { // with somebody else's name, and the decision
				body := strings.Replace(harness.Signing(t, name, "example.com/x", "dev"), `"spec":{`, `"spec":{"username":"admin","uid":"1","groups":["system:masters"],"extra":{"a":["b"]},`, 1)
				return `{"apiVersion":"` + group + `/v1","kind":"CertificateSigningRequest","status":{"certificate":"eA==","conditions":[{"type":"Approved","status":"True","reason":"x"}]},` + body[1:]
			}
			const failed = `{"status":{"conditions":[{"type":"Failed","status":"True","reason":"x"}]}}`
			h.Each([]harness.RoleRequest{
				{harness.AdminToken, "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("clerk", write), 201, ""},
				{harness.AdminToken, "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("clerk", "ClusterRole", "clerk", harness.ToBob), 201, ""},
				{"", "POST", all, harness.Signing(t, "a", "example.com/x", "dev"), 403, ""},
				{"bob-token", "POST", all, harness.Signing(t, "a", "example.com/x", "dev"), 201, `"username":"bob"`},
				{"bob-token", "POST", all, harness.Signing(t, "b", "kubernetes.io/kube-apiserver-client", "system:masters"), 403, "system:masters"},
				{harness.AdminToken, "POST", all, harness.Signing(t, "b", "kubernetes.io/kube-apiserver-client", "system:masters"), 403, "system:masters"},
				{"bob-token", "PUT", all + "/b", harness.Signing(t, "b", "kubernetes.io/kube-apiserver-client", "system:masters"), 403, "system:masters"},
				{"bob-token", "POST", all, forged("posted"), 201, ""},
				{"bob-token", "PUT", all + "/put", forged("put"), 201, ""},
				{"bob-token", "PATCH", all + "/a/status", failed, 403, `user not permitted to sign requests with signerName \"example.com/x\"`},
				{"bob-token", "PATCH", all + "/a/status?dryRun=All", failed, 403, ""},
			})
			sendMedia(h, "bob-token", "PATCH", all+"/applied?fieldManager=m", harness.ApplyMedia, forged("applied")).Expect(t, 201, "")
			for _, made := range []string{"posted", "put", "applied"} {
				got := h.Get(all + "/" + made)
				if got.Field(t, "spec.username") != "bob" || strings.Contains(string(got.Body), `"system:masters"`) || got.Field(t, "status.conditions") != nil || got.Field(t, "status.certificate") != nil || got.Field(t, "spec.extra") != nil {
					t.Errorf("%s: %s", made, got.Body)
				}
			}
			if name == "built-in" {
				const approved = `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"x"}]}}`
				h.Each([]harness.RoleRequest{
					{"bob-token", "PATCH", all + "/a/approval", approved, 403, "user not permitted to approve"},
					{"bob-token", "PATCH", all + "/a/approval?dryRun=All", approved, 403, ""},
				})
			}
			h.Each([]harness.RoleRequest{
				{harness.AdminToken, "PUT", harness.RBACGroup + "clusterroles/clerk", harness.RoleOf("clerk", write+","+sign), 200, ""},
				{"bob-token", "PATCH", all + "/a/status", failed, 200, `"Failed"`},
			})
		})
	}
}
