package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	jobs     = "/apis/batch/v1/namespaces/default/jobs"
	services = "/api/v1/namespaces/default/services"
	levels   = "/apis/flowcontrol.apiserver.k8s.io/"
	pods     = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
)

// TestReleaseJobs: the labels of a job's pods, its defaults and the rules of its end are those of the release.
func TestReleaseJobs(t *testing.T) {
	for release, want := range map[string]struct {
		label, policy string
		ends          int
	}{
		"1.25": {"controller-uid", "", http.StatusOK},
		"1.28": {"batch.kubernetes.io/controller-uid", "", http.StatusOK},
		"1.31": {"batch.kubernetes.io/controller-uid", "TerminatingOrFailed", http.StatusOK},
		"1.36": {"batch.kubernetes.io/controller-uid", "TerminatingOrFailed", http.StatusUnprocessableEntity},
	} {
		h := harness.Start(t, emulating(release))
		made := h.Post(jobs, `{"metadata":{"name":"j"},"spec":{`+pods+`}}`)
		made.Expect(t, http.StatusCreated, "")
		if selected := made.Field(t, "spec.selector.matchLabels").(map[string]any); len(selected) != 1 || selected[want.label] == nil {
			t.Errorf("%s: the pods of a job are selected by %v, expected %s", release, selected, want.label)
		}
		if policy, _ := made.Field(t, "spec.podReplacementPolicy").(string); policy != want.policy {
			t.Errorf("%s: pods are replaced by the policy %q, expected %q", release, policy, want.policy)
		}
		ended := h.Merge(jobs+"/j/status", `{"status":{"conditions":[{"type":"Complete","status":"True"}]}}`)
		if ended.Code != want.ends {
			t.Errorf("%s: a job that is complete without times: %d %s", release, ended.Code, ended.Body)
		}
	}
}

// TestReleaseJobEnd: the causes about the status of a job that has ended come in the order of the release.
func TestReleaseJobEnd(t *testing.T) {
	h := harness.Start(t, emulating("1.36"))
	h.Post(jobs, `{"metadata":{"name":"j"},"spec":{"completions":1,`+pods+`}}`).Expect(t, http.StatusCreated, "")
	got := h.Merge(jobs+"/j/status", `{"status":{"conditions":[{"type":"Complete","status":"True"}],"terminating":1,"completedIndexes":"x","failedIndexes":"abc"}}`)
	const want = "status.completionTime/Required status.conditions/Invalid status.startTime/Required status.completedIndexes/Invalid status.completedIndexes/Invalid " +
		"status.failedIndexes/Invalid status.terminating/Invalid"
	if is := causesOf(t, got.Body); is != want {
		t.Errorf("got  %s\nwant %s", is, want)
	}
}

// TestReleaseJobUpdates: the labels with a prefix are not asked of the pods of a job that had none.
func TestReleaseJobUpdates(t *testing.T) {
	h := harness.Start(t, emulating("1.36"))
	h.Post(jobs, `{"metadata":{"name":"j"},"spec":{"manualSelector":true,"selector":{},`+pods+`}}`).Expect(t, http.StatusCreated, "")
	got := h.Merge(jobs+"/j", `{"spec":{"manualSelector":false,"selector":{"matchLabels":{"x":"y"}}}}`)
	const selects, matches = "spec.template.metadata.labels[controller-uid]/Required spec.template.metadata.labels[job-name]/Required spec.selector/Invalid ",
		"spec.template.metadata.labels/Invalid "
	if is := causesOf(t, got.Body); is != selects+matches+matches+"spec.selector/Invalid" {
		t.Error(is)
	}
}

// TestReleaseVolumeAttributes: a class of attributes has them, and each has a name.
func TestReleaseVolumeAttributes(t *testing.T) {
	const classes = "/apis/storage.k8s.io/v1beta1/volumeattributesclasses"
	many := make([]string, 513)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":""`, i)
	}
	h := harness.Start(t, func(c *server.Config) {
		emulating("1.31")(c)
		c.RuntimeConfig = []string{"storage.k8s.io/v1beta1"}
	})
	for parameters, want := range map[string]string{
		`"a":""`: "", ``: "parameters/Required", `"":"v"`: "parameters/Invalid", strings.Join(many, ","): "parameters/TooLong", strings.Join(many[1:], ","): "",
	} {
		made := h.Post(classes+"?dryRun=All", `{"metadata":{"name":"c"},"driverName":"d","parameters":{`+parameters+`}}`)
		if got := causesOf(t, made.Body); got != want || (got == "") != (made.Code == http.StatusCreated) {
			t.Errorf("%.20s: %d %s, want %s", parameters, made.Code, got, want)
		}
	}
}

