package identity_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestConstrainedImpersonation: from 1.36 on a sender may act as another user in requests with single verbs.
func TestConstrainedImpersonation(t *testing.T) {
	for _, release := range []string{"1.34", "1.35", "1.36"} {
		on := release == "1.36"
		h, lines := harness.StartAudited(t, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]", func(c *server.Config) {
			c.EmulatedVersion = []string{release}
		})
		const own = `"apiGroups":["authentication.k8s.io"]`
		h.Each([]harness.RoleRequest{
			{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("actor",
				`{"verbs":["impersonate:user-info"],`+own+`,"resources":["users"],"resourceNames":["carol"]},`+
					`{"verbs":["impersonate:user-info"],`+own+`,"resources":["groups","uids","userextras/example.com/scopes"]},`+
					`{"verbs":["impersonate:serviceaccount"],`+own+`,"resources":["serviceaccounts"]},`+
					`{"verbs":["impersonate:arbitrary-node"],`+own+`,"resources":["nodes"],"resourceNames":["a"]},`+
					`{"verbs":["impersonate-on:user-info:list","impersonate-on:serviceaccount:list","impersonate-on:arbitrary-node:list"],"apiGroups":[""],"resources":["configmaps"]}`), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("actor", "ClusterRole", "actor", harness.ToBob), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("maps", `{"verbs":["list","get"],"apiGroups":[""],"resources":["configmaps"]}`), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("maps", "ClusterRole", "maps",
				`{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"dev"},{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:nodes"},{"kind":"ServiceAccount","name":"reader","namespace":"default"}`), 201, ""},
		})
		const group = "Impersonate-Group"
		for _, c := range []struct {
			path    string
			headers []string
			code    int
			message string // of a refusal
		}{
			{"", []string{"carol", group, "dev"}, 200, ""},
			{"", []string{"carol", group, "dev", "Impersonate-Extra-example.com%2fscopes", "view", "Impersonate-Uid", "7"}, 200, ""},
			{"", []string{"system:serviceaccount:default:reader"}, 200, ""},
			{"", []string{"system:node:a"}, 200, ""},
			{"", []string{"dave", group, "dev"}, 403, `users.authentication.k8s.io "dave" is forbidden: User "bob" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`},
			{"", []string{"system:node:b"}, 403, `nodes.authentication.k8s.io "b" is forbidden: User "bob" cannot impersonate:arbitrary-node resource "nodes" in API group "authentication.k8s.io" at the cluster scope`},
			{"", []string{"carol", group, "system:masters"}, 403, `groups.authentication.k8s.io "system:masters" is forbidden: User "bob" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed`},
			{"", []string{"carol", group, ""}, 403, `groups.authentication.k8s.io is forbidden: User "bob" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the empty string group is not allowed`},
			{"", []string{"carol", "Impersonate-Extra-Scopes", "view"}, 403, `userextras.authentication.k8s.io is forbidden: User "bob" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")`},
			{"", []string{"carol", "Impersonate-Extra-example.com%2fother", "view"}, 403, `userextras.authentication.k8s.io "view" is forbidden: User "bob" cannot impersonate:user-info resource "userextras/example.com/other" in API group "authentication.k8s.io" at the cluster scope`},
			{"/a", []string{"carol", group, "dev"}, 403, `configmaps "a" is forbidden: User "bob" cannot impersonate-on:user-info:get resource "configmaps" in API group "" in the namespace "default"`},
			{"/a", []string{"system:serviceaccount:default:reader"}, 403, `configmaps "a" is forbidden: User "bob" cannot impersonate-on:serviceaccount:get resource "configmaps" in API group "" in the namespace "default"`},
			{"", []string{"system:serviceaccount:default:reader", group, "dev"}, 403, `serviceaccounts "reader" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "default"`},
		} {
			got := h.Send("GET", harness.ConfigMaps+c.path, "", nil, append([]string{"Authorization", "Bearer bob-token", "Impersonate-User"}, c.headers...)...)
			code := c.code
			if !on {
				code = 403
			}
			if got.Code != code || on && code == 403 && got.Field(t, "message") != c.message {
				t.Errorf("%s %s %q: %d %s, want %d %s", release, c.path, c.headers, got.Code, got.Body, code, c.message)
			}
		}
		got := h.Send("GET", harness.ConfigMaps, "", nil, "Authorization", "Bearer "+harness.AdminToken, "Impersonate-User", "carol", group, "system:masters")
		if got.Code != 200 {
			t.Errorf("%s: an administrator as another one: %d %s", release, got.Code, got.Body)
		}
		checkImpersonationFigures(t, h, on)
		checkConstraints(t, release, lines())
	}
}

// checkImpersonationFigures looks for the metrics of the requests of the test, which releases before 1.36 do not have.
func checkImpersonationFigures(t *testing.T, h *harness.Server, there bool) {
	t.Helper()
	got := map[string]string{}
	for line, value := range h.Figures() {
		if name, is := strings.CutPrefix(line, "apiserver_impersonation_"); is && !strings.Contains(name, "_seconds_bucket") && !strings.Contains(name, "_sum") {
			got[name] = value
		}
	}
	want := map[string]string{}
	for labels, n := range map[string]string{`allowed",mode="arbitrary-node`: "1", `allowed",mode="legacy`: "1", `allowed",mode="serviceaccount`: "1",
		`allowed",mode="user-info`: "2", `denied",mode="`: "9"} {
		want[`attempts_total{decision="`+labels+`"`], want[`attempts_duration_seconds_count{decision="`+labels+`"`] = n, n
	}
	for labels, n := range map[string]string{`allowed",mode="user-info`: "19", `denied",mode="user-info`: "3", `allowed",mode="legacy`: "2", `denied",mode="legacy`: "9"} {
		want[`authorization_attempts_total{decision="`+labels+`"`] = n
	}
	if !there {
		want = nil
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is %q, want %q", name, got[name], n)
		}
	}
	if !there && len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// checkConstraints looks for the verbs by which users acted as others in audit events.
func checkConstraints(t *testing.T, release string, lines []string) {
	seen := map[string]string{}
	for _, line := range lines {
		var e struct {
			Stage                  string
			User, ImpersonatedUser struct {
				Username string
				Groups   []string
			}
			AuthenticationMetadata struct{ ImpersonationConstraint string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if as := e.ImpersonatedUser; e.Stage == "ResponseComplete" && as.Username != "" {
			seen[fmt.Sprint(e.User.Username, " as ", as.Username, " ", strings.Join(as.Groups, ","))] = e.AuthenticationMetadata.ImpersonationConstraint
		}
	}
	want := map[string]string{"admin as carol system:masters,system:authenticated": ""}
	if release == "1.36" {
		want["bob as carol dev,system:authenticated"] = "impersonate:user-info"
		want["bob as system:node:a system:nodes,system:authenticated"] = "impersonate:arbitrary-node"
		want["bob as system:serviceaccount:default:reader system:serviceaccounts,system:serviceaccounts:default,system:authenticated"] = "impersonate:serviceaccount"
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("%s: audit events have %v, want %v", release, seen, want)
	}
}
