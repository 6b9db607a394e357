package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleaseCustomObjects: from 1.29 on a value that its enumeration lacks hides the rules of a custom resource, and in 1.36
// the writer of a status owns no metadata.
func TestReleaseCustomObjects(t *testing.T) {
	const schema = `{"type":"object","properties":{"mode":{"type":"string","enum":["a"]},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},` +
		`"x-kubernetes-validations":[{"rule":"self.mode == 'a'"}]}`
	for release, want := range map[string]struct{ hides, owned bool }{"1.28": {false, true}, "1.29": {true, true}, "1.35": {true, true}, "1.36": {true, false}} {
		h := harness.Start(t, emulating(release))
		h.Define(schema, `,"subresources":{"status":{}}`)
		got := h.Post(harness.ShopWidgets, harness.Widget("w", `,"mode":"c"`))
		got.Expect(t, http.StatusUnprocessableEntity, "")
		if strings.Contains(string(got.Body), "were not checked") != want.hides {
			t.Errorf("%s: %s", release, got.Body)
		}
		h.Create(harness.ShopWidgets, harness.Widget("w", `,"mode":"a"`))
		got = h.Send(http.MethodPatch, harness.ShopWidgets+"/w/status", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}},"status":{"x":1}}`))
		if got.Expect(t, http.StatusOK, ""); strings.Contains(string(got.Body), "f:labels") != want.owned {
			t.Errorf("%s: %s", release, got.Body)
		}
	}
}

// TestReleaseAppliedKind: from 1.28 on another kind in an applied custom object is refused before its conflicts are.
func TestReleaseAppliedKind(t *testing.T) {
	for release, code := range map[string]int{"1.27": http.StatusConflict, "1.28": http.StatusBadRequest, "1.36": http.StatusBadRequest} {
		h := harness.Start(t, emulating(release))
		h.Define(`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}}`, "")
		h.Create(harness.ShopWidgets, harness.Widget("w", `,"spec":{"a":"x"}`))
		other := strings.Replace(harness.Widget("w", `,"spec":{"a":"y"}`), `"kind":"Widget"`, `"kind":"Other"`, 1)
		h.Send(http.MethodPatch, harness.ShopWidgets+"/w?fieldManager=m", "application/apply-patch+yaml", []byte(other)).Expect(t, code, "")
	}
}

// TestReleaseEndpointSlices: from 1.33 on an update is not refused for endpoints that it leaves as they were.
func TestReleaseEndpointSlices(t *testing.T) {
	for release, causes := range map[string]string{"1.32": "endpoints[0].addresses[0]/Invalid addressType/Invalid", "1.33": "addressType/Invalid"} {
		h := harness.Start(t, emulating(release))
		h.Create(endpoints, six+`"fd00::1"]}]}`)
		got := h.Send(http.MethodPatch, endpoints+"/s", "application/merge-patch+json", []byte(`{"addressType":"IPv4"}`))
		if is := causesOf(t, got.Body); is != causes {
			t.Errorf("%s: %s instead of %s", release, is, causes)
		}
	}
}

// TestReleaseNodeCells: 1.36 shows the architecture of a node with its kernel.
func TestReleaseNodeCells(t *testing.T) {
	for release, kernel := range map[string]string{"1.35": `"6.1"`, "1.36": `"6.1 (arm64)"`} {
		h := harness.Start(t, emulating(release))
		h.Create("/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"nodeInfo":{"kernelVersion":"6.1","architecture":"arm64"}}}`)
		table := h.Send(http.MethodGet, "/api/v1/nodes/n", "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if !strings.Contains(string(table.Body), kernel) {
			t.Errorf("%s: %s", release, table.Body)
		}
	}
}
