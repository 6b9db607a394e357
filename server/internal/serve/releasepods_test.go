package serve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const releasePods = "/api/v1/namespaces/default/pods"

// found are the causes of an answer as "field Reason", in the order of the alphabet; the code of an answer without.
func found(t *testing.T, r harness.Reply) string {
	t.Helper()
	var all []string
	causes, _ := r.Field(t, "details.causes").([]any)
	for _, cause := range causes {
		c := cause.(map[string]any)
		all = append(all, fmt.Sprint(c["field"], " ", strings.TrimPrefix(c["reason"].(string), "FieldValue")))
	}
	if all == nil {
		return fmt.Sprint(r.Code)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// podCase is a new pod, and what kube-apiserver of some releases answered to it. A release has the answer of the last one that
// is named before it.
type podCase struct {
	name, spec string
	want       []string // "1.31 201", "1.36 spec.nodeName Forbidden"
}

// at is the answer in a release.
func (c podCase) at(release string) (want string) {
	for _, w := range c.want {
		if first, answer, _ := strings.Cut(w, " "); first <= release {
			want = answer
		}
	}
	return want
}

const ctr = `"containers":[{"name":"c","image":"i"}]`

// podCases are rules of pods that came after 1.25.
var podCases = []podCase{
	{"gates and a node", `"schedulingGates":[{"name":"a"}],"nodeName":"n",` + ctr, []string{"1.25 201", "1.27 spec.nodeName Forbidden"}},
	{"probe of an init container", `"initContainers":[{"name":"a","image":"i","livenessProbe":{"tcpSocket":{"port":1}}}],` + ctr,
		[]string{"1.25 spec.initContainers[0].livenessProbe Forbidden"}},
	{"probe of a sidecar", `"initContainers":[{"name":"a","image":"i","restartPolicy":"Always","livenessProbe":{"tcpSocket":{"port":1}}}],` + ctr,
		[]string{"1.25 spec.initContainers[0].livenessProbe Forbidden", "1.29 201"}},
	{"init container that never restarts", `"initContainers":[{"name":"a","image":"i","restartPolicy":"Never"}],` + ctr,
		[]string{"1.25 201", "1.29 spec.initContainers[0].restartPolicy NotSupported", "1.35 201"}},
	{"rules without a policy", `"containers":[{"name":"c","image":"i","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]}]`,
		[]string{"1.25 201", "1.35 spec.containers[0].restartPolicy Required"}},
	{"claim that the pod lacks", `"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"z"}]}}]`,
		[]string{"1.25 201", "1.34 spec.containers[0].resources.claims[0] NotFound"}},
	{"more than the pod has", `"resources":{"requests":{"cpu":"1"}},"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"}}}]`,
		[]string{"1.25 201", "1.34 spec.resources.requests[cpu] Invalid"}},
	{"sleep beyond the end", `"terminationGracePeriodSeconds":3,"containers":[{"name":"c","image":"i","lifecycle":{"preStop":{"sleep":{"seconds":5}}}}]`,
		[]string{"1.30 spec.containers[0].lifecycle.preStop.sleep Invalid"}},
	{"no sleep", `"containers":[{"name":"c","image":"i","lifecycle":{"preStop":{"sleep":{"seconds":0}}}}]`,
		[]string{"1.30 spec.containers[0].lifecycle.preStop.sleep Invalid", "1.33 201"}},
	{"restart by a resize", `"restartPolicy":"Never","containers":[{"name":"c","image":"i","resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]}]`,
		[]string{"1.25 201", "1.36 spec.containers[0].resizePolicy Invalid"}},
	{"image without a name", `"volumes":[{"name":"v","image":{}}],` + ctr, []string{"1.31 201", "1.35 spec.volumes[0].image.reference Required"}},
	{"padded profile", `"securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":" a"}},` + ctr,
		[]string{"1.25 201", "1.30 spec.securityContext.appArmorProfile.localhostProfile Invalid"}},
	{"label twice", `"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":{},"matchLabelKeys":["x"],` +
		`"mismatchLabelKeys":["x"]}]}},` + ctr, []string{"1.25 201", "1.31 spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0] Invalid"}},
	{"inclusion of nodes", `"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","nodeTaintsPolicy":"X"}],` + ctr,
		[]string{"1.25 201", "1.26 spec.topologySpreadConstraints[0].nodeTaintsPolicy NotSupported"}},
	{"own users, processes of the node", `"hostUsers":false,"hostPID":true,` + ctr, []string{"1.25 201", "1.33 spec.HostPID Forbidden"}},
	{"name of the host twice", `"hostnameOverride":"a","setHostnameAsFQDN":true,` + ctr, []string{"1.25 201", "1.35 spec.hostnameOverride Forbidden"}},
	{"groups on windows", `"os":{"name":"windows"},"securityContext":{"supplementalGroupsPolicy":"Strict"},` + ctr,
		[]string{"1.25 201", "1.33 spec.securityContext.supplementalGroupsPolicy Forbidden"}},
	{"variable in no volume", `"containers":[{"name":"c","image":"i","env":[{"name":"E","valueFrom":{"fileKeyRef":{"volumeName":"v","path":"p","key":"k"}}}]}]`,
		[]string{"1.35 spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName NotFound"}},
	{"addresses of the node", `"containers":[{"name":"c","image":"i","env":[{"name":"E","valueFrom":{"fieldRef":{"fieldPath":"status.hostIPs"}}}]}]`,
		[]string{"1.25 spec.containers[0].env[0].valueFrom.fieldRef.fieldPath Invalid", "1.29 201"}},
	{"search of the root", `"dnsConfig":{"searches":["."]},` + ctr, []string{"1.25 spec.dnsConfig.searches[0] Invalid", "1.33 201"}},
	{"port of the node", `"hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostPort":81}]}]`,
		[]string{"1.25 spec.containers[0].ports[0].containerPort Invalid", "1.28 spec.containers[0].ports[0].hostPort Invalid"}},
	{"recursive mount for writing", `"volumes":[{"name":"v"}],"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"v","mountPath":"/a","recursiveReadOnly":"Enabled"}]}]`,
		[]string{"1.25 201", "1.31 spec.containers[0].volumeMounts.recursiveReadOnly Forbidden"}},
	{"parameter of the node", `"hostNetwork":true,"securityContext":{"sysctls":[{"name":"net.a","value":"1"}]},` + ctr,
		[]string{"1.25 201", "1.29 spec.securityContext.sysctls[0].name Invalid"}},
}

// TestReleasePods: a rule of pods counts from the release on in which kube-apiserver got it, or its gate was on.
func TestReleasePods(t *testing.T) {
	for _, release := range []string{"1.25", "1.26", "1.28", "1.29", "1.30", "1.31", "1.33", "1.34", "1.35", "1.36"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			h := harness.Start(t, emulating(release))
			for _, c := range podCases {
				want := c.at(release)
				if want == "" {
					continue
				}
				body := fmt.Sprintf(`{"metadata":{"name":"p"},"spec":{%s}}`, c.spec)
				if got := found(t, h.Post(releasePods+"?dryRun=All", body)); got != want {
					t.Errorf("%s: %s, want %s", c.name, got, want)
				}
				if strings.Contains(want, "Forbidden") && c.name == "gates and a node" {
					continue // a rule of pods alone
				}
				template := fmt.Sprintf(`{"metadata":{"name":"p"},"template":{"spec":{%s}}}`, c.spec)
				got := found(t, h.Post("/api/v1/namespaces/default/podtemplates?dryRun=All", template))
				if want = strings.ReplaceAll(want, "spec.", "template.spec."); got != want && c.name != "image without a name" {
					t.Errorf("%s, in a template: %s, want %s", c.name, got, want)
				}
			}
		})
	}
}

