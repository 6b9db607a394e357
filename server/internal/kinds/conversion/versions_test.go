package conversion_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// One object is read and written in every version of its kind, by every verb.
func TestAnObjectInSeveralVersions(t *testing.T) {
	h := harness.Start(t, nil)
	v1, v2, beta := "/apis/autoscaling/v1"+harness.Autoscalers, "/apis/autoscaling/v2"+harness.Autoscalers, "/apis/autoscaling/v2beta2"+harness.Autoscalers
	made := h.Post(v2, harness.AutoscalerV2)
	if made.Code != http.StatusCreated {
		t.Fatalf("%d %s", made.Code, made.Body)
	}
	uid := made.Field(t, "metadata.uid")
	same := func(path, version string, want map[string]any) harness.Reply {
		t.Helper()
		r := h.Get(path)
		if r.Code != http.StatusOK || r.Field(t, "apiVersion") != version || r.Field(t, "metadata.uid") != uid {
			t.Fatalf("%s: %d %s", path, r.Code, r.Body)
		}
		for field, value := range want {
			if got := r.Field(t, field); got != value {
				t.Errorf("%s: %s is %v, want %v", path, field, got, value)
			}
		}
		return r
	}
	same(v1+"/web", "autoscaling/v1", map[string]any{"spec.targetCPUUtilizationPercentage": 60.0, "spec.metrics": nil})
	same(beta+"/web", "autoscaling/v2beta2", map[string]any{"spec.metrics.1.resource.target.averageUtilization": 60.0})

	put := same(v1+"/web", "autoscaling/v1", nil)
	text := strings.Replace(string(put.Body), `"targetCPUUtilizationPercentage":60`, `"targetCPUUtilizationPercentage":70`, 1)
	if r := h.Send(http.MethodPut, v1+"/web", "application/json", []byte(text)); r.Code != http.StatusOK || r.Field(t, "apiVersion") != "autoscaling/v1" {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if r := h.Send(http.MethodPut, v1+"/web", "application/json", []byte(text)); r.Code != http.StatusConflict {
		t.Errorf("a stale update: %d %s", r.Code, r.Body)
	}
	same(v2+"/web", "autoscaling/v2", map[string]any{"spec.metrics.0.pods.metric.name": "hits", "spec.metrics.1.resource.target.averageUtilization": 70.0})
	patch := `{"spec":{"targetCPUUtilizationPercentage":75}}`
	if r := h.Send(http.MethodPatch, v1+"/web", "application/merge-patch+json", []byte(patch)); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	before := same(v2+"/web", "autoscaling/v2", map[string]any{"spec.metrics.1.resource.target.averageUtilization": 75.0, "metadata.annotations": nil})
	if r := h.Send(http.MethodPatch, v1+"/web", "application/merge-patch+json", []byte(patch)); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	same(v2+"/web", "autoscaling/v2", map[string]any{"metadata.resourceVersion": before.Field(t, "metadata.resourceVersion")})

	status := `{"status":{"desiredReplicas":2,"conditions":[{"type":"AbleToScale","status":"True"}]}}`
	if r := h.Send(http.MethodPatch, beta+"/web/status", "application/merge-patch+json", []byte(status)); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	r := same(v1+"/web", "autoscaling/v1", map[string]any{"status.desiredReplicas": 2.0})
	kept := r.Field(t, "metadata.annotations").(map[string]any)
	if !strings.Contains(kept["autoscaling.alpha.kubernetes.io/conditions"].(string), "AbleToScale") {
		t.Errorf("conditions are not kept: %v", kept)
	}
	var versions []string
	for _, e := range r.Field(t, "metadata.managedFields").([]any) {
		versions = append(versions, e.(map[string]any)["apiVersion"].(string))
	}
	slices.Sort(versions)
	if got := strings.Join(versions, " "); got != "autoscaling/v1 autoscaling/v2 autoscaling/v2beta2" {
		t.Errorf("managers wrote in %s", got)
	}
	if r := h.Post(v1, `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"web"},"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"K","name":"n"}}}`); r.Code != http.StatusConflict {
		t.Errorf("a second one: %d %s", r.Code, r.Body)
	}
	if r := h.Post(v1, `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"bad"},"spec":{"maxReplicas":1,"targetCPUUtilizationPercentage":0,"scaleTargetRef":{"kind":"K","name":"n"}}}`); r.Code != http.StatusUnprocessableEntity || r.Field(t, "details.causes.0.field") != "spec.metrics[0].resource.target.averageUtilization" {
		t.Errorf("no use: %d %s", r.Code, r.Body)
	}
	if r := h.Send(http.MethodDelete, v1+"/web", "", nil); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if r := h.Get(v2 + "/web"); r.Code != http.StatusNotFound {
		t.Errorf("after its deletion: %d", r.Code)
	}
}

// A manager continues in another version and leaves out a field that has another form and
// a default there: the value stays, since there is one without the field too.
func TestApplyInAnotherVersionKeepsWhatHasADefault(t *testing.T) {
	h := harness.Start(t, nil)
	const spec = "kind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec:\n  maxReplicas: 5\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}\n"
	apply := func(version, more string) harness.Reply {
		t.Helper()
		r := h.Send(http.MethodPatch, "/apis/"+version+harness.Autoscalers+"/h?fieldManager=m", harness.ApplyMedia, []byte("apiVersion: "+version+"\n"+spec+more))
		if r.Code >= 300 {
			t.Fatalf("%d %s", r.Code, r.Body)
		}
		return r
	}
	use := func(r harness.Reply) any {
		return r.Field(t, "spec.metrics.0.resource.target.averageUtilization")
	}
	apply("autoscaling/v1", "  targetCPUUtilizationPercentage: 50\n")
	if got := use(apply("autoscaling/v2", "")); got != 50.0 {
		t.Errorf("in the other version it is %v", got)
	}
	metric := "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 40}}}]\n"
	apply("autoscaling/v2", metric)
	if got := use(apply("autoscaling/v2", "")); got != 80.0 {
		t.Errorf("left out in the same version it is %v", got)
	}
	apply("autoscaling/v2", metric)
	if got := apply("autoscaling/v1", "").Field(t, "spec.targetCPUUtilizationPercentage"); got != 40.0 {
		t.Errorf("back in v1 it is %v", got)
	}
}

// Lists, tables, the binary form and watches are in the requested version, with warnings
// for deprecated ones, found or not.
func TestRepresentationsInSeveralVersions(t *testing.T) {
	h := harness.Start(t, nil)
	if r := h.Post("/apis/autoscaling/v2"+harness.Autoscalers, harness.AutoscalerV2); r.Code != http.StatusCreated {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	for version, field := range map[string]string{"v1": "items.0.spec.targetCPUUtilizationPercentage", "v2": "items.0.spec.metrics.1.resource.target.averageUtilization", "v2beta2": "items.0.spec.metrics.1.resource.target.averageUtilization"} {
		list := h.Get("/apis/autoscaling/" + version + harness.Autoscalers)
		if list.Field(t, "apiVersion") != "autoscaling/"+version || list.Field(t, field) != 60.0 || list.Field(t, "items.0.kind") != nil {
			t.Errorf("%s: %s", version, list.Body)
		}
		table := h.Send(http.MethodGet, "/apis/autoscaling/"+version+harness.Autoscalers+"?includeObject=Object", "", nil, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		if table.Field(t, "rows.0.cells.2") != "<unknown>/10, <unknown>/60%" || table.Field(t, "rows.0.object.apiVersion") != "autoscaling/"+version {
			t.Errorf("%s: %s", version, table.Body)
		}
		binary := h.Send(http.MethodGet, "/apis/autoscaling/"+version+harness.Autoscalers, "", nil, "Accept", "application/vnd.kubernetes.protobuf")
		if !strings.HasPrefix(string(binary.Body), "k8s\x00") || !strings.Contains(string(binary.Body), "autoscaling/"+version) {
			t.Errorf("%s: %q", version, binary.Body)
		}
	}
	warning := `299 - "autoscaling/v2beta2 HorizontalPodAutoscaler is deprecated in v1.23+, unavailable in v1.26+; use autoscaling/v2 HorizontalPodAutoscaler"`
	for _, name := range []string{"web", "missing"} {
		if got := h.Get("/apis/autoscaling/v2beta2" + harness.Autoscalers + "/" + name).Header.Values("Warning"); len(got) != 1 || got[0] != warning {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
	if got := h.Get("/apis/autoscaling/v2" + harness.Autoscalers).Header.Values("Warning"); len(got) != 0 {
		t.Errorf("warnings %q", got)
	}
}

// Watchers of several versions see the same change, each in its own.
func TestWatchesInSeveralVersions(t *testing.T) {
	h := harness.Start(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	open := func(version string) *bufio.Scanner {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+"/apis/autoscaling/"+version+"/horizontalpodautoscalers?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
		resp, err := h.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return bufio.NewScanner(resp.Body)
	}
	watches := map[string]*bufio.Scanner{"v1": open("v1"), "v2": open("v2"), "v2beta2": open("v2beta2")}
	if r := h.Post("/apis/autoscaling/v2"+harness.Autoscalers, harness.AutoscalerV2); r.Code != http.StatusCreated {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if r := h.Send(http.MethodDelete, "/apis/autoscaling/v1"+harness.Autoscalers+"/web", "", nil); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	for version, lines := range watches {
		for _, event := range []string{"ADDED", "DELETED"} {
			if !lines.Scan() {
				t.Fatalf("%s ended: %v", version, lines.Err())
			}
			var e struct {
				Type   string
				Object struct {
					APIVersion string
					Spec       map[string]any
				}
			}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			if _, old := e.Object.Spec["targetCPUUtilizationPercentage"]; e.Type != event || e.Object.APIVersion != "autoscaling/"+version || old != (version == "v1") {
				t.Errorf("%s: %s", version, lines.Bytes())
			}
		}
	}
}

// Events are one kind in two groups, with other names for their fields.
func TestEventsInTwoGroups(t *testing.T) {
	h := harness.Start(t, nil)
	core, events := "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
	if r := h.Post(core, `{"kind":"Event","apiVersion":"v1","metadata":{"name":"a"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"message":"hello","count":3}`); r.Code != http.StatusCreated {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if r := h.Get(events + "/a"); r.Field(t, "note") != "hello" || r.Field(t, "deprecatedCount") != 3.0 || r.Field(t, "message") != nil {
		t.Errorf("%s", r.Body)
	}
	for selector, want := range map[string]int{"regarding.kind%3DPod": 1, "regarding.kind%3DNode": 0, "reportingController%3D": 1, "metadata.name%3Da": 1} {
		if r := h.Get(events + "?fieldSelector=" + selector); r.Code != http.StatusOK || len(r.Field(t, "items").([]any)) != want {
			t.Errorf("%s: %s", selector, r.Body)
		}
	}
	if r := h.Get(events + "?fieldSelector=involvedObject.kind%3DPod"); r.Code != http.StatusBadRequest {
		t.Errorf("a field of the other group: %d", r.Code)
	}
	wrong := h.Post(events, `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"b"},"regarding":{"namespace":"default"},"type":"Odd","deprecatedCount":1}`)
	if wrong.Code != http.StatusUnprocessableEntity || wrong.Field(t, "details.causes.0.field") != "eventTime" || wrong.Field(t, "details.causes.1.field") != "type" || wrong.Field(t, "details.causes.2.field") != "count" {
		t.Errorf("%d %s", wrong.Code, wrong.Body)
	}
	if r := h.Send(http.MethodPatch, events+"/a", "application/merge-patch+json", []byte(`{"note":"other"}`)); r.Code != http.StatusUnprocessableEntity || r.Field(t, "details.causes.0.field") != "message" {
		t.Errorf("an update: %d %s", r.Code, r.Body)
	}
	if r := h.Get(events + "/zz"); r.Code != http.StatusNotFound || r.Field(t, "details.group") != "events.k8s.io" {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	if r := h.Send(http.MethodDelete, events, "", nil); r.Code != http.StatusOK {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if r := h.Get(core); len(r.Field(t, "items").([]any)) != 0 {
		t.Errorf("%s", r.Body)
	}
}

// The rules of the schema hold for an object sent in any version.
func TestRulesInAnotherVersion(t *testing.T) {
	h := harness.Start(t, nil)
	levels := "/apis/flowcontrol.apiserver.k8s.io/v1beta1/prioritylevelconfigurations"
	h.Run(t, []harness.Step{
		{"create", "POST", levels, "", `{"metadata":{"name":"a"},"spec":{"type":"Limited","limited":{"assuredConcurrencyShares":-1,"limitResponse":{"type":"Reject"}}}}`, 422, "spec.limited.assuredConcurrencyShares"},
		{"right", "POST", levels, "", `{"metadata":{"name":"a"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}}`, 201, ""},
		{"update", "PATCH", levels + "/a", harness.MergePatchMedia, `{"spec":{"limited":{"assuredConcurrencyShares":-1}}}`, 422, "spec.limited.assuredConcurrencyShares"},
	})
}

// Versions that are off are not found, not discovered and not described, but may still be
// storage versions.
func TestVersionsThatAreOff(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = []string{"autoscaling/v2=false"} })
	v1 := "/apis/autoscaling/v1" + harness.Autoscalers
	if r := h.Post(v1, `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"web"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"K","name":"n"}}}`); r.Code != http.StatusCreated {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if r := h.Get("/apis/autoscaling/v2" + harness.Autoscalers); r.Code != http.StatusNotFound || r.Field(t, "kind") != "Status" {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	if r := h.Get("/apis/autoscaling"); r.Field(t, "preferredVersion.version") != "v1" || len(r.Field(t, "versions").([]any)) != 2 {
		t.Errorf("%s", r.Body)
	}
	for _, path := range []string{"/apis/autoscaling/v2", "/apis/networking.k8s.io/v1alpha1", "/openapi/v3/apis/autoscaling/v2", "/openapi/v3/apis/networking.k8s.io/v1alpha1"} {
		if r := h.Get(path); r.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Code)
		}
	}
	if r := h.Get("/openapi/v3"); strings.Contains(string(r.Body), "autoscaling/v2\"") || !strings.Contains(string(r.Body), "autoscaling/v1\"") {
		t.Errorf("%s", r.Body)
	}
}

func TestAlphaVersionsCanBeTurnedOn(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = []string{"api/alpha"} })
	cidrs := "/apis/networking.k8s.io/v1alpha1/clustercidrs"
	if r := h.Post(cidrs, `{"kind":"ClusterCIDR","metadata":{"name":"a"},"spec":{"perNodeHostBits":8,"ipv4":"10.0.0.0/16"}}`); r.Code != http.StatusCreated {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	if r := h.Post(cidrs, `{"kind":"ClusterCIDR","metadata":{"name":"b"},"spec":{"perNodeHostBits":17,"ipv4":"10.0.0.0/16","ipv6":"10.0.0.0/8"}}`); r.Code != http.StatusUnprocessableEntity || r.Field(t, "details.causes.0.field") != "spec.perNodeHostBits" || r.Field(t, "details.causes.1.field") != "spec.ipv6" {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	versions := "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
	if r := h.Post(versions, `{"kind":"StorageVersion","metadata":{"name":"apps.deployments"},"spec":{}}`); r.Code != http.StatusCreated {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	status := `{"status":{"storageVersions":[{"apiServerID":"s","encodingVersion":"apps/v1","decodableVersions":["apps/v2"]}]}}`
	if r := h.Send(http.MethodPatch, versions+"/apps.deployments/status", "application/merge-patch+json", []byte(status)); r.Code != http.StatusUnprocessableEntity || len(r.Field(t, "details.causes").([]any)) != 2 {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

// An entry of managedFields in the core group's version is forgotten by a write through a
// version of another group, and the reverse, as in 1.25.
func TestManagersOfEventVersions(t *testing.T) {
	h := harness.Start(t, nil)
	core, events := "/api/v1/namespaces/default/events/e", "/apis/events.k8s.io/v1/namespaces/default/events/e"
	const note = `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"regarding":{"namespace":"default"},"eventTime":"2020-01-01T00:00:00.000000Z","reportingController":"example.com/r","reportingInstance":"i","action":"a","reason":"r","type":"Normal"}`
	apply := func(path, body, manager string) harness.Reply {
		return h.Send("PATCH", path+"?force=true&fieldManager="+manager, "application/apply-patch+yaml", []byte(body))
	}
	apply(events, note, "one").Expect(t, 201, "")
	for _, c := range []struct{ path, body, keeps string }{
		{core, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"message":"m"}`, "v1"},
		{events, note, "events.k8s.io/v1"},
	} {
		r := apply(c.path, c.body, "by-"+c.keeps[:1])
		r.Expect(t, 200, "")
		if got, n := r.Field(t, "metadata.managedFields.0.apiVersion"), strings.Count(string(r.Body), `"fieldsType"`); got != c.keeps || n != 1 {
			t.Errorf("%s: %d entries, the first in %v", c.path, n, got)
		}
	}
}

// Targets of metrics keep the values only that v1 has for them, whichever version they are
// sent in, and have the type of these.
func TestAutoscalerTargets(t *testing.T) {
	h := harness.Start(t, nil)
	for i, c := range []struct{ metric, want string }{
		{`"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1","averageUtilization":4,"value":"2"}}`, `"target":{"type":"AverageValue","averageValue":"1"}`},
		{`"type":"Object","object":{"metric":{"name":"m"},"describedObject":{"kind":"a","name":"b"},"target":{"type":"Value","value":"2","averageUtilization":4}}`, `"target":{"type":"Value","value":"2"}`},
		{`"type":"External","external":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1","averageUtilization":4}}`, `"target":{"type":"AverageValue","averageValue":"1"}`},
		{`"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"4","value":"1"}}`, `"target":{"type":"AverageValue","averageValue":"4"}`},
	} {
		h.Run(t, []harness.Step{{c.metric, "POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "",
			fmt.Sprintf(`{"metadata":{"name":"a%d"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d"},"metrics":[{%s}]}}`, i, c.metric), 201, c.want}})
	}
}
