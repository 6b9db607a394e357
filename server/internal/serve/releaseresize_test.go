package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// sized is a pod with a container, a sidecar and an init container.
const sized = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"%s},"spec":{%s"initContainers":[
	{"name":"s","image":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},{"name":"t","image":"i","resources":{"requests":{"cpu":"1"}}}],
	"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2","memory":"2Gi"}}}]}}`

func resized(list, name, more string) string {
	return fmt.Sprintf(`{"spec":{%q:[{"name":%q,%s}]}}`, list, name, more)
}

// TestResize: the resources of a pod change through pods/resize, and nothing else does.
func TestResize(t *testing.T) {
	for _, c := range []struct {
		name, patch string
		want        map[string]string // by release
	}{
		{"request", resized("containers", "c", `"resources":{"requests":{"cpu":"1500m"}}`), map[string]string{"1.32": "404", "1.33": "200", "1.36": "200"}},
		{"over the limit", resized("containers", "c", `"resources":{"requests":{"memory":"3Gi"}}`),
			map[string]string{"1.33": "spec.containers[0].resources.requests Invalid", "1.36": "spec.containers[0].resources.requests Invalid"}},
		{"sidecar", resized("initContainers", "s", `"resources":{"requests":{"cpu":"2"}}`), map[string]string{"1.33": "200", "1.36": "200"}},
		{"init container", resized("initContainers", "t", `"resources":{"requests":{"cpu":"2"}}`), map[string]string{"1.33": "spec Forbidden", "1.36": "200"}},
		{"other resource", resized("containers", "c", `"resources":{"requests":{"ephemeral-storage":"1"}}`), map[string]string{"1.33": "spec Forbidden", "1.36": "spec Forbidden"}},
		{"none", resized("containers", "c", `"resources":{"requests":{"cpu":null}}`), map[string]string{"1.36": "200"}}, // the limit counts
		{"policy", resized("containers", "c", `"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]`), map[string]string{"1.36": "spec Forbidden"}},
		{"another container", resized("containers", "d", `"image":"i"`), map[string]string{"1.36": "spec.containers Forbidden"}},
		{"another class", resized("containers", "c", `"resources":{"requests":{"cpu":"2","memory":"2Gi"}}`), map[string]string{"1.36": "200"}},
	} {
		for release, want := range c.want {
			h := harness.Start(t, emulating(release))
			h.Post(releasePods, fmt.Sprintf(sized, "", "")).Expect(t, http.StatusCreated, "")
			if got := found(t, h.Send(http.MethodPatch, releasePods+"/p/resize", harness.StrategicMedia, []byte(c.patch))); got != want {
				t.Errorf("%s %s: %s, want %s", release, c.name, got, want)
			}
			if got := found(t, h.Send(http.MethodPatch, releasePods+"/p", harness.StrategicMedia, []byte(resized("containers", "c", `"resources":{"requests":{"cpu":"1200m"}}`)))); got != "spec Forbidden" {
				t.Errorf("%s: resources change through the pod itself: %s", release, got)
			}
		}
	}
}

// TestResizeKeeps: a write through pods/resize keeps the rest of the pod, counts a generation and has an owner of its own.
func TestResizeKeeps(t *testing.T) {
	h := harness.Start(t, emulating("1.36"))
	h.Post(releasePods, fmt.Sprintf(sized, "", "")).Expect(t, http.StatusCreated, "")
	got := h.Send(http.MethodPatch, releasePods+"/p/resize?fieldManager=m", harness.StrategicMedia, []byte(`{"metadata":{"labels":{"a":"b"}},"status":{"phase":"Failed"},
		"spec":{"activeDeadlineSeconds":5,"containers":[{"name":"c","image":"other","resources":{"requests":{"cpu":"1500m"}}}]}}`))
	got.Expect(t, http.StatusOK, "")
	for path, want := range map[string]string{"metadata.labels": "<nil>", "status.phase": "Pending", "spec.activeDeadlineSeconds": "<nil>", "spec.containers.0.image": "i",
		"spec.containers.0.resources.requests.cpu": "1500m", "metadata.generation": "2", "metadata.managedFields.1.subresource": "resize"} {
		if v := fmt.Sprint(got.Field(t, path)); v != want {
			t.Errorf("%s is %s, want %s", path, v, want)
		}
	}
}

// TestResizeRefusals: pods that cannot be resized at all, and amounts that a quota or a limit range forbids.
func TestResizeRefusals(t *testing.T) {
	more := []byte(resized("containers", "c", `"resources":{"requests":{"cpu":"1500m"}}`))
	h := harness.Start(t, emulating("1.36"))
	for name, pod := range map[string]string{
		"static":  fmt.Sprintf(sized, `,"annotations":{"kubernetes.io/config.mirror":"x"}`, `"nodeName":"n",`),
		"windows": fmt.Sprintf(sized, "", `"os":{"name":"windows"},`),
	} {
		h.Post(releasePods, pod).Expect(t, http.StatusCreated, "")
		if got := found(t, h.Send(http.MethodPatch, releasePods+"/p/resize", harness.StrategicMedia, more)); got != "[] Forbidden" {
			t.Errorf("%s: %s", name, got)
		}
		h.Send(http.MethodDelete, releasePods+"/p?gracePeriodSeconds=0", "", nil)
	}
	const ns = "/api/v1/namespaces/default"
	h.Post(ns+"/pods", fmt.Sprintf(sized, "", "")).Expect(t, http.StatusCreated, "")
	h.Post(ns+"/limitranges", `{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1400m"}}]}}`).Expect(t, http.StatusCreated, "")
	h.Send(http.MethodPatch, ns+"/pods/p/resize", harness.StrategicMedia, more).Expect(t, http.StatusForbidden, "Forbidden")
	h.Send(http.MethodDelete, ns+"/limitranges/l", "", nil).Expect(t, http.StatusOK, "")
	h.Post(ns+"/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"requests.cpu":"2"}}}`).Expect(t, http.StatusCreated, "")
	h.Send(http.MethodPatch, ns+"/resourcequotas/q/status", "application/merge-patch+json", []byte(`{"status":{"hard":{"requests.cpu":"2"},"used":{"requests.cpu":"2"}}}`)).Expect(t, http.StatusOK, "")
	h.Send(http.MethodPatch, ns+"/pods/p/resize", harness.StrategicMedia, more).Expect(t, http.StatusForbidden, "Forbidden")
}
