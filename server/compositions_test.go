package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// ownAPI is an API of another module: roles and things that have nothing to do with those of
// the server, and with signs requests for certificates.
func ownAPI(signs bool) *api.API {
	return &api.API{Groups: func() []*api.GroupVersion {
		own := &api.GroupVersion{Group: "tools.example.com", Version: "v1", GroupPriority: 1, VersionPriority: 1, Preferred: true}
		requests := &api.GroupVersion{Group: "certs.example.com", Version: "v1", GroupPriority: 1, VersionPriority: 1, Preferred: true}
		add := func(to, of *api.GroupVersion, plural string, subresources ...api.Subresource) *api.Resource {
			from := &of.Resources[slices.IndexFunc(of.Resources, func(r api.Resource) bool { return r.Plural == plural })]
			to.Table, to.Defaults = of.Table, of.Defaults
			for i := range subresources {
				subresources[i].Group, subresources[i].Version, subresources[i].Kind, subresources[i].Table, subresources[i].Type = to.Group, to.Version, from.Kind, of.Table, from.Type
			}
			to.Resources = append(to.Resources, api.Resource{GV: to, Plural: plural, Kind: from.Kind, ListKind: from.ListKind, Type: from.Type, Namespaced: from.Namespaced,
				Stored: true, Verbs: from.Verbs, StorageVersion: "v1", Form: from.Form, Checking: api.Checking{NameFormat: from.NameFormat}, Subresources: subresources})
			return &to.Resources[len(to.Resources)-1]
		}
		for _, gv := range generated.New(policy.Policy{}, conversion.Hooks{}) {
			switch gv.APIVersion() {
			case "rbac.authorization.k8s.io/v1":
				add(own, gv, "clusterroles")
			case "certificates.k8s.io/v1":
				row := add(requests, gv, "certificatesigningrequests", api.Subresource{Name: "status", Endpoint: api.EndpointStatus, Verbs: api.VerbGet | api.VerbUpdate | api.VerbPatch})
				row.Role, row.HasStatus = api.RoleSigningRequests, true
			}
		}
		if signs {
			return []*api.GroupVersion{own, requests}
		}
		return []*api.GroupVersion{own}
	}}
}

