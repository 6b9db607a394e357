package rbac

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/authztest"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// site is a policy over a store of its own.
type site struct {
	*Policy
	t     testing.TB
	store store.Store
}

func open(t testing.TB) *site {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	site := &site{t: t, store: s}
	site.follow()
	return site
}

// follow opens the policy of the store, anew.
func (s *site) follow() {
	c := catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())
	p, err := Open(context.Background(), Config{Store: s.store, Catalog: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.Close)
	s.Policy = p
}

// put stores a role ("clusterroles/reader", "roles/shop/reader") or binding; "" deletes it.
func (s *site) put(at, members string) {
	s.t.Helper()
	plural, name, _ := strings.Cut(at, "/")
	namespace, short, local := strings.Cut(name, "/")
	if !local {
		namespace, short = "", name
	}
	kind := map[string]string{"roles": "Role", "clusterroles": "ClusterRole", "rolebindings": "RoleBinding", "clusterrolebindings": "ClusterRoleBinding"}[plural]
	body := fmt.Sprintf(`{"kind":%q,"apiVersion":"%s/v1","metadata":{"name":%q,"namespace":%q},%s}`, kind, Group, short, namespace, members)
	_, err := s.store.Update(context.Background(), Group+"/"+at, func(current *store.Entry) (store.Write, error) {
		switch {
		case members == "":
			return store.Write{Op: store.OpDelete}, nil
		case current == nil:
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
		}
		return store.Write{Op: store.OpUpdate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func rules(list string) string { return `"rules":[` + list + `]` }

func binds(kind, role string, subjects ...string) string {
	return fmt.Sprintf(`"roleRef":{"apiGroup":%q,"kind":%q,"name":%q},"subjects":[%s]`, Group, kind, role, strings.Join(subjects, ","))
}

func is(kind, name, namespace string) string {
	return fmt.Sprintf(`{"kind":%q,"name":%q,"namespace":%q}`, kind, name, namespace)
}

func TestAuthorize(t *testing.T) {
	s := open(t)
	s.put("clusterroles/reader", rules(`{"verbs":["get","list"],"apiGroups":[""],"resources":["pods","pods/log","*/scale"]}`))
	s.put("clusterroles/owner", rules(`{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},{"verbs":["*"],"nonResourceURLs":["*"]}`))
	s.put("clusterroles/one", rules(`{"verbs":["get","watch"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web"]},{"verbs":["attest"],"apiGroups":["certificates.k8s.io"],"resources":["signers"]}`))
	s.put("clusterroles/probe", rules(`{"verbs":["get"],"nonResourceURLs":["/healthz","/metrics/*"]}`))
	s.put("roles/shop/reader", rules(`{"verbs":["delete"],"apiGroups":[""],"resources":["pods"]}`))
	s.put("clusterrolebindings/readers", binds("ClusterRole", "reader", is("User", "ann", ""), is("Group", "readers", "")))
	s.put("clusterrolebindings/owner", binds("ClusterRole", "owner", is("ServiceAccount", "boss", "ops"), is("ServiceAccount", "stray", "")))
	s.put("clusterrolebindings/probe", binds("ClusterRole", "probe", is("Group", "probes", "")))
	s.put("clusterrolebindings/gone", binds("ClusterRole", "gone", is("User", "eve", "")))
	s.put("rolebindings/shop/reader", binds("Role", "reader", is("ServiceAccount", "cleaner", ""), is("User", "ann", "")))
	s.put("rolebindings/shop/one", binds("ClusterRole", "one", is("User", "bob", "")))
	s.put("rolebindings/shop/gone", binds("Role", "gone", is("User", "eve", "")))
	s.put("rolebindings/shop/odd", binds("Odd", "odd", is("User", "eve", "")))

	user := func(name string, groups ...string) *authn.User { return &authn.User{Name: name, Groups: groups} }
	ann, bob, boss, cleaner := user("ann"), user("bob"), user("system:serviceaccount:ops:boss"), user("system:serviceaccount:shop:cleaner")
	check := func(t *testing.T) {
		for _, c := range []struct {
			user    *authn.User
			request string
			reason  string // of a permission; "" for none
		}{
			{ann, "get pods shop/a", `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to User "ann"`},
			{user("x", "a", "readers"), "list pods", `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "readers"`},
			{user("readers"), "list pods", ""},
			{ann, "get pods/log shop/a", `ClusterRole "reader"`},
			{ann, "get pods/exec shop/a", ""},
			{ann, "get replicationcontrollers/scale shop/a", `ClusterRole "reader"`},
			{ann, "get replicationcontrollers shop/a", ""},
			{ann, "watch pods shop/a", ""},
			{ann, "get pods.metrics.k8s.io shop/a", ""},
			{ann, "delete pods shop/a", `RBAC: allowed by RoleBinding "reader/shop" of Role "reader" to User "ann"`},
			{ann, "delete pods other/a", ""},
			{ann, "delete pods", ""},
			{cleaner, "delete pods shop/a", `to ServiceAccount "cleaner/shop"`},
			{bob, "get deployments.apps shop/web", `of ClusterRole "one" to User "bob"`},
			{bob, "get deployments.apps shop/other", ""},
			{bob, "watch deployments.apps shop/", ""},
			{bob, "attest signers.certificates.k8s.io shop/x", `ClusterRole "one"`},
			{bob, "approve signers.certificates.k8s.io shop/x", ""},
			{boss, "escalate roles.rbac.authorization.k8s.io", `RBAC: allowed by ClusterRoleBinding "owner" of ClusterRole "owner" to ServiceAccount "boss/ops"`},
			{boss, "post /metrics", `ClusterRole "owner"`},
			{user("system:serviceaccount::stray"), "get pods", ""},
			{user("x", "probes"), "get /healthz", `Group "probes"`},
			{user("x", "probes"), "get /healthz/ping", ""},
			{user("x", "probes"), "get /metrics/slis", `Group "probes"`},
			{user("x", "probes"), "get /metrics", ""},
			{user("x", "probes"), "post /healthz", ""},
		} {
			decision, reason, err := s.Authorize(t.Context(), authztest.Request(c.user, c.request))
			if err != nil || (decision == authz.Allow) != (c.reason != "") || !strings.Contains(reason, c.reason) {
				t.Errorf("%s: %s: %v %q %v, want %q", c.user.Name, c.request, decision, reason, err, c.reason)
			}
		}
		_, reason, _ := s.Authorize(t.Context(), authztest.Request(user("eve"), "get pods shop/a"))
		want := `RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found, unsupported role reference kind: "Odd"]`
		if sorted := strings.Contains(reason, `role.rbac.authorization.k8s.io "gone"`) && strings.Contains(reason, `"Odd"`); !sorted || len(reason) != len(want) {
			t.Errorf("%q, want %q", reason, want)
		}
		if _, reason, _ := s.Authorize(t.Context(), authztest.Request(nil, "get pods")); reason != "" {
			t.Error(reason)
		}
	}
	t.Run("followed", check)
	s.follow()
	t.Run("read", check)
}

// A change of a role or a binding counts when its write returns.
func TestChangesCount(t *testing.T) {
	s := open(t)
	ann := &authn.User{Name: "ann"}
	may := func(want bool, what string) {
		t.Helper()
		if d, _, _ := s.Authorize(t.Context(), authztest.Request(ann, "get pods shop/a")); (d == authz.Allow) != want {
			t.Errorf("after %s: %v", what, d)
		}
	}
	pods := rules(`{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}`)
	may(false, "nothing")
	s.put("rolebindings/shop/b", binds("ClusterRole", "reader", is("User", "ann", "")))
	may(false, "a binding of a missing role")
	s.put("clusterroles/reader", pods)
	may(true, "the role")
	s.put("clusterroles/reader", rules(""))
	may(false, "a role without rules")
	s.put("clusterroles/reader", pods)
	s.put("rolebindings/shop/b", binds("ClusterRole", "reader", is("User", "bob", "")))
	may(false, "another subject")
	s.put("rolebindings/shop/b", binds("ClusterRole", "reader", is("User", "ann", ""), is("User", "ann", "")))
	may(true, "the subject again")
	s.put("clusterroles/reader", "")
	may(false, "the end of the role")
	s.put("clusterroles/reader", pods)
	may(true, "the role again")
	s.put("rolebindings/shop/b", "")
	may(false, "the end of the binding")
	for i := range 500 { // more subjects than are recent
		s.put(fmt.Sprintf("rolebindings/shop/b%d", i), binds("ClusterRole", "reader", is("User", fmt.Sprintf("u%d", i), ""), is("User", "ann", "")))
	}
	may(true, "many bindings")
	for i := range 500 {
		s.put(fmt.Sprintf("rolebindings/shop/b%d", i), "")
	}
	may(false, "the end of many bindings")
	s.put("clusterroles/reader", "")
	if g := s.index.subjects.Load(); len(s.index.roles) != 0 || len(g.rest) > leastRecent+500/8 {
		t.Errorf("%d roles, %d subjects are left", len(s.index.roles), len(g.rest))
	}
}

// BenchmarkAuthorize: 10,000 bindings of 1,000 roles, of which the user has 50.
func BenchmarkAuthorize(b *testing.B) {
	s := open(b)
	for i := range 1000 {
		s.put(fmt.Sprintf("clusterroles/r%d", i), rules(fmt.Sprintf(`{"verbs":["get","list","watch"],"apiGroups":["apps"],"resources":["deployments","statefulsets","k%d"]},`+
			`{"verbs":["create","update"],"apiGroups":[""],"resources":["configmaps","secrets"]},{"verbs":["get"],"apiGroups":[""],"resources":["r%d"]}`, i, i)))
	}
	for i := range 10_000 {
		user := fmt.Sprintf("u%d", i%200)
		s.put(fmt.Sprintf("rolebindings/ns%d/b%d", i%3, i), binds("ClusterRole", fmt.Sprintf("r%d", i%1000), is("User", user, "")))
		if i%200 == 7 { // 50 in one namespace
			s.put(fmt.Sprintf("rolebindings/shop/b%d", i), binds("ClusterRole", fmt.Sprintf("r%d", i%1000), is("User", "u7", ""), is("Group", "dev", "")))
		}
	}
	u := &authn.User{Name: "u7", Groups: []string{"system:authenticated", "a", "b"}}
	for name, text := range map[string]string{"refused": "delete pods shop/a", "refused late": "get pods shop/a", "allowed": "get deployments.apps shop/a"} {
		b.Run(name, func(b *testing.B) {
			r := authztest.Request(u, text)
			b.ReportAllocs()
			for b.Loop() {
				if d, _, _ := s.Authorize(context.Background(), r); (d == authz.Allow) != (name == "allowed") {
					b.Fatal(d)
				}
			}
		})
	}
}
