package identity_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestRolesDecide(t *testing.T) {
	h := harness.Start(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	h.Each([]harness.RoleRequest{
		{"bob-token", "GET", maps, "", 403, `configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"`},
		{"bob-token", "GET", maps + "?fieldSelector=metadata.name%3Da", "", 403, `configmaps \"a\" is forbidden`},
		{"bob-token", "GET", maps + "?fieldSelector=metadata.name%3Da&timeoutSeconds=x", "", 403, `"configmaps is forbidden`},
		{"bob-token", "GET", maps + "/a/nothing", "", 403, `configmaps \"a\" is forbidden: User \"bob\" cannot get resource \"configmaps/nothing\"`},
		{"bob-token", "DELETE", "/api/v1/namespaces/default/nothings/a", "", 403, `nothings \"a\" is forbidden: User \"bob\" cannot delete resource \"nothings\"`},
		{"bob-token", "GET", "/api/v1/watch/namespaces/default/nothings", "", 403, `nothings is forbidden: User \"bob\" cannot watch resource \"nothings\"`},
		{"admin-token", "POST", harness.RBACGroup + "namespaces/default/rolebindings", harness.BindingOf("b", "Role", "maps", harness.ToBob), 201, ""},
		{"bob-token", "GET", maps, "", 403, `in the namespace \"default\": RBAC: role.rbac.authorization.k8s.io \"maps\" not found`},
		{"admin-token", "POST", harness.RBACGroup + "namespaces/default/roles", harness.RoleOf("maps", `{"verbs":["list","create"],"apiGroups":[""],"resources":["configmaps"]},{"verbs":["get","watch","delete"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["mine"]}`), 201, ""},
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
		{"admin-token", "PUT", harness.RBACGroup + "namespaces/default/roles/maps", harness.RoleOf("maps", ""), 200, ""},
		{"bob-token", "GET", maps, "", 403, ""},
	})
}

// Nobody gives more rights than they have.
func TestEscalation(t *testing.T) {
	h := harness.Start(t, nil)
	const roles, clusterRoles = harness.RBACGroup + "namespaces/default/roles", harness.RBACGroup + "clusterroles"
	const bindings, clusterBindings = harness.RBACGroup + "namespaces/default/rolebindings", harness.RBACGroup + "clusterrolebindings"
	const getPods, allPods = `{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}`, `{"verbs":["*"],"apiGroups":[""],"resources":["pods"]}`
	const author = `{"verbs":["create","update","patch","get","delete"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","clusterroles","rolebindings","clusterrolebindings"]}`
	h.Each([]harness.RoleRequest{
		{"admin-token", "POST", clusterRoles, harness.RoleOf("author", author+","+getPods), 201, ""},
		{"admin-token", "POST", clusterBindings, harness.BindingOf("author", "ClusterRole", "author", harness.ToBob), 201, ""},
		{"admin-token", "POST", clusterRoles, harness.RoleOf("pods", allPods), 201, ""},
		{"admin-token", "POST", clusterRoles, harness.RoleOf("pods-get", getPods), 201, ""},

		{"bob-token", "POST", roles, harness.RoleOf("a", getPods), 201, ""},
		{"bob-token", "POST", roles, harness.RoleOf("b", allPods), 403, `roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}`},
		{"bob-token", "POST", roles + "?dryRun=All", harness.RoleOf("b", allPods), 403, ""},
		{"bob-token", "PUT", roles + "/c", harness.RoleOf("c", allPods), 403, ""},
		{"bob-token", "PUT", roles + "/a", harness.RoleOf("a", allPods), 403, ""},
		{"bob-token", "PATCH", roles + "/a", `{"rules":[` + allPods + `]}`, 403, ""},
		{"bob-token", "PATCH", roles + "/a", `{"metadata":{"labels":{"x":"y"}}}`, 200, ""},
		{"bob-token", "PATCH", clusterRoles + "/pods", `{"metadata":{"labels":{"x":"y"}}}`, 403, ""},
		{"bob-token", "PATCH", clusterRoles + "/pods", `{"metadata":{"finalizers":["example.com/x"]}}`, 200, ""},
		{"bob-token", "POST", clusterRoles, `{"metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}}`, 403, "must have cluster-admin privileges to use the aggregationRule"},
		{"bob-token", "POST", bindings, harness.BindingOf("get", "ClusterRole", "pods-get", harness.ToCarol), 201, ""},
		{"bob-token", "POST", bindings, harness.BindingOf("all", "ClusterRole", "pods", harness.ToCarol), 403, `rolebindings.rbac.authorization.k8s.io \"all\" is forbidden: user`},
		{"bob-token", "POST", bindings, harness.BindingOf("gone", "ClusterRole", "gone", harness.ToCarol), 404, `clusterroles.rbac.authorization.k8s.io \"gone\" not found`},
		{"bob-token", "POST", bindings, harness.BindingOf("gone", "Role", "gone", harness.ToCarol), 404, `roles.rbac.authorization.k8s.io \"gone\" not found`},
		{"bob-token", "POST", clusterBindings, harness.BindingOf("admin", "ClusterRole", "cluster-admin", harness.ToBob), 403, ""},
		{"bob-token", "DELETE", clusterBindings + "/author", "", 200, ""}, // rights may be given away

		{"admin-token", "POST", clusterRoles, harness.RoleOf("trusted", author+`,{"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]},{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["pods"]}`), 201, ""},
		{"admin-token", "POST", bindings, harness.BindingOf("trusted", "ClusterRole", "trusted", harness.ToBob), 201, ""},
		{"bob-token", "POST", roles, harness.RoleOf("b", allPods), 201, ""},
		{"bob-token", "POST", bindings, harness.BindingOf("all", "ClusterRole", "pods", harness.ToCarol), 201, ""},
		{"bob-token", "POST", bindings, harness.BindingOf("admin", "ClusterRole", "cluster-admin", harness.ToCarol), 403, ""},
		{"carol-token", "GET", "/api/v1/namespaces/default/pods", "", 200, ""},
		{"carol-token", "GET", "/api/v1/pods", "", 403, ""},
	})
}

// A right that is taken away while a watch is open counts for the next request; the watch
// goes on until its time is over, as in 1.25.
func TestRightsGoWhileAWatchIsOpen(t *testing.T) {
	h := harness.Start(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	h.Each([]harness.RoleRequest{
		{"admin-token", "POST", harness.RBACGroup + "namespaces/default/roles", harness.RoleOf("maps", `{"verbs":["watch"],"apiGroups":[""],"resources":["configmaps"]}`), 201, ""},
		{"admin-token", "POST", harness.RBACGroup + "namespaces/default/rolebindings", harness.BindingOf("b", "Role", "maps", harness.ToBob), 201, ""},
	})
	req, err := http.NewRequest(http.MethodGet, h.Running.URL()+maps+"?watch=1&timeoutSeconds=30", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer bob-token")
	resp, err := h.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	h.Each([]harness.RoleRequest{
		{"admin-token", "DELETE", harness.RBACGroup + "namespaces/default/rolebindings/b", "", 200, ""},
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
	h := harness.Start(t, func(c *server.Config) { c.AuthorizationModes = []string{"AlwaysAllow"} })
	h.Each([]harness.RoleRequest{
		{"bob-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("all", `{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}`), 201, ""},
		{"bob-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("all", "ClusterRole", "all", harness.ToBob), 201, ""},
	})
}

// A PUT or an apply that creates its object needs the verb create too, whatever the user may
// change; the body is valid, so nothing else refuses it.
func TestCreationNeedsCreate(t *testing.T) {
	h := harness.Start(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	h.Post(maps, `{"metadata":{"name":"old"}}`).Expect(t, 201, "")
	h.Post(harness.RBACGroup+"namespaces/default/roles", harness.RoleOf("change", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["update","patch"]}`)).Expect(t, 201, "")
	h.Post(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf("change", "Role", "change", harness.ToBob+","+harness.ToCarol)).Expect(t, 201, "")
	h.Post(harness.RBACGroup+"namespaces/default/roles", harness.RoleOf("create", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}`)).Expect(t, 201, "")
	h.Post(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf("create", "Role", "create", harness.ToCarol)).Expect(t, 201, "")
	apply := func(token, name, query string) harness.Reply {
		t.Helper()
		return h.Send("PATCH", maps+"/"+name+"?fieldManager=m"+query, harness.ApplyMedia, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":{"k":"`+token+`"}}`), "Authorization", "Bearer "+token)
	}
	h.Each([]harness.RoleRequest{
		{"bob-token", "PUT", maps + "/old", `{"metadata":{"name":"old"},"data":{"k":"v"}}`, 200, ""},
		{"bob-token", "PUT", maps + "/new", `{"metadata":{"name":"new"}}`, 403, `configmaps \"new\" is forbidden: User \"bob\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\"`},
		{"bob-token", "PUT", maps + "/new?dryRun=All", `{"metadata":{"name":"new"}}`, 403, ""},
		{"carol-token", "PUT", maps + "/put", `{"metadata":{"name":"put"}}`, 201, ""},
	})
	apply("bob-token", "old", "&force=true").Expect(t, 200, "")
	apply("bob-token", "new", "").Expect(t, 403, "Forbidden")
	apply("bob-token", "new", "&dryRun=All").Expect(t, 403, "Forbidden")
	apply("carol-token", "applied", "").Expect(t, 201, "")
	h.Get(maps+"/new").Expect(t, 404, "")
}
