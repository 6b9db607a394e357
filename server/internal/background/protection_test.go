package background_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	claimsPath  = "/api/v1/namespaces/default/persistentvolumeclaims"
	volumesPath = "/api/v1/persistentvolumes"
)

func claim(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`, name)
}

func volume(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/srv"}}}`, name)
}

// podWith is a pod with one volume, on a node unless node is "".
func podWith(name, node, source string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v",%s}]}}`, name, node, source)
}

func uses(claim string) string {
	return fmt.Sprintf(`"persistentVolumeClaim":{"claimName":%q}`, claim)
}

// protecting runs the two controllers without the plug-ins that need more.
func protecting(t *testing.T, selection ...string) *harness.Server {
	return harness.Start(t, func(c *server.Config) {
		c.Controllers, c.DisableAdmissionPlugins = selection, []string{"ServiceAccount"}
	})
}

func TestClaimIsKeptWhileAPodUsesIt(t *testing.T) {
	h := protecting(t, "pvc-protection")
	const ephemeral = `"ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}`
	for _, c := range []struct {
		name, pod string
		phase     string // of the pod
		kept      bool
		owned     bool // by the pod, which controls it
		claim     string
	}{
		{name: "nobody"},
		{name: "a pod on a node", pod: podWith("p", "n", uses("c")), kept: true},
		{name: "a pod that has finished", pod: podWith("p", "n", uses("c")), phase: "Succeeded", kept: true},
		{name: "a pod without a node", pod: podWith("p", "", uses("c"))},
		{name: "a pod with another claim", pod: podWith("p", "n", uses("other"))},
		{name: "a pod's ephemeral volume", pod: podWith("p", "n", ephemeral), claim: "p-v", owned: true, kept: true},
		{name: "the name of an ephemeral volume", pod: podWith("p", "n", ephemeral), claim: "p-v"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.claim == "" {
				c.claim = "c"
			}
			body := claim(c.claim)
			if c.pod != "" {
				r := h.Post(harness.PodsPath, c.pod)
				r.Expect(t, http.StatusCreated, "")
				if c.owned {
					body = fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":%q,"controller":true}]},%s`,
						c.claim, r.Field(t, "metadata.uid"), claim("")[len(`{"metadata":{"name":""},`):])
				}
			}
			if c.phase != "" {
				h.MergePatch(harness.PodsPath+"/p/status", `{"status":{"phase":"`+c.phase+`"}}`)
			}
			h.Post(claimsPath, body).Expect(t, http.StatusCreated, "")
			r := h.Remove(claimsPath+"/"+c.claim, "")
			r.Expect(t, http.StatusOK, "")
			if r.Field(t, "metadata.deletionTimestamp") == nil {
				t.Errorf("the claim is not protected: %s", r.Body)
			}
			// When an object that is deleted later is gone, the controller has processed
			// all before it.
			h.Post(claimsPath, claim("later")).Expect(t, http.StatusCreated, "")
			h.Remove(claimsPath+"/later", "").Expect(t, http.StatusOK, "")
			have := h.Await(claimsPath, func(o harness.Contents) bool { return o["later"] == nil && (c.kept || o[c.claim] == nil) })
			if c.kept && have[c.claim] == nil {
				t.Error("the claim is gone")
			}
			if c.pod != "" {
				h.Remove(harness.PodsPath+"/p", `{"gracePeriodSeconds":0}`).Expect(t, http.StatusOK, "")
			}
			h.AwaitGone(claimsPath, c.claim)
		})
	}
}

func TestVolumeIsKeptWhileItIsBound(t *testing.T) {
	h := protecting(t, "pv-protection")
	h.Post(volumesPath, volume("free")).Expect(t, http.StatusCreated, "")
	h.Remove(volumesPath+"/free", "").Expect(t, http.StatusOK, "")
	h.AwaitGone(volumesPath, "free")

	for _, name := range []string{"bound", "later"} {
		h.Post(volumesPath, volume(name)).Expect(t, http.StatusCreated, "")
	}
	h.MergePatch(volumesPath+"/bound/status", `{"status":{"phase":"Bound"}}`)
	h.Remove(volumesPath+"/bound", "").Expect(t, http.StatusOK, "")
	h.Remove(volumesPath+"/later", "").Expect(t, http.StatusOK, "")
	if have := h.Await(volumesPath, func(o harness.Contents) bool { return o["later"] == nil }); have["bound"] == nil {
		t.Fatal("a bound volume is gone")
	}
	h.MergePatch(volumesPath+"/bound/status", `{"status":{"phase":"Released"}}`)
	h.AwaitGone(volumesPath, "bound")
}

func TestProtectionIsGivenBack(t *testing.T) {
	h := protecting(t, "pvc-protection", "pv-protection")
	for _, c := range []struct{ path, body, finalizer string }{
		{claimsPath, claim("a"), "kubernetes.io/pvc-protection"},
		{volumesPath, volume("a"), "kubernetes.io/pv-protection"},
	} {
		h.Post(c.path, c.body).Expect(t, http.StatusCreated, "")
		h.MergePatch(c.path+"/a", `{"metadata":{"finalizers":null}}`)
		h.Await(c.path, func(o harness.Contents) bool {
			list, _ := o.In("a", "metadata.finalizers").([]any)
			return len(list) == 1 && list[0] == c.finalizer
		})
	}
}

// Claims that a pod uses hold their namespace until the pod, which is deleted with it, is
// gone.
func TestNamespaceWithClaimsGoes(t *testing.T) {
	h := protecting(t, "*")
	const base = "/api/v1/namespaces/shop"
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	h.Post(base+"/persistentvolumeclaims", claim("c")).Expect(t, http.StatusCreated, "")
	h.Post(base+"/persistentvolumeclaims", claim("unused")).Expect(t, http.StatusCreated, "")
	h.Post(base+"/pods", podWith("p", "n", uses("c"))).Expect(t, http.StatusCreated, "")
	h.Remove("/api/v1/namespaces/shop", "").Expect(t, http.StatusOK, "")
	h.Await(base+"/pods", func(o harness.Contents) bool { return o.In("p", "metadata.deletionTimestamp") != nil })
	if have := h.Await(base+"/persistentvolumeclaims", func(harness.Contents) bool { return true }); have["c"] == nil || have["unused"] == nil {
		t.Errorf("claims are gone before the pod: %v", have)
	}
	h.Remove(base+"/pods/p", `{"gracePeriodSeconds":0}`).Expect(t, http.StatusOK, "") // as the node agent does
	h.AwaitGone("/api/v1/namespaces", "shop")
}