// compositions are the servers that a program can be made of, by their names. Those whose
// name begins with "own" have no built-in groups.
var compositions = map[string]func(*server.Config){
	"built-in":         func(*server.Config) {},
	"built-in and own": func(c *server.Config) { c.API = ownAPI(false) },
	"own":              func(c *server.Config) { c.OwnGroupsOnly, c.API = true, ownAPI(true) },
	"own and some": func(c *server.Config) {
		c.OwnGroupsOnly, c.API, c.RuntimeConfig = true, ownAPI(false), []string{"apps/v1=true", "v1/pods=true", "certificates.k8s.io/v1=true"}
	},
	"own without plug-ins": func(c *server.Config) {
		c.OwnGroupsOnly, c.API, c.AdmissionControl, c.DisableAdmissionPlugins = true, ownAPI(true), []string{"AlwaysAdmit"}, nil
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
	everyRight  = `{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}`
	everyPath   = `{"verbs":["*"],"nonResourceURLs":["*"]}`
	roleWriting = `{"verbs":["create","get","list","update","patch","delete","deletecollection"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"]}`
	ofBob       = rbacGroup + "clusterroles/of-bob"
)

// escalations are ways of somebody who may write roles to get every right, with the answers
// that are right in every server. Nobody else gets as far as that.
var escalations = []struct {
	method, path, contentType, body string
	code                            int
}{
	{"POST", rbacGroup + "clusterroles", "", roleOf("a", everyRight), 403},
	{"POST", rbacGroup + "clusterroles?dryRun=All", "", roleOf("a", everyRight), 403},
	{"POST", rbacGroup + "clusterroles", "", roleOf("a", everyPath), 403},
	{"POST", rbacGroup + "clusterroles", "application/yaml", "metadata: {name: a}\nrules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]", 403},
	{"PUT", rbacGroup + "clusterroles/a", "", roleOf("a", everyRight), 403},
	{"PUT", rbacGroup + "clusterroles/a?dryRun=All", "", roleOf("a", everyRight), 403},
	{"PATCH", rbacGroup + "clusterroles/a?fieldManager=m", applyMedia, applied("ClusterRole", roleOf("a", everyRight)), 403},
	{"PATCH", rbacGroup + "clusterroles/a?fieldManager=m&dryRun=All", applyMedia, applied("ClusterRole", roleOf("a", everyRight)), 403},
	{"POST", rbacGroup + "namespaces/default/roles", "", roleOf("a", everyRight), 403},
	{"PUT", rbacGroup + "namespaces/default/roles/a", "", roleOf("a", everyRight), 403},
	{"PATCH", rbacGroup + "namespaces/default/roles/a?fieldManager=m", applyMedia, applied("Role", roleOf("a", everyRight)), 403},
	{"POST", rbacGroup + "clusterroles", "", `{"metadata":{"name":"a"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}}`, 403},
	{"PUT", rbacGroup + "clusterroles/a", "", `{"metadata":{"name":"a"},"aggregationRule":{"clusterRoleSelectors":[{}]}}`, 403},

	{"POST", rbacGroup + "clusterroles", "", roleOf("of-bob", roleWriting), 201},
	{"PATCH", ofBob, "application/merge-patch+json", `{"metadata":{"labels":{"x":"y"}}}`, 200},
	{"PUT", ofBob, "", roleOf("of-bob", everyRight), 403},
	{"PUT", ofBob + "/status", "", roleOf("of-bob", everyRight), 404},
	{"PATCH", ofBob, "application/merge-patch+json", `{"rules":[` + everyRight + `]}`, 403},
	{"PATCH", ofBob, "application/merge-patch+json", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}}`, 403},
	{"PATCH", ofBob, "application/strategic-merge-patch+json", `{"rules":[` + everyRight + `]}`, 403},
	{"PATCH", ofBob, "application/json-patch+json", `[{"op":"add","path":"/rules/0","value":` + everyRight + `}]`, 403},
	{"PATCH", ofBob, "application/json-patch+json", `[{"op":"replace","path":"/rules/0/apiGroups/0","value":"*"}]`, 403},
	{"PATCH", ofBob + "?fieldManager=m&force=true", applyMedia, applied("ClusterRole", roleOf("of-bob", everyRight)), 403},
	{"PATCH", ofBob + "?fieldManager=m&force=true&dryRun=All", applyMedia, applied("ClusterRole", roleOf("of-bob", everyRight)), 403},
	{"DELETE", ofBob, "", "", 200},
	{"POST", rbacGroup + "clusterroles", "", roleOf("of-bob", everyRight), 403},
	{"PATCH", rbacGroup + "clusterroles/powerful", "application/merge-patch+json", `{"metadata":{"labels":{"x":"y"}}}`, 403},

	{"POST", rbacGroup + "clusterrolebindings", "", bindingOf("a", "ClusterRole", "cluster-admin", toBob), 403},
	{"POST", rbacGroup + "clusterrolebindings?dryRun=All", "", bindingOf("a", "ClusterRole", "cluster-admin", toBob), 403},
	{"PUT", rbacGroup + "clusterrolebindings/a", "", bindingOf("a", "ClusterRole", "cluster-admin", toBob), 403},
	{"PATCH", rbacGroup + "clusterrolebindings/a?fieldManager=m", applyMedia, applied("ClusterRoleBinding", bindingOf("a", "ClusterRole", "cluster-admin", toBob)), 403},
	{"POST", rbacGroup + "clusterrolebindings", "", bindingOf("a", "ClusterRole", "absent", toBob), 404},
	{"POST", rbacGroup + "namespaces/default/rolebindings", "", bindingOf("a", "ClusterRole", "cluster-admin", toBob), 403},
	{"PUT", rbacGroup + "namespaces/default/rolebindings/a", "", bindingOf("a", "ClusterRole", "powerful", toBob), 403},
	{"PATCH", rbacGroup + "clusterrolebindings/powerful", "application/merge-patch+json", `{"subjects":[` + toBob + `]}`, 403},
	{"PATCH", rbacGroup + "clusterrolebindings/powerful", "application/json-patch+json", `[{"op":"add","path":"/subjects/-","value":` + toBob + `}]`, 403},
	{"PATCH", rbacGroup + "clusterrolebindings/powerful?fieldManager=m&force=true", applyMedia, applied("ClusterRoleBinding", bindingOf("powerful", "ClusterRole", "powerful", toBob)), 403},
	{"PUT", rbacGroup + "clusterrolebindings/powerful", "", bindingOf("powerful", "ClusterRole", "powerful", toBob), 403},
	{"DELETE", rbacGroup + "clusterrolebindings/powerful", "", "", 200},
	{"POST", rbacGroup + "clusterrolebindings", "", bindingOf("powerful", "ClusterRole", "powerful", toBob), 403},

	{"POST", accessGroup + "subjectaccessreviews", "", `{"spec":{"user":"x","nonResourceAttributes":{"path":"/","verb":"get"}}}`, 403},
	{"POST", accessGroup + "namespaces/default/localsubjectaccessreviews", "", `{"spec":{"user":"x","resourceAttributes":{"namespace":"default","verb":"get"}}}`, 403},
	{"POST", "/apis/authentication.k8s.io/v1/tokenreviews", "", `{"spec":{"token":"` + adminToken + `"}}`, 403},
	{"POST", "/api/v1/namespaces/default/serviceaccounts/default/token", "", `{"spec":{}}`, 403},
	{"POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", "", `{}`, 403},
	{"PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval", "", `{}`, 403},
}

// applied is a role or a binding as it is applied.
func applied(kind, object string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"` + kind + `",` + object[1:]
}

