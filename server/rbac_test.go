package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

const rbacGroup = "/apis/rbac.authorization.k8s.io/v1/"

// sendAs sends a request of another user.
func (h *harness) sendAs(token, method, path, body string) reply {
	h.t.Helper()
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	return h.send(method, path, contentType, []byte(body), "Authorization", "Bearer "+token)
}

// roleRequest is a request with the answer that it has to get.
type roleRequest struct {
	token, method, path, body string
	code                      int
	want                      string
}

func (h *harness) each(list []roleRequest) {
	h.t.Helper()
	for _, c := range list {
		got := h.sendAs(c.token, c.method, c.path, c.body)
		if got.code != c.code || !strings.Contains(string(got.body), c.want) {
			h.t.Errorf("%s: %s %s %s:\n%d %s\nwant %d %s", c.token, c.method, c.path, c.body, got.code, got.body, c.code, c.want)
		}
	}
}

func roleOf(name, rules string) string {
	return `{"metadata":{"name":"` + name + `"},"rules":[` + rules + `]}`
}

func bindingOf(name, kind, role, subjects string) string {
	return `{"metadata":{"name":"` + name + `"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"` + kind + `","name":"` + role + `"},"subjects":[` + subjects + `]}`
}

const (
	toBob   = `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bob"}`
	toCarol = `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"carol"}`
)

