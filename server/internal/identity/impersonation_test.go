package identity_test

import (
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestImpersonation: who may act as whom, on every path and over every protocol.
func TestImpersonation(t *testing.T) {
	h := harness.Start(t, nil)
	const author = `{"verbs":["impersonate"],"apiGroups":[""],"resources":["users"],"resourceNames":["carol"]},` +
		`{"verbs":["impersonate"],"apiGroups":[""],"resources":["groups"],"resourceNames":["dev"]},` +
		`{"verbs":["impersonate"],"apiGroups":[""],"resources":["serviceaccounts"]},` +
		`{"verbs":["impersonate"],"apiGroups":["authentication.k8s.io"],"resources":["userextras/scopes","uids"]}`
	h.Each([]harness.RoleRequest{
		{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("actor", author), 201, ""},
		{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("actor", "ClusterRole", "actor", harness.ToBob), 201, ""},
		{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("maps", `{"verbs":["list","watch"],"apiGroups":[""],"resources":["configmaps"]}`), 201, ""},
		{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("maps", "ClusterRole", "maps", `{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"dev"},{"kind":"ServiceAccount","name":"reader","namespace":"default"}`), 201, ""},
	})
	second := *h
	transport := h.HTTP.Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	t.Cleanup(transport.CloseIdleConnections)
	second.HTTP = &http.Client{Transport: transport}

	for protocol, h := range map[string]*harness.Server{"HTTP/1.1": h, "HTTP/2": &second} {
		for _, c := range []struct {
			token  string
			header []string
			code   int
		}{
			{"admin-token", []string{"Impersonate-User", "carol"}, 403},
			{"admin-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "dev"}, 200},
			{"admin-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "system:masters"}, 200},
			{"admin-token", []string{"Impersonate-User", "system:serviceaccount:default:reader"}, 200},
			{"admin-token", []string{"Impersonate-User", "system:serviceaccount:default:other"}, 403},
			{"admin-token", []string{"Impersonate-Group", "dev"}, 400},
			{"admin-token", []string{"Impersonate-User", ""}, 200},
			{"bob-token", []string{"Impersonate-User", "carol"}, 403},
			{"bob-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "dev"}, 200},
			{"bob-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "dev", "Impersonate-Extra-Scopes", "view", "Impersonate-Uid", "7"}, 200},
			{"bob-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "dev", "Impersonate-Extra-Other", "view"}, 403},
			{"bob-token", []string{"Impersonate-User", "admin", "Impersonate-Group", "dev"}, 403},
			{"bob-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "system:masters"}, 403},
			{"bob-token", []string{"Impersonate-User", "system:serviceaccount:default:reader"}, 200},
			{"carol-token", []string{"Impersonate-User", "carol", "Impersonate-Group", "dev"}, 403},
			{"carol-token", []string{"Impersonate-Extra-Scopes", "x"}, 400},
			{"wrong", []string{"Impersonate-User", "carol", "Impersonate-Group", "dev"}, 401},
		} {
			got := h.Send("GET", harness.ConfigMaps, "", nil, append([]string{"Authorization", "Bearer " + c.token}, c.header...)...)
			if got.Code != c.code {
				t.Errorf("%s: %s as %q: %d %s, want %d", protocol, c.token, c.header, got.Code, got.Body, c.code)
			}
		}
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/nowhere", "/api/v1/nodes/a/status"} {
			got := h.Send("GET", path, "", nil, "Impersonate-User", "carol")
			if got.Code != 403 {
				t.Errorf("%s: carol may GET %s: %d", protocol, path, got.Code)
			}
		}
	}
	for _, c := range []struct {
		headers []string
		message string
	}{
		{[]string{"Impersonate-User", "admin"}, `users "admin" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope`},
		{[]string{"Impersonate-User", "carol", "Impersonate-Extra-Other", "x"}, `userextras.authentication.k8s.io "x" is forbidden: User "bob" cannot impersonate resource "userextras/other" in API group "authentication.k8s.io" at the cluster scope`},
	} {
		got := h.Send("GET", harness.ConfigMaps, "", nil, append([]string{"Authorization", "Bearer bob-token"}, c.headers...)...)
		if got.Field(t, "message") != c.message {
			t.Errorf("%q: %s, want %s", c.headers, got.Body, c.message)
		}
	}
	if s, err := h.Open(harness.ConfigMaps+"?watch=1", nil, "Authorization", "Bearer "+harness.AdminToken, "Impersonate-User", "carol"); err == nil || s.Resp.StatusCode != 403 {
		t.Errorf("a WebSocket was opened: %v", err)
	}
}
