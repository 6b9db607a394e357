package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	releaseNodes = "/api/v1/nodes"
	placedNode   = `{"metadata":{"name":%q,"labels":{"kubernetes.io/os":%q,"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","other":"o"}}}`
)

// TestReleaseTopologyLabels: a pod gets the labels of its node that say where it is, when it is created there and when it is
// bound, in releases whose gate is on and unless the plug-in is off.
func TestReleaseTopologyLabels(t *testing.T) {
	for _, c := range []struct {
		release  string
		gate     bool // the gate is turned on
		disabled bool // the plug-in is turned off
		want     any
	}{{"1.32", false, false, nil}, {"1.33", false, false, nil}, {"1.33", true, false, "z"}, {"1.35", false, false, "z"}, {"1.36", false, false, "z"}, {"1.36", false, true, nil}} {
		h := harness.Start(t, func(cfg *server.Config) {
			emulating(c.release)(cfg)
			if c.gate {
				cfg.FeatureGates = []string{"PodTopologyLabelsAdmission=true"}
			}
			if c.disabled {
				cfg.DisableAdmissionPlugins = append(cfg.DisableAdmissionPlugins, "PodTopologyLabels")
			}
		})
		h.Post(releaseNodes, fmt.Sprintf(placedNode, "n", "linux")).Expect(t, http.StatusCreated, "")
		h.Post(releasePods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n",`+ctr+`}}`).Expect(t, http.StatusCreated, "")
		h.Post(releasePods, `{"metadata":{"name":"q","labels":{"topology.kubernetes.io/zone":"mine"}},"spec":{`+ctr+`}}`).Expect(t, http.StatusCreated, "")
		h.Post(releasePods+"/q/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"q"},"target":{"kind":"Node","name":"n"}}`).Expect(t, http.StatusCreated, "")
		for _, name := range []string{"p", "q"} {
			labels, _ := h.Get(releasePods+"/"+name).Field(t, "metadata.labels").(map[string]any)
			want := c.want
			if want == nil && name == "q" {
				want = "mine"
			}
			if labels["topology.kubernetes.io/zone"] != want || (labels["topology.kubernetes.io/region"] != nil) != (c.want != nil) || labels["other"] != nil {
				t.Errorf("%+v: pod %s has the labels %v", c, name, labels)
			}
		}
	}
}

// TestReleaseNodeCapacity: from 1.36 on a pod is not resized beyond what its node can allocate, or on a node of another system.
func TestReleaseNodeCapacity(t *testing.T) {
	const more = `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q}}}]}}`
	for _, c := range []struct{ release, node, cpu, want string }{
		{"1.35", "small", "5", "200"},
		{"1.36", "small", "2", "200"},
		{"1.36", "small", "5", `403 NodeCapacity pods "p" is forbidden: node didn't have enough allocatable resources: cpu, requested: 5000, allocatable: 4000`},
		{"1.36", "windows", "2", `403 UnsupportedPlatform pods "p" is forbidden: pod resize is only supported on linux nodes, node "windows" is "windows"`},
		{"1.36", "none", "2", `403  pods "p" is forbidden: node "none" not found`},
		{"1.36", "windows", "1", "200"}, // which changes nothing
	} {
		h := harness.Start(t, emulating(c.release))
		h.Post(releaseNodes, fmt.Sprintf(placedNode, "small", "linux")).Expect(t, http.StatusCreated, "")
		h.Post(releaseNodes, fmt.Sprintf(placedNode, "windows", "windows")).Expect(t, http.StatusCreated, "")
		h.Merge(releaseNodes+"/small/status", `{"status":{"allocatable":{"cpu":"4","memory":"1Gi"}}}`).Expect(t, http.StatusOK, "")
		h.Post(releasePods, fmt.Sprintf(`{"metadata":{"name":"p"},"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`, c.node)).
			Expect(t, http.StatusCreated, "")
		r := h.Send(http.MethodPatch, releasePods+"/p/resize", harness.StrategicMedia, fmt.Appendf(nil, more, c.cpu))
		got := fmt.Sprint(r.Code)
		if r.Code == http.StatusForbidden {
			reason := ""
			if causes, _ := r.Field(t, "details.causes").([]any); len(causes) == 1 {
				reason = fmt.Sprint(causes[0].(map[string]any)["reason"])
			}
			got += " " + reason + " " + fmt.Sprint(r.Field(t, "message"))
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestReleaseHeldAmounts: a quota counts what a pod still has during a resize, in releases that resize.
func TestReleaseHeldAmounts(t *testing.T) {
	const report = `{"status":{"containerStatuses":[{"name":"c","image":"i","imageID":"","ready":true,"restartCount":0,
		"allocatedResources":{"cpu":"3"},"resources":{"requests":{"cpu":"2"}}}]%s}}`
	for _, c := range []struct{ release, more, want string }{
		{"1.32", "", "1"},
		{"1.33", "", "2"}, // the field for what the node has allocated is behind a gate
		{"1.36", "", "3"},
		{"1.36", `,"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}]`, "3"},
	} {
		h := harness.Start(t, func(cfg *server.Config) {
			emulating(c.release)(cfg)
			cfg.Controllers = []string{"resourcequota"}
		})
		const quotas = "/api/v1/namespaces/default/resourcequotas"
		h.Post(releasePods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`).Expect(t, http.StatusCreated, "")
		h.Merge(releasePods+"/p/status", fmt.Sprintf(report, c.more)).Expect(t, http.StatusOK, "")
		h.Post(quotas, `{"metadata":{"name":"q"},"spec":{"hard":{"requests.cpu":"10"}}}`).Expect(t, http.StatusCreated, "")
		h.AwaitText(quotas+"/q", `"used"`)
		if got := h.Get(quotas+"/q").Field(t, "status.used").(map[string]any)["requests.cpu"]; got != c.want {
			t.Errorf("%+v: the quota counts %v", c, got)
		}
	}
}
