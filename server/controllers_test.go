package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
)

// withControllers starts a server that runs a selection of controllers.
func withControllers(t *testing.T, selection ...string) *harness {
	t.Helper()
	return startServer(t, func(c *server.Config) { c.Controllers = selection })
}

// contents is a collection by name.
type contents map[string]map[string]any

// in finds a value in one object: "metadata.uid".
func (o contents) in(name, path string) any {
	var v any = o[name]
	for _, step := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[step]
	}
	return v
}

// await lists a collection and follows its changes until it has the wanted state.
func (h *harness) await(path string, wanted func(contents) bool) contents {
	h.t.Helper()
	list := h.get(path)
	list.expect(h.t, http.StatusOK, "")
	var all struct {
		Metadata struct{ ResourceVersion string }
		Items    []map[string]any
	}
	if err := json.Unmarshal(list.body, &all); err != nil {
		h.t.Fatal(err)
	}
	have := contents{}
	for _, item := range all.Items {
		have[nameOf(item)] = item
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL()+path+"?watch=1&resourceVersion="+all.Metadata.ResourceVersion, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	events := json.NewDecoder(bufio.NewReader(resp.Body))
	for !wanted(have) {
		var event struct {
			Type   string
			Object map[string]any
		}
		if err := events.Decode(&event); err != nil {
			h.t.Fatalf("%s is not as wanted: %v\n%s", path, err, describe(have))
		}
		if event.Type == "DELETED" {
			delete(have, nameOf(event.Object))
		} else {
			have[nameOf(event.Object)] = event.Object
		}
	}
	return have
}

func nameOf(obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

func describe(have contents) string {
	text, _ := json.MarshalIndent(have, "", "  ")
	return string(text[:min(len(text), 4000)])
}

// awaitGone waits until none of the names is in a collection.
func (h *harness) awaitGone(path string, names ...string) {
	h.t.Helper()
	h.await(path, func(o contents) bool {
		for _, name := range names {
			if o[name] != nil {
				return false
			}
		}
		return true
	})
}

func (h *harness) remove(path, options string) reply {
	h.t.Helper()
	return h.send(http.MethodDelete, path, "application/json", []byte(options))
}

func (h *harness) mergePatch(path, patch string) reply {
	h.t.Helper()
	r := h.send(http.MethodPatch, path, "application/merge-patch+json", []byte(patch))
	r.expect(h.t, http.StatusOK, "")
	return r
}

// owned creates a config map with owners, each "name uid" or "name uid block",
// and returns its uid.
func (h *harness) owned(namespace, name string, owners ...string) string {
	h.t.Helper()
	r := h.post("/api/v1/namespaces/"+namespace+"/configmaps", ownedConfigMap(name, owners...))
	r.expect(h.t, http.StatusCreated, "")
	return r.field(h.t, "metadata.uid").(string)
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
	if err == nil || !strings.Contains(err.Error(), "garbagecollector, namespace, pv-protection, pvc-protection, resourcequota, root-ca-cert-publisher, serviceaccount") {
		t.Errorf("an unknown controller: %v", err)
	}
}

func TestEveryNamespaceHasItsServiceAccountAndRootCA(t *testing.T) {
	h := withControllers(t, "*")
	h.post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	for _, namespace := range []string{"default", "kube-system", "shop"} {
		base := "/api/v1/namespaces/" + namespace
		h.await(base+"/serviceaccounts", func(o contents) bool { return o["default"] != nil })
		h.await(base+"/configmaps", func(o contents) bool {
			return o["kube-root-ca.crt"] != nil
		})
	}
}

func TestServiceAccountComesBack(t *testing.T) {
	h := withControllers(t, "serviceaccount")
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	first := h.await(accounts, func(o contents) bool { return o["default"] != nil }).in("default", "metadata.uid")
	h.remove(accounts+"/default", "").expect(t, http.StatusOK, "")
	h.await(accounts, func(o contents) bool {
		return o["default"] != nil && o.in("default", "metadata.uid") != first
	})
	if r := h.get(configMaps + "/kube-root-ca.crt"); r.code != http.StatusNotFound {
		t.Errorf("a controller that is not selected has run: %s", r.body)
	}
}

func TestRootCAIsRestored(t *testing.T) {
	h := withControllers(t, "root-ca-cert-publisher")
	right := func(o contents) bool {
		cm := o["kube-root-ca.crt"]
		data, _ := cm["data"].(map[string]any)
		return len(data) == 1 && data["ca.crt"] == string(h.server.CA())
	}
	h.await(configMaps, right)
	h.mergePatch(configMaps+"/kube-root-ca.crt", `{"data":{"ca.crt":"forged","more":"x"},"metadata":{"labels":{"kept":"yes"}}}`)
	have := h.await(configMaps, right)
	if have.in("kube-root-ca.crt", "metadata.labels.kept") != "yes" {
		t.Errorf("labels are not the controller's: %s", describe(have))
	}
	h.remove(configMaps+"/kube-root-ca.crt", "").expect(t, http.StatusOK, "")
	h.await(configMaps, right)
}

func TestNoControllers(t *testing.T) {
	h := withControllers(t, "-*")
	if r := h.get("/api/v1/serviceaccounts"); strings.Contains(string(r.body), `"name"`) {
		t.Errorf("service accounts without their controller: %s", r.body)
	}
	h.post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	h.remove("/api/v1/namespaces/shop", "").expect(t, http.StatusOK, "")
	if phase := h.get("/api/v1/namespaces/shop").field(t, "status.phase"); phase != "Terminating" {
		t.Errorf("phase %v", phase)
	}
}

// A server on one file system that is restarted, as after a kill.
func TestCollectionGoesOnAfterARestart(t *testing.T) {
	fs := vfs.NewMem()
	begin := func(selection ...string) *harness {
		return startServer(t, func(c *server.Config) {
			c.InMemory, c.DataDir, c.FS, c.Controllers = false, "data", fs, selection
		})
	}
	h := begin("-*")
	h.post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	h.owned("shop", "inside")
	gone := h.owned("default", "gone")
	h.owned("default", "left", "gone "+gone)
	waiting := h.owned("default", "waiting")
	h.owned("default", "blocker", "waiting "+waiting+" block")
	leaving := h.owned("default", "leaving")
	h.owned("default", "orphan", "leaving "+leaving)
	h.remove(configMaps+"/gone", "").expect(t, http.StatusOK, "")
	h.remove(configMaps+"/waiting", foreground()).expect(t, http.StatusOK, "")
	h.remove(configMaps+"/leaving", `{"propagationPolicy":"Orphan"}`).expect(t, http.StatusOK, "")
	h.remove("/api/v1/namespaces/shop", "").expect(t, http.StatusOK, "")
	if err := h.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	h = begin("namespace", "garbagecollector")
	h.awaitGone("/api/v1/namespaces", "shop")
	h.await(configMaps, func(o contents) bool {
		return len(o) == 1 && o["orphan"] != nil && o.in("orphan", "metadata.ownerReferences") == nil
	})
}
