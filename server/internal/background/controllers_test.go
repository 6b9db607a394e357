package background_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// owned creates a config map with owners, each "name uid" or "name uid block",
// and returns its uid.
func owned(h *harness.Server, namespace, name string, owners ...string) string {
	h.T.Helper()
	r := h.Post("/api/v1/namespaces/"+namespace+"/configmaps", ownedConfigMap(name, owners...))
	r.Expect(h.T, http.StatusCreated, "")
	return r.Field(h.T, "metadata.uid").(string)
}

func ownedConfigMap(name string, owners ...string) string {
	var refs []string
	for _, o := range owners {
		f := strings.Fields(o)
		refs = append(refs, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"blockOwnerDeletion":%t}`, f[0], f[1], len(f) > 2))
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[%s]}}`, name, strings.Join(refs, ","))
}

func foreground() string { return `{"propagationPolicy":"Foreground"}` }

func TestControllerNamesAreChecked(t *testing.T) {
	err := (&server.Config{InMemory: true, Background: server.Background{Controllers: []string{"*", "-gc"}}}).Validate()
	if err == nil || !strings.Contains(err.Error(), "garbagecollector, leader-election-controller, namespace, pv-protection, pvc-protection, resourcequota, root-ca-cert-publisher, service-cidr-controller, serviceaccount") {
		t.Errorf("an unknown controller: %v", err)
	}
}

func TestEveryNamespaceHasItsServiceAccountAndRootCA(t *testing.T) {
	h := harness.WithControllers(t, "*")
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	for _, namespace := range []string{"default", "kube-system", "shop"} {
		base := "/api/v1/namespaces/" + namespace
		h.Await(base+"/serviceaccounts", func(o harness.Contents) bool { return o["default"] != nil })
		h.Await(base+"/configmaps", func(o harness.Contents) bool {
			return o["kube-root-ca.crt"] != nil
		})
	}
}

func TestServiceAccountComesBack(t *testing.T) {
	h := harness.WithControllers(t, "serviceaccount")
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	first := h.Await(accounts, func(o harness.Contents) bool { return o["default"] != nil }).In("default", "metadata.uid")
	h.Remove(accounts+"/default", "").Expect(t, http.StatusOK, "")
	h.Await(accounts, func(o harness.Contents) bool {
		return o["default"] != nil && o.In("default", "metadata.uid") != first
	})
	if r := h.Get(harness.ConfigMaps + "/kube-root-ca.crt"); r.Code != http.StatusNotFound {
		t.Errorf("a controller that is not selected has run: %s", r.Body)
	}
}

func TestRootCAIsRestored(t *testing.T) {
	h := harness.WithControllers(t, "root-ca-cert-publisher")
	right := func(o harness.Contents) bool {
		cm := o["kube-root-ca.crt"]
		data, _ := cm["data"].(map[string]any)
		return len(data) == 1 && data["ca.crt"] == string(h.Running.CA())
	}
	h.Await(harness.ConfigMaps, right)
	h.MergePatch(harness.ConfigMaps+"/kube-root-ca.crt", `{"data":{"ca.crt":"forged","more":"x"},"metadata":{"labels":{"kept":"yes"}}}`)
	have := h.Await(harness.ConfigMaps, right)
	if have.In("kube-root-ca.crt", "metadata.labels.kept") != "yes" {
		t.Errorf("labels are not the controller's: %s", harness.Describe(have))
	}
	h.Remove(harness.ConfigMaps+"/kube-root-ca.crt", "").Expect(t, http.StatusOK, "")
	h.Await(harness.ConfigMaps, right)
}

func TestNoControllers(t *testing.T) {
	h := harness.WithControllers(t, "-*")
	if r := h.Get("/api/v1/serviceaccounts"); strings.Contains(string(r.Body), `"name"`) {
		t.Errorf("service accounts without their controller: %s", r.Body)
	}
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	h.Remove("/api/v1/namespaces/shop", "").Expect(t, http.StatusOK, "")
	if phase := h.Get("/api/v1/namespaces/shop").Field(t, "status.phase"); phase != "Terminating" {
		t.Errorf("phase %v", phase)
	}
}

// A server on one file system that is restarted, as after a kill.
func TestCollectionGoesOnAfterARestart(t *testing.T) {
	fs := vfs.NewMem()
	begin := func(selection ...string) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.InMemory, c.DataDir, c.FS, c.Controllers = false, "data", fs, selection
		})
	}
	h := begin("-*")
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	owned(h, "shop", "inside")
	gone := owned(h, "default", "gone")
	owned(h, "default", "left", "gone "+gone)
	waiting := owned(h, "default", "waiting")
	owned(h, "default", "blocker", "waiting "+waiting+" block")
	leaving := owned(h, "default", "leaving")
	owned(h, "default", "orphan", "leaving "+leaving)
	h.Remove(harness.ConfigMaps+"/gone", "").Expect(t, http.StatusOK, "")
	h.Remove(harness.ConfigMaps+"/waiting", foreground()).Expect(t, http.StatusOK, "")
	h.Remove(harness.ConfigMaps+"/leaving", `{"propagationPolicy":"Orphan"}`).Expect(t, http.StatusOK, "")
	h.Remove("/api/v1/namespaces/shop", "").Expect(t, http.StatusOK, "")
	if err := h.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	h = begin("namespace", "garbagecollector")
	h.AwaitGone("/api/v1/namespaces", "shop")
	h.Await(harness.ConfigMaps, func(o harness.Contents) bool {
		return len(o) == 1 && o["orphan"] != nil && o.In("orphan", "metadata.ownerReferences") == nil
	})
}
