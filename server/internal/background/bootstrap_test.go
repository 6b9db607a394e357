package background_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	clusterRoles    = "/apis/rbac.authorization.k8s.io/v1/clusterroles/"
	clusterBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/"
	priorityClasses = "/apis/scheduling.k8s.io/v1/priorityclasses/"
)

func TestWhatEveryClusterHas(t *testing.T) {
	h := harness.Start(t, nil)
	for _, path := range []string{
		"/api/v1/namespaces/kube-node-lease",
		priorityClasses + "system-node-critical", priorityClasses + "system-cluster-critical",
		clusterRoles + "admin", clusterRoles + "system:controller:job-controller", clusterBindings + "system:controller:job-controller",
		"/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public/roles/system:controller:bootstrap-signer",
		"/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/system::leader-locking-kube-scheduler",
	} {
		r := h.Get(path)
		r.Expect(t, http.StatusOK, "")
		if !strings.Contains(string(r.Body), `"manager":"kube-apiserver","operation":"Update"`) {
			t.Errorf("%s: the server is not recorded as the one who wrote it: %s", path, r.Body)
		}
	}
	for endpoint, checks := range map[string]string{
		"livez":   "ping log etcd",
		"healthz": "ping log etcd",
		"readyz":  "ping log etcd etcd-readiness informer-sync shutdown",
	} {
		all := strings.Fields(checks + " autoregister-completion")
		for _, hook := range []string{"start-kube-apiserver-admission-initializer", "generic-apiserver-start-informers", "start-apiextensions-informers",
			"start-apiextensions-controllers", "crd-informer-synced", "bootstrap-controller", "rbac/bootstrap-roles",
			"scheduling/bootstrap-system-priority-classes", "start-cluster-authentication-info-controller", "start-kube-aggregator-informers",
			"apiservice-registration-controller", "apiservice-status-available-controller", "kube-apiserver-autoregistration", "apiservice-openapi-controller",
			// Names of later releases.
			"start-apiserver-admission-initializer", "start-system-namespaces-controller", "start-service-ip-repair-controllers",
			"storage-readiness", "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller"} {
			all = append(all, "poststarthook/"+hook)
		}
		told := string(h.Get("/" + endpoint + "?verbose=1").Body)
		for _, check := range all {
			h.Get("/"+endpoint+"/"+check).Expect(t, http.StatusOK, "")
			if !strings.Contains(told, "[+]"+check+" ok\n") {
				t.Errorf("%s does not tell of %s: %s", endpoint, check, told)
			}
		}
	}
}

// The grace period is one of /livez, from the start on.
func TestLivezGracePeriod(t *testing.T) {
	var passed atomic.Int64
	h := harness.Start(t, func(c *server.Config) {
		c.LivezGracePeriod = time.Minute
		c.Clock = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	})
	for _, c := range []struct {
		after time.Duration
		livez bool
	}{{0, true}, {time.Minute, false}} {
		passed.Store(int64(c.after))
		if h.Running.Excuses("livez") != c.livez || h.Running.Excuses("readyz") || h.Running.Excuses("healthz") {
			t.Errorf("after %v: livez %v, readyz %v, healthz %v", c.after, h.Running.Excuses("livez"), h.Running.Excuses("readyz"), h.Running.Excuses("healthz"))
		}
	}
}

// A restart restores missing parts of roles and bindings, keeps their own parts, and
// respects the annotation against it.
func TestRolesAreReconciledAtStart(t *testing.T) {
	dir := t.TempDir()
	keep := func(c *server.Config) { c.InMemory, c.DataDir = false, dir }
	h := harness.Start(t, keep)
	merge := func(path, patch string) {
		t.Helper()
		h.Send("PATCH", path, "application/merge-patch+json", []byte(patch)).Expect(t, http.StatusOK, "")
	}
	merge(clusterRoles+"system:kube-dns", `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}],"metadata":{"labels":null}}`)
	merge(clusterRoles+"system:heapster", `{"rules":null,"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}}}`)
	merge(clusterBindings+"system:discovery", `{"subjects":[{"kind":"User","name":"bob"}]}`)
	h.Send("DELETE", clusterRoles+"view", "", nil).Expect(t, http.StatusOK, "")
	h.Send("DELETE", clusterBindings+"system:basic-user", "", nil).Expect(t, http.StatusOK, "")
	h.Send("POST", strings.TrimSuffix(clusterBindings, "/"), "application/json", []byte(`{"metadata":{"name":"system:basic-user"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}}`)).Expect(t, http.StatusCreated, "")
	untouched := string(h.Get(clusterRoles + "edit").Body)
	if err := h.Running.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}

	h = harness.Start(t, keep)
	expect := func(path, member, want string) {
		t.Helper()
		var got map[string]json.RawMessage
		if err := json.Unmarshal(h.Get(path).Body, &got); err != nil {
			t.Fatal(err)
		}
		if string(got[member]) != want {
			t.Errorf("%s: %s is %s, expected %s", path, member, got[member], want)
		}
	}
	expect(clusterRoles+"system:kube-dns", "rules", `[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{"verbs":["list","watch"],"apiGroups":[""],"resources":["endpoints","services"]}]`)
	expect(clusterRoles+"system:heapster", "rules", `null`)
	expect(clusterBindings+"system:discovery", "subjects", `[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bob"},{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]`)
	expect(clusterBindings+"system:basic-user", "roleRef", `{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:basic-user"}`)
	expect(clusterRoles+"view", "kind", `"ClusterRole"`)
	if now := string(h.Get(clusterRoles + "edit").Body); now != untouched {
		t.Errorf("a role that lacked nothing was written:\n%s\n%s", untouched, now)
	}
}