// TestReleaseNewPods: what a release makes of a new pod.
func TestReleaseNewPods(t *testing.T) {
	const annotated = `"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"},"labels":{"x":"y"}`
	for _, c := range []struct{ release, name, spec, path, want string }{
		{"1.26", "no gate", `"schedulingGates":[{"name":"a"}],` + ctr, "status.conditions.0.reason", "<nil>"},
		{"1.27", "gate", `"schedulingGates":[{"name":"a"}],` + ctr, "status.conditions.0.reason", "SchedulingGated"},
		{"1.29", "profile", ctr, "spec.containers.0.securityContext.appArmorProfile.type", "<nil>"},
		{"1.30", "profile", ctr, "spec.containers.0.securityContext.appArmorProfile.type", "Unconfined"},
		{"1.30", "labels", `"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","labelSelector":{},"matchLabelKeys":["x"]}],` + ctr,
			"spec.topologySpreadConstraints.0.labelSelector.matchExpressions", "<nil>"},
		{"1.34", "labels", `"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","labelSelector":{},"matchLabelKeys":["x"]}],` + ctr,
			"spec.topologySpreadConstraints.0.labelSelector.matchExpressions.0.values.0", "y"},
		{"1.33", "no whole", `"resources":{"limits":{"cpu":"1","memory":"1Gi"}},` + ctr, "status.qosClass", "BestEffort"},
		{"1.34", "whole", `"resources":{"limits":{"cpu":"1","memory":"1Gi"}},` + ctr, "status.qosClass", "Guaranteed"},
		{"1.34", "whole request", `"resources":{"limits":{"cpu":"1"}},` + ctr, "spec.resources.requests.cpu", "1"},
		{"1.26", "grace", `"terminationGracePeriodSeconds":-3,` + ctr, "spec.terminationGracePeriodSeconds", "-3"},
		{"1.27", "grace", `"terminationGracePeriodSeconds":-3,` + ctr, "spec.terminationGracePeriodSeconds", "1"},
		{"1.36", "image", `"volumes":[{"name":"v","image":{"reference":"r"}}],` + ctr, "spec.volumes.0.image.pullPolicy", "Always"},
	} {
		h := harness.Start(t, emulating(c.release))
		got := h.Post(releasePods+"?dryRun=All", fmt.Sprintf(`{"metadata":{"name":"p",%s},"spec":{"automountServiceAccountToken":false,%s}}`, annotated, c.spec))
		got.Expect(t, http.StatusCreated, "")
		if v := fmt.Sprint(got.Field(t, c.path)); v != c.want {
			t.Errorf("%s %s: %s is %s, want %s", c.release, c.name, c.path, v, c.want)
		}
	}
}