// TestReleaseClaimClass: a claim without a class may get one later, from 1.26 on or where an earlier release has the feature on.
func TestReleaseClaimClass(t *testing.T) {
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	for release, code := range map[string]int{"1.25": http.StatusUnprocessableEntity, "1.25 on": http.StatusOK, "1.26": http.StatusOK, "1.36": http.StatusOK} {
		number, on := strings.CutSuffix(release, " on")
		h := harness.Start(t, func(c *server.Config) {
			if c.EmulatedVersion = []string{number}; on {
				c.FeatureGates = []string{"RetroactiveDefaultStorageClass=true"}
			}
		})
		h.Create(claims, `{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
		h.Merge(claims+"/c", `{"spec":{"storageClassName":"fast"}}`).Expect(t, code, "")
		if code == http.StatusOK {
			again := h.Merge(claims+"/c", `{"spec":{"storageClassName":"slow"}}`)
			again.Expect(t, http.StatusUnprocessableEntity, "")
			if named := strings.Contains(string(again.Body), "volumeAttributesClassName for bound claims"); named != (number == "1.36") {
				t.Errorf("%s: %s", release, again.Body)
			}
		}
	}
}

// TestReleaseServices: the policy of traffic to external addresses, and the warning of them, are those of the release.
func TestReleaseServices(t *testing.T) {
	const service = `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"externalIPs":["1.2.3.4"]}}`
	for release, want := range map[string]struct {
		policy string
		warns  bool
	}{"1.25": {"", false}, "1.31": {"Cluster", false}, "1.36": {"Cluster", true}} {
		h := harness.Start(t, emulating(release))
		got := h.Post(services, service)
		got.Expect(t, http.StatusCreated, "")
		if policy, _ := got.Field(t, "spec.externalTrafficPolicy").(string); policy != want.policy {
			t.Errorf("%s: the policy of traffic from outside is %q, expected %q", release, policy, want.policy)
		}
		if warning := got.Header.Get("Warning"); strings.Contains(warning, "externalIPs is deprecated") != want.warns {
			t.Errorf("%s: the warning is %q", release, warning)
		}
	}
}

// TestReleaseFlowControl: each release has its priority levels from the start, in its versions.
func TestReleaseFlowControl(t *testing.T) {
	for release, version := range map[string]string{"1.25": "v1beta2", "1.27": "v1beta3", "1.36": "v1"} {
		h := harness.Start(t, func(c *server.Config) {
			emulating(release)(c)
			c.DisablePriorityAndFairness = false
		})
		h.AwaitCode(levels+version+"/flowschemas/catch-all", http.StatusOK) // the last one is made after all levels
		got := h.Get(levels + version + "/prioritylevelconfigurations/workload-low")
		got.Expect(t, http.StatusOK, "")
		if lent := got.Field(t, "spec.limited.lendablePercent"); (lent != nil) != (release != "1.25") {
			t.Errorf("%s: workload-low lends %v percent", release, lent)
		}
	}
}

// TestReleaseEvictions: an evicted pod that waits for its node says why it ends, in releases that say so.
func TestReleaseEvictions(t *testing.T) {
	const path = "/api/v1/namespaces/default/pods"
	for release, reason := range map[string]any{"1.25": nil, "1.31": "EvictionByEvictionAPI", "1.36": "EvictionByEvictionAPI"} {
		h := harness.Start(t, emulating(release))
		h.Post(path, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`).Expect(t, http.StatusCreated, "")
		eviction := `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`
		h.Post(path+"/p/eviction?dryRun=All", eviction).Expect(t, http.StatusCreated, "")
		if got := h.Get(path+"/p").Field(t, "status.conditions"); got != nil {
			t.Errorf("%s: a dry run leaves the conditions %v", release, got)
		}
		h.Post(path+"/p/eviction", eviction).Expect(t, http.StatusCreated, "")
		pod := h.Get(path + "/p")
		var got any
		if pod.Field(t, "status.conditions") != nil {
			got = pod.Field(t, "status.conditions.0.reason")
		}
		if pod.Field(t, "metadata.deletionTimestamp") == nil || got != reason {
			t.Errorf("%s: the evicted pod says %v: %s", release, got, pod.Body)
		}
	}
}

// TestReleaseSingulars: discovery names resources in the singular from 1.27 on.
func TestReleaseSingulars(t *testing.T) {
	for release, want := range map[string]string{"1.25": "", "1.26": "", "1.27": "pod"} {
		h := harness.Start(t, emulating(release))
		var list struct {
			Resources []struct{ Name, SingularName string }
		}
		if err := json.Unmarshal(h.Get("/api/v1").Body, &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Resources {
			if r.Name == "pods" && r.SingularName != want {
				t.Errorf("%s: one of the pods is %q, expected %q", release, r.SingularName, want)
			}
		}
	}
}
