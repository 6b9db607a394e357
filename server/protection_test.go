package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server"
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
func protecting(t *testing.T, selection ...string) *harness {
	return startServer(t, func(c *server.Config) {
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
				r := h.post(podsPath, c.pod)
				r.expect(t, http.StatusCreated, "")
				if c.owned {
					body = fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":%q,"controller":true}]},%s`,
						c.claim, r.field(t, "metadata.uid"), claim("")[len(`{"metadata":{"name":""},`):])
				}
			}
			if c.phase != "" {
				h.mergePatch(podsPath+"/p/status", `{"status":{"phase":"`+c.phase+`"}}`)
			}
			h.post(claimsPath, body).expect(t, http.StatusCreated, "")
			r := h.remove(claimsPath+"/"+c.claim, "")
			r.expect(t, http.StatusOK, "")
			if r.field(t, "metadata.deletionTimestamp") == nil {
				t.Errorf("the claim is not protected: %s", r.body)
			}
			// When an object that is deleted later is gone, the controller has processed
			// all before it.
			h.post(claimsPath, claim("later")).expect(t, http.StatusCreated, "")
			h.remove(claimsPath+"/later", "").expect(t, http.StatusOK, "")
			have := h.await(claimsPath, func(o contents) bool { return o["later"] == nil && (c.kept || o[c.claim] == nil) })
			if c.kept && have[c.claim] == nil {
				t.Error("the claim is gone")
			}
			if c.pod != "" {
				h.remove(podsPath+"/p", `{"gracePeriodSeconds":0}`).expect(t, http.StatusOK, "")
			}
			h.awaitGone(claimsPath, c.claim)
		})
	}
}

func TestVolumeIsKeptWhileItIsBound(t *testing.T) {
	h := protecting(t, "pv-protection")
	h.post(volumesPath, volume("free")).expect(t, http.StatusCreated, "")
	h.remove(volumesPath+"/free", "").expect(t, http.StatusOK, "")
	h.awaitGone(volumesPath, "free")

	for _, name := range []string{"bound", "later"} {
		h.post(volumesPath, volume(name)).expect(t, http.StatusCreated, "")
	}
	h.mergePatch(volumesPath+"/bound/status", `{"status":{"phase":"Bound"}}`)
	h.remove(volumesPath+"/bound", "").expect(t, http.StatusOK, "")
	h.remove(volumesPath+"/later", "").expect(t, http.StatusOK, "")
	if have := h.await(volumesPath, func(o contents) bool { return o["later"] == nil }); have["bound"] == nil {
		t.Fatal("a bound volume is gone")
	}
	h.mergePatch(volumesPath+"/bound/status", `{"status":{"phase":"Released"}}`)
	h.awaitGone(volumesPath, "bound")
}

func TestProtectionIsGivenBack(t *testing.T) {
	h := protecting(t, "pvc-protection", "pv-protection")
	for _, c := range []struct{ path, body, finalizer string }{
		{claimsPath, claim("a"), "kubernetes.io/pvc-protection"},
		{volumesPath, volume("a"), "kubernetes.io/pv-protection"},
	} {
		h.post(c.path, c.body).expect(t, http.StatusCreated, "")
		h.mergePatch(c.path+"/a", `{"metadata":{"finalizers":null}}`)
		h.await(c.path, func(o contents) bool {
			list, _ := o.in("a", "metadata.finalizers").([]any)
			return len(list) == 1 && list[0] == c.finalizer
		})
	}
}

// Claims that a pod uses hold their namespace until the pod, which is deleted with it, is
// gone.
func TestNamespaceWithClaimsGoes(t *testing.T) {
	h := protecting(t, "*")
	const base = "/api/v1/namespaces/shop"
	h.post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	h.post(base+"/persistentvolumeclaims", claim("c")).expect(t, http.StatusCreated, "")
	h.post(base+"/persistentvolumeclaims", claim("unused")).expect(t, http.StatusCreated, "")
	h.post(base+"/pods", podWith("p", "n", uses("c"))).expect(t, http.StatusCreated, "")
	h.remove("/api/v1/namespaces/shop", "").expect(t, http.StatusOK, "")
	h.await(base+"/pods", func(o contents) bool { return o.in("p", "metadata.deletionTimestamp") != nil })
	if have := h.await(base+"/persistentvolumeclaims", func(contents) bool { return true }); have["c"] == nil || have["unused"] == nil {
		t.Errorf("claims are gone before the pod: %v", have)
	}
	h.remove(base+"/pods/p", `{"gracePeriodSeconds":0}`).expect(t, http.StatusOK, "") // as the node agent does
	h.awaitGone("/api/v1/namespaces", "shop")
}