const (
	flowSchemas = "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas"
	flowLevels  = "/apis/flowcontrol.apiserver.k8s.io/v1beta2/prioritylevelconfigurations"
)

func TestFlowControlDefaults(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.DisablePriorityAndFairness = false })
	for _, name := range []string{"exempt", "catch-all", "system-nodes"} {
		r := h.Get(flowSchemas + "/" + name)
		r.Expect(t, http.StatusOK, "")
		if typ, status := r.Field(t, "status.conditions.0.type"), r.Field(t, "status.conditions.0.status"); typ != "Dangling" || status != "False" {
			t.Errorf("%s: condition %v is %v", name, typ, status)
		}
	}
	h.Get(flowLevels+"/workload-low").Expect(t, http.StatusOK, "")
	// A deleted level is created again.
	watch := func(want string) {
		t.Helper()
		h.Await(flowSchemas, func(all harness.Contents) bool {
			conditions, _ := all.In("service-accounts", "status.conditions").([]any)
			return len(conditions) == 1 && conditions[0].(map[string]any)["status"] == want
		})
	}
	h.Send("DELETE", flowLevels+"/workload-low", "", nil).Expect(t, http.StatusOK, "")
	watch("True")
	h.Merge(flowSchemas+"/exempt", `{"metadata":{"annotations":null}}`).Expect(t, http.StatusOK, "")
	h.Merge(flowLevels+"/global-default", `{"spec":{"limited":{"assuredConcurrencyShares":77}}}`).Expect(t, http.StatusOK, "")
	h.Merge(flowLevels+"/system", `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}},"spec":{"limited":{"assuredConcurrencyShares":77}}}`).Expect(t, http.StatusOK, "")
	if err := h.Running.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	watch("False")
	for path, want := range map[string]any{flowLevels + "/global-default": 20.0, flowLevels + "/system": 77.0} {
		if got := h.Get(path).Field(t, "spec.limited.assuredConcurrencyShares"); got != want {
			t.Errorf("%s: %v shares, expected %v", path, got, want)
		}
	}
	if got := string(h.Get(flowSchemas + "/exempt").Body); !strings.Contains(got, `"apf.kubernetes.io/autoupdate-spec":"true"`) {
		t.Errorf("the annotation of a schema that is nobody's did not come back: %s", got)
	}
}

// Rights of default roles that differ between releases are those of 1.25.
func TestDefaultRights(t *testing.T) {
	h := harness.Start(t, nil)
	for user, role := range map[string]string{"bob": "system:aggregate-to-edit", "carol": "system:kubelet-api-admin"} {
		h.Post(clusterBindings, `{"metadata":{"name":"`+user+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+role+`"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`).Expect(t, http.StatusCreated, "")
	}
	const controller = "system:serviceaccount:kube-system:"
	for _, c := range []struct {
		user, verb, resource, name string // resource is group/resource[/subresource]
		allowed                    bool
	}{
		{"bob", "create", "coordination.k8s.io/leases", "", true},
		{"carol", "get", "/nodes/spec", "n", true},
		{"system:kube-scheduler", "create", "/endpoints", "", true},
		{"system:kube-scheduler", "update", "/endpoints", "kube-scheduler", true},
		{"system:kube-scheduler", "update", "/endpoints", "kube-controller-manager", false},
		{"system:kube-controller-manager", "update", "/endpoints", "kube-controller-manager", true},
		{controller + "cronjob-controller", "delete", "/pods", "p", true},
		{controller + "cronjob-controller", "watch", "/pods", "", false},
		{controller + "node-controller", "update", "/pods/status", "p", true},
		{controller + "node-controller", "patch", "/pods/status", "p", false},
		{controller + "endpointslicemirroring-controller", "update", "/endpoints/finalizers", "e", true},
		{controller + "horizontal-pod-autoscaler", "get", "/services/proxy", "https:heapster:", true},
	} {
		parts := append(strings.Split(c.resource, "/"), "")
		review, err := json.Marshal(map[string]any{"spec": map[string]any{"user": c.user, "resourceAttributes": map[string]string{
			"group": parts[0], "resource": parts[1], "subresource": parts[2], "verb": c.verb, "name": c.name, "namespace": "default"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Post("/apis/authorization.k8s.io/v1/subjectaccessreviews", string(review)).Field(t, "status.allowed"); got != c.allowed {
			t.Errorf("%s may %s %s %q: %v, want %v", c.user, c.verb, c.resource, c.name, got, c.allowed)
		}
	}
}