// TestReleaseGatedPods: a gated pod may be made to fit fewer nodes, loses its gates one by one, and is not bound.
func TestReleaseGatedPods(t *testing.T) {
	h := harness.Start(t, emulating("1.36"))
	const pod, merge = releasePods + "/p", "application/merge-patch+json"
	h.Post(releasePods, `{"metadata":{"name":"p"},"spec":{"nodeSelector":{"a":"b"},"schedulingGates":[{"name":"a"},{"name":"b"}],`+ctr+`}}`).Expect(t, http.StatusCreated, "")
	for _, c := range []struct{ patch, want string }{
		{`{"spec":{"schedulingGates":[{"name":"a"},{"name":"b"},{"name":"x"}]}}`, "spec.schedulingGates[2].name Forbidden"},
		{`{"spec":{"nodeSelector":{"c":"d"}}}`, "200"},
		{`{"spec":{"nodeSelector":{"a":"x"}}}`, "spec.nodeSelector Invalid"},
		{`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}}}`, "200"},
		{`{"spec":{"affinity":null}}`, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms Invalid"},
		{`{"spec":{"schedulingGates":[{"name":"a"}]}}`, "200"},
	} {
		if got := found(t, h.Send(http.MethodPatch, pod, merge, []byte(c.patch))); got != c.want {
			t.Errorf("%s: %s, want %s", c.patch, got, c.want)
		}
	}
	binding := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`
	h.Post(pod+"/binding", binding).Expect(t, http.StatusConflict, "Conflict")
	if got := found(t, h.Send(http.MethodPatch, pod, merge, []byte(`{"spec":{"schedulingGates":null}}`))); got != "200" {
		t.Errorf("without gates: %s", got)
	}
	if got := found(t, h.Send(http.MethodPatch, pod, merge, []byte(`{"spec":{"nodeSelector":{"e":"f"}}}`))); got != "spec Forbidden" {
		t.Errorf("a selector of an open pod: %s", got)
	}
	h.Post(pod+"/binding", binding).Expect(t, http.StatusCreated, "")
}