func (h *harness) sendMedia(token, method, path, contentType, body string, header ...string) reply {
	h.t.Helper()
	if contentType == "" {
		contentType = "application/json"
	}
	if token != "" {
		token = "Bearer " + token
	}
	return h.send(method, path, contentType, []byte(body), append(header, "Authorization", token)...)
}

// prepare gives bob the right to write roles, and somebody else every right.
func (h *harness) prepare() {
	h.t.Helper()
	h.each([]roleRequest{
		{adminToken, "POST", rbacGroup + "clusterroles", roleOf("writing", roleWriting), 201, ""},
		{adminToken, "POST", rbacGroup + "clusterrolebindings", bindingOf("writing", "ClusterRole", "writing", toBob), 201, ""},
		{adminToken, "POST", rbacGroup + "clusterroles", roleOf("powerful", everyRight), 201, ""},
		{adminToken, "POST", rbacGroup + "clusterrolebindings", bindingOf("powerful", "ClusterRole", "powerful", `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"olga"}`), 201, ""},
	})
}

// TestNobodyEscalatesInAnyServer walks every composition of a server: nobody, somebody
// without rights, and somebody who may write roles do not become administrators.
func TestNobodyEscalatesInAnyServer(t *testing.T) {
	for name, change := range compositions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startServer(t, change)
			h.prepare()
			for _, user := range []string{"", "carol-token", "bob-token"} {
				for _, e := range escalations {
					code := e.code
					if user != "bob-token" {
						code = 403
					}
					if got := h.sendMedia(user, e.method, e.path, e.contentType, e.body); got.code != code {
						t.Errorf("%q: %s %s %s: %d %s, want %d", user, e.method, e.path, e.body, got.code, got.body, code)
					}
				}
				for _, as := range [][]string{{"Impersonate-User", "admin"}, {"Impersonate-User", "bob", "Impersonate-Group", "system:masters"}} {
					if got := h.sendMedia(user, "GET", "/version", "", "", as...); got.code != 403 {
						t.Errorf("%q as %v: %d %s", user, as, got.code, got.body)
					}
				}
				if got := h.sendMedia(user, "GET", "/metrics", "", ""); got.code != 403 {
					t.Errorf("%q is let in: %d", user, got.code)
				}
				want := 201
				if user == "" {
					want = 403
				}
				if got := h.sendMedia(user, "POST", accessGroup+"selfsubjectaccessreviews", "", `{"spec":{"resourceAttributes":{"verb":"*","group":"*","resource":"*"}}}`); got.code != want || want == 201 && got.field(t, "status.allowed") != false {
					t.Errorf("%q asks about its own rights: %d %s", user, got.code, got.body)
				}
			}
			h.trusted()
		})
	}
}