func TestRolesDecide(t *testing.T) {
	h := startServer(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	h.each([]roleRequest{
		{"bob-token", "GET", maps, "", 403, `configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"`},
		{"bob-token", "GET", maps + "?fieldSelector=metadata.name%3Da", "", 403, `configmaps \"a\" is forbidden`},
		{"bob-token", "GET", maps + "?fieldSelector=metadata.name%3Da&timeoutSeconds=x", "", 403, `"configmaps is forbidden`},
		{"bob-token", "GET", maps + "/a/nothing", "", 403, `configmaps \"a\" is forbidden: User \"bob\" cannot get resource \"configmaps/nothing\"`},
		{"bob-token", "DELETE", "/api/v1/namespaces/default/nothings/a", "", 403, `nothings \"a\" is forbidden: User \"bob\" cannot delete resource \"nothings\"`},
		{"bob-token", "GET", "/api/v1/watch/namespaces/default/nothings", "", 403, `nothings is forbidden: User \"bob\" cannot watch resource \"nothings\"`},
		{"admin-token", "POST", rbacGroup + "namespaces/default/rolebindings", bindingOf("b", "Role", "maps", toBob), 201, ""},
		{"bob-token", "GET", maps, "", 403, `in the namespace \"default\": RBAC: role.rbac.authorization.k8s.io \"maps\" not found`},
		{"admin-token", "POST", rbacGroup + "namespaces/default/roles", roleOf("maps", `{"verbs":["list","create"],"apiGroups":[""],"resources":["configmaps"]},{"verbs":["get","watch","delete"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["mine"]}`), 201, ""},
		{"bob-token", "GET", maps, "", 200, `"items":[`},
		{"bob-token", "POST", maps, `{"metadata":{"name":"mine"}}`, 201, ""},
		{"bob-token", "POST", maps, `{"metadata":{"name":"other"}}`, 201, ""},
		{"bob-token", "GET", maps + "/mine", "", 200, ""},
		{"bob-token", "GET", maps + "/other", "", 403, ""},
		{"bob-token", "GET", maps + "/missing", "", 403, ""},
		{"bob-token", "GET", maps + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dmine&resourceVersion=0", "", 200, ""},
		{"bob-token", "GET", maps + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dother&resourceVersion=0", "", 403, ""},
		{"bob-token", "GET", maps + "?watch=1&timeoutSeconds=1&resourceVersion=0", "", 403, ""},
		{"bob-token", "DELETE", maps + "/other", "", 403, ""},
		{"bob-token", "DELETE", maps, "", 403, "cannot deletecollection"},
		{"bob-token", "DELETE", maps + "/mine", "", 200, ""},
		{"bob-token", "PATCH", maps + "/other", "{}", 403, ""},
		{"bob-token", "GET", "/api/v1/configmaps", "", 403, "at the cluster scope"},
		{"bob-token", "GET", "/api/v1/namespaces/kube-system/configmaps", "", 403, ""},
		{"bob-token", "GET", "/metrics", "", 403, ""},
		{"bob-token", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"default"}}`, 201, `{"verbs":["get","watch","delete"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["mine"]}`},
		{"admin-token", "PUT", rbacGroup + "namespaces/default/roles/maps", roleOf("maps", ""), 200, ""},
		{"bob-token", "GET", maps, "", 403, ""},
	})
}

// Nobody gives more rights than they have.
func TestEscalation(t *testing.T) {
	h := startServer(t, nil)
	const roles, clusterRoles = rbacGroup + "namespaces/default/roles", rbacGroup + "clusterroles"
	const bindings, clusterBindings = rbacGroup + "namespaces/default/rolebindings", rbacGroup + "clusterrolebindings"
	const getPods, allPods = `{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}`, `{"verbs":["*"],"apiGroups":[""],"resources":["pods"]}`
	const author = `{"verbs":["create","update","patch","get","delete"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","clusterroles","rolebindings","clusterrolebindings"]}`
	h.each([]roleRequest{
		{"admin-token", "POST", clusterRoles, roleOf("author", author+","+getPods), 201, ""},
		{"admin-token", "POST", clusterBindings, bindingOf("author", "ClusterRole", "author", toBob), 201, ""},
		{"admin-token", "POST", clusterRoles, roleOf("pods", allPods), 201, ""},
		{"admin-token", "POST", clusterRoles, roleOf("pods-get", getPods), 201, ""},

		{"bob-token", "POST", roles, roleOf("a", getPods), 201, ""},
		{"bob-token", "POST", roles, roleOf("b", allPods), 403, `roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}`},
		{"bob-token", "POST", roles + "?dryRun=All", roleOf("b", allPods), 403, ""},
		{"bob-token", "PUT", roles + "/c", roleOf("c", allPods), 403, ""},
		{"bob-token", "PUT", roles + "/a", roleOf("a", allPods), 403, ""},
		{"bob-token", "PATCH", roles + "/a", `{"rules":[` + allPods + `]}`, 403, ""},
		{"bob-token", "PATCH", roles + "/a", `{"metadata":{"labels":{"x":"y"}}}`, 200, ""},
		{"bob-token", "PATCH", clusterRoles + "/pods", `{"metadata":{"labels":{"x":"y"}}}`, 403, ""},
		{"bob-token", "PATCH", clusterRoles + "/pods", `{"metadata":{"finalizers":["example.com/x"]}}`, 200, ""},
		{"bob-token", "POST", clusterRoles, `{"metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}}`, 403, "must have cluster-admin privileges to use the aggregationRule"},
		{"bob-token", "POST", bindings, bindingOf("get", "ClusterRole", "pods-get", toCarol), 201, ""},
		{"bob-token", "POST", bindings, bindingOf("all", "ClusterRole", "pods", toCarol), 403, `rolebindings.rbac.authorization.k8s.io \"all\" is forbidden: user`},
		{"bob-token", "POST", bindings, bindingOf("gone", "ClusterRole", "gone", toCarol), 404, `clusterroles.rbac.authorization.k8s.io \"gone\" not found`},
		{"bob-token", "POST", bindings, bindingOf("gone", "Role", "gone", toCarol), 404, `roles.rbac.authorization.k8s.io \"gone\" not found`},
		{"bob-token", "POST", clusterBindings, bindingOf("admin", "ClusterRole", "cluster-admin", toBob), 403, ""},
		{"bob-token", "DELETE", clusterBindings + "/author", "", 200, ""}, // rights may be given away

		{"admin-token", "POST", clusterRoles, roleOf("trusted", author+`,{"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]},{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["pods"]}`), 201, ""},
		{"admin-token", "POST", bindings, bindingOf("trusted", "ClusterRole", "trusted", toBob), 201, ""},
		{"bob-token", "POST", roles, roleOf("b", allPods), 201, ""},
		{"bob-token", "POST", bindings, bindingOf("all", "ClusterRole", "pods", toCarol), 201, ""},
		{"bob-token", "POST", bindings, bindingOf("admin", "ClusterRole", "cluster-admin", toCarol), 403, ""},
		{"carol-token", "GET", "/api/v1/namespaces/default/pods", "", 200, ""},
		{"carol-token", "GET", "/api/v1/pods", "", 403, ""},
	})
}

// A right that is taken away while a watch is open counts for the next request; the watch
// goes on until its time is over, as in 1.25.
func TestRightsGoWhileAWatchIsOpen(t *testing.T) {
	h := startServer(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	h.each([]roleRequest{
		{"admin-token", "POST", rbacGroup + "namespaces/default/roles", roleOf("maps", `{"verbs":["watch"],"apiGroups":[""],"resources":["configmaps"]}`), 201, ""},
		{"admin-token", "POST", rbacGroup + "namespaces/default/rolebindings", bindingOf("b", "Role", "maps", toBob), 201, ""},
	})
	req, err := http.NewRequest(http.MethodGet, h.server.URL()+maps+"?watch=1&timeoutSeconds=30", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer bob-token")
	resp, err := h.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	h.each([]roleRequest{
		{"admin-token", "DELETE", rbacGroup + "namespaces/default/rolebindings/b", "", 200, ""},
		{"bob-token", "GET", maps + "?watch=1&timeoutSeconds=1", "", 403, ""},
		{"admin-token", "POST", maps, `{"metadata":{"name":"late"}}`, 201, ""},
	})
	text := make([]byte, 512)
	for n := 0; !strings.Contains(string(text[:n]), `"late"`); {
		more, err := resp.Body.Read(text[n:])
		if n += more; err != nil {
			t.Fatalf("the open watch ended: %v after %s", err, text[:n])
		}
	}
}

// With AlwaysAllow everybody may grant everything.
func TestGrantsWithoutRBAC(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.AuthorizationModes = []string{"AlwaysAllow"} })
	h.each([]roleRequest{
		{"bob-token", "POST", rbacGroup + "clusterroles", roleOf("all", `{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}`), 201, ""},
		{"bob-token", "POST", rbacGroup + "clusterrolebindings", bindingOf("all", "ClusterRole", "all", toBob), 201, ""},
	})
}

// A PUT or an apply that creates its object needs the verb create too, whatever the user may
// change; the body is valid, so nothing else refuses it.
func TestCreationNeedsCreate(t *testing.T) {
	h := startServer(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	h.post(maps, `{"metadata":{"name":"old"}}`).expect(t, 201, "")
	h.post(rbacGroup+"namespaces/default/roles", roleOf("change", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["update","patch"]}`)).expect(t, 201, "")
	h.post(rbacGroup+"namespaces/default/rolebindings", bindingOf("change", "Role", "change", toBob+","+toCarol)).expect(t, 201, "")
	h.post(rbacGroup+"namespaces/default/roles", roleOf("create", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}`)).expect(t, 201, "")
	h.post(rbacGroup+"namespaces/default/rolebindings", bindingOf("create", "Role", "create", toCarol)).expect(t, 201, "")
	apply := func(token, name, query string) reply {
		t.Helper()
		return h.send("PATCH", maps+"/"+name+"?fieldManager=m"+query, applyMedia, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":{"k":"`+token+`"}}`), "Authorization", "Bearer "+token)
	}
	h.each([]roleRequest{
		{"bob-token", "PUT", maps + "/old", `{"metadata":{"name":"old"},"data":{"k":"v"}}`, 200, ""},
		{"bob-token", "PUT", maps + "/new", `{"metadata":{"name":"new"}}`, 403, `configmaps \"new\" is forbidden: User \"bob\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\"`},
		{"bob-token", "PUT", maps + "/new?dryRun=All", `{"metadata":{"name":"new"}}`, 403, ""},
		{"carol-token", "PUT", maps + "/put", `{"metadata":{"name":"put"}}`, 201, ""},
	})
	apply("bob-token", "old", "&force=true").expect(t, 200, "")
	apply("bob-token", "new", "").expect(t, 403, "Forbidden")
	apply("bob-token", "new", "&dryRun=All").expect(t, 403, "Forbidden")
	apply("carol-token", "applied", "").expect(t, 201, "")
	h.get(maps+"/new").expect(t, 404, "")
}