// trusted checks that the verbs escalate and bind count, and only for what they name.
func (h *harness) trusted() {
	h.t.Helper()
	const trust = `{"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]},{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["powerful"]}`
	h.each([]roleRequest{
		{adminToken, "PUT", rbacGroup + "clusterroles/writing", roleOf("writing", roleWriting+","+trust), 200, ""},
		{"bob-token", "POST", rbacGroup + "clusterroles", roleOf("all", everyRight), 201, ""},
		{"bob-token", "POST", rbacGroup + "namespaces/default/roles", roleOf("all", everyRight), 403, "is attempting to grant"},
		{"bob-token", "POST", rbacGroup + "clusterrolebindings", bindingOf("b", "ClusterRole", "all", toBob), 403, "is attempting to grant"},
		{"bob-token", "POST", rbacGroup + "clusterrolebindings", bindingOf("b", "ClusterRole", "powerful", toCarol), 201, ""},
		{"carol-token", "GET", "/api/v1/namespaces", "", 200, ""},
		{adminToken, "PUT", rbacGroup + "clusterroles/writing", roleOf("writing", roleWriting), 200, ""},
	})
}

// TestNobodyEscalatesByOtherModes is the same where others decide about rights: by a webhook that
// lets bob write roles, by a file, which cannot tell writing from escalating, and by none.
func TestNobodyEscalatesByOtherModes(t *testing.T) {
	hook := newLoginWebhook(t)
	hook.answer(func(w http.ResponseWriter, r *http.Request) {
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
	policies := file(t, []byte(line+`{"user":"bob","apiGroup":"rbac.authorization.k8s.io","resource":"*","namespace":"*"}}`+"\n"+
		line+`{"user":"*","readonly":true,"apiGroup":"*","resource":"namespaces","namespace":"*","nonResourcePath":"/version"}}`+"\n"+`{"user":"*","readonly":true,"resource":"clusterroles"}`))
	for name, change := range compositions {
		if !strings.HasPrefix(name, "own") && name != "built-in" {
			continue
		}
		t.Run(name+", Webhook", func(t *testing.T) {
			h := startServer(t, func(c *server.Config) {
				change(c)
				c.AuthorizationModes, c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = []string{"Webhook"}, hook.config, "v1"
			})
			h.prepare()
			for _, e := range escalations {
				if e.code != 403 || !strings.HasPrefix(e.path, rbacGroup+"cluster") {
					continue
				}
				for _, user := range []string{"", "carol-token", "bob-token"} {
					if got := h.sendMedia(user, e.method, e.path, e.contentType, e.body); got.code == 200 || got.code == 201 {
						t.Errorf("%q: %s %s %s: %d %s", user, e.method, e.path, e.body, got.code, got.body)
					}
				}
			}
		})
		t.Run(name+", ABAC", func(t *testing.T) {
			h := startServer(t, func(c *server.Config) {
				change(c)
				c.AuthorizationModes, c.AuthorizationPolicyFile = []string{"ABAC"}, policies
			})
			all := roleOf("all", everyRight)
			h.each([]roleRequest{
				{"", "GET", "/api/v1/namespaces", "", 403, "system:anonymous"},
				{"", "GET", "/version", "", 403, ""},
				{"", "GET", rbacGroup + "clusterroles", "", 403, ""},
				{"", "POST", rbacGroup + "clusterroles", all, 403, ""},
				{"carol-token", "GET", "/api/v1/namespaces", "", 200, ""},
				{"carol-token", "GET", "/version", "", 200, ""},
				{"carol-token", "GET", rbacGroup + "clusterroles", "", 200, ""},
				{"carol-token", "POST", rbacGroup + "clusterroles", all, 403, ""},
				{"bob-token", "POST", rbacGroup + "clusterroles", all, 201, ""}, // the line gives escalate and bind too
				{"bob-token", "POST", rbacGroup + "clusterrolebindings", bindingOf("b", "ClusterRole", "all", toBob), 201, ""},
				{"bob-token", "GET", "/metrics", "", 403, ""}, // roles do not decide here
			})
		})
		t.Run(name+", AlwaysAllow", func(t *testing.T) {
			h := startServer(t, func(c *server.Config) {
				change(c)
				c.AuthorizationModes = []string{"AlwaysAllow"}
			})
			h.each([]roleRequest{
				{"", "GET", "/version", "", 401, ""},
				{"carol-token", "POST", rbacGroup + "clusterroles", roleOf("all", everyRight), 201, ""},
			})
		})
	}
}

// TestSigningInAnyServer: who may change the status of requests for certificates does not
// sign them, and nobody asks for a certificate of those who may do everything.
func TestSigningInAnyServer(t *testing.T) {
	for name, group := range map[string]string{"built-in": "certificates.k8s.io", "own": "certs.example.com"} {
		t.Run(name, func(t *testing.T) {
			h := startServer(t, compositions[name])
			all := "/apis/" + group + "/v1/certificatesigningrequests"
			write := `{"verbs":["*"],"apiGroups":["` + group + `"],"resources":["certificatesigningrequests","certificatesigningrequests/status","certificatesigningrequests/approval"]}`
			sign := `{"verbs":["sign"],"apiGroups":["` + group + `"],"resources":["signers"],"resourceNames":["example.com/x"]}`
			forged := func(name string) string { // with somebody else's name, and the decision
				body := strings.Replace(signing(t, name, "example.com/x", "dev"), `"spec":{`, `"spec":{"username":"admin","uid":"1","groups":["system:masters"],"extra":{"a":["b"]},`, 1)
				return `{"apiVersion":"` + group + `/v1","kind":"CertificateSigningRequest","status":{"certificate":"eA==","conditions":[{"type":"Approved","status":"True","reason":"x"}]},` + body[1:]
			}
			const failed = `{"status":{"conditions":[{"type":"Failed","status":"True","reason":"x"}]}}`
			h.each([]roleRequest{
				{adminToken, "POST", rbacGroup + "clusterroles", roleOf("clerk", write), 201, ""},
				{adminToken, "POST", rbacGroup + "clusterrolebindings", bindingOf("clerk", "ClusterRole", "clerk", toBob), 201, ""},
				{"", "POST", all, signing(t, "a", "example.com/x", "dev"), 403, ""},
				{"bob-token", "POST", all, signing(t, "a", "example.com/x", "dev"), 201, `"username":"bob"`},
				{"bob-token", "POST", all, signing(t, "b", "kubernetes.io/kube-apiserver-client", "system:masters"), 403, "system:masters"},
				{adminToken, "POST", all, signing(t, "b", "kubernetes.io/kube-apiserver-client", "system:masters"), 403, "system:masters"},
				{"bob-token", "PUT", all + "/b", signing(t, "b", "kubernetes.io/kube-apiserver-client", "system:masters"), 403, "system:masters"},
				{"bob-token", "POST", all, forged("posted"), 201, ""},
				{"bob-token", "PUT", all + "/put", forged("put"), 201, ""},
				{"bob-token", "PATCH", all + "/a/status", failed, 403, `user not permitted to sign requests with signerName \"example.com/x\"`},
				{"bob-token", "PATCH", all + "/a/status?dryRun=All", failed, 403, ""},
			})
			h.sendMedia("bob-token", "PATCH", all+"/applied?fieldManager=m", applyMedia, forged("applied")).expect(t, 201, "")
			for _, made := range []string{"posted", "put", "applied"} {
				got := h.get(all + "/" + made)
				if got.field(t, "spec.username") != "bob" || strings.Contains(string(got.body), `"system:masters"`) || got.field(t, "status.conditions") != nil || got.field(t, "status.certificate") != nil || got.field(t, "spec.extra") != nil {
					t.Errorf("%s: %s", made, got.body)
				}
			}
			if name == "built-in" {
				const approved = `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"x"}]}}`
				h.each([]roleRequest{
					{"bob-token", "PATCH", all + "/a/approval", approved, 403, "user not permitted to approve"},
					{"bob-token", "PATCH", all + "/a/approval?dryRun=All", approved, 403, ""},
				})
			}
			h.each([]roleRequest{
				{adminToken, "PUT", rbacGroup + "clusterroles/clerk", roleOf("clerk", write+","+sign), 200, ""},
				{"bob-token", "PATCH", all + "/a/status", failed, 200, `"Failed"`},
			})
		})
	}
}
