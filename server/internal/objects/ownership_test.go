package objects_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Sent fields are owned, and so are defaults that depend on other fields; not the fields
// that the endpoint does not write, nor those that the server sets.
func TestOwnedFields(t *testing.T) {
	h := harness.Start(t, nil)
	const pods = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
	for i, c := range []struct{ name, path, body, owned string }{
		{"empty list that is always written", "/apis/storage.k8s.io/v1/csinodes", `"spec":{"drivers":[]}`, `{"f:spec":{"f:drivers":{}}}`},
		{"nothing in its place", "/apis/storage.k8s.io/v1/csinodes", `"spec":{"drivers":null}`, `null`},
		{"any JSON", "/apis/apps/v1/namespaces/default/controllerrevisions", `"data":{"spec":{"x":1}},"revision":1`, `{"f:data":{},"f:revision":{}}`},
		{"labels of the template", "/apis/batch/v1/namespaces/default/jobs", `"spec":{` + pods + `}`, `"f:metadata":{"f:labels":{".":{},"f:a":{}}}`},
		{"count of templates", "/apis/apps/v1/namespaces/default/daemonsets", `"spec":{"selector":{"matchLabels":{"a":"b"}},` + strings.Replace(pods, "Never", "Always", 1) + `}`,
			`"f:metadata":{"f:annotations":{".":{},"f:deprecated.daemonset.template.generation":{}}}`},
		{"usual target", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", `"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d"}}`, `"f:targetCPUUtilizationPercentage":{}`},
		{"what the server sets", "/apis/storage.k8s.io/v1/csidrivers", `"metadata":{"name":"d","uid":"u","labels":{"a":"b"},"deletionTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":5}`, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}`},
		{"what the server sets, in another version", "/apis/storage.k8s.io/v1beta1/namespaces/default/csistoragecapacities", `"metadata":{"name":"d","labels":{"a":"b"},"deletionGracePeriodSeconds":5},"storageClassName":"s"`, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}`},
		{"status of a node", "/api/v1/nodes", `"metadata":{"name":"n","labels":{"a":"b"}},"status":{"phase":"Running"}`, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.HasPrefix(c.body, `"metadata"`) {
				c.body = fmt.Sprintf(`"metadata":{"name":"x%d"},`, i) + c.body
			}
			got := h.Post(c.path, "{"+c.body+"}")
			if owned, _ := json.Marshal(got.Field(t, "metadata.managedFields.0.fieldsV1")); !strings.Contains(string(owned), c.owned) {
				t.Errorf("%s is owned, want %s", owned, c.owned)
			}
		})
	}
}

// Labels that a job has from its template are those that the server adds too; the
// author's stay as they are.
func TestLabelsOfJobs(t *testing.T) {
	h := harness.Start(t, nil)
	for labels, want := range map[string]int{`{}`: 3, `{"a":"b"}`: 1} {
		got := h.Post("/apis/batch/v1/namespaces/default/jobs", `{"metadata":{"generateName":"j-","labels":`+labels+`},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)
		if have, _ := got.Field(t, "metadata.labels").(map[string]any); len(have) != want {
			t.Errorf("%s became %v", labels, have)
		}
	}
}

// An update must name its object, unless it is an applied configuration of an existing
// one.
func TestNamesThatAreLost(t *testing.T) {
	h := harness.Start(t, nil)
	path, merge, jsonPatch, apply := harness.ConfigMaps+"/a", "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"a"}}`, 201, ""},
		{"put", "PUT", path, "", `{"data":{"k":"v"}}`, 400, "has to be a"},
		{"merge patch", "PATCH", path, merge, `{"metadata":{"name":null}}`, 400, "has to be a"},
		{"JSON patch", "PATCH", path, jsonPatch, `[{"op":"remove","path":"/metadata/name"}]`, 400, "has to be a"},
		{"apply", "PATCH", path + "?fieldManager=m", apply, `{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"w"}}`, 200, `"k":"w"`},
		{"apply nothing that is there", "PATCH", harness.ConfigMaps + "/b?fieldManager=m", apply, `{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"w"}}`, 400, "has to be b"},
	})
}

// Permitted values of the server's metadata in an update.
func TestMetadataOfUpdates(t *testing.T) {
	h := harness.Start(t, nil)
	path, merge, jsonPatch, strategic := harness.ConfigMaps+"/a", "application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"
	lease := "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"a"}}`, 201, ""},
		{"another uid", "PATCH", path, merge, `{"metadata":{"uid":"x"}}`, 422, "metadata.uid"},
		{"another uid by PUT", "PUT", path, "", `{"metadata":{"name":"a","uid":"x"}}`, 409, "Precondition failed"},
		{"end", "PATCH", path, merge, `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`, 422, "metadata.deletionTimestamp"},
		{"grace", "PATCH", path, merge, `{"metadata":{"deletionGracePeriodSeconds":3}}`, 422, "metadata.deletionGracePeriodSeconds"},
		{"prefix", "PATCH", path, merge, `{"metadata":{"generateName":"g-"}}`, 200, `"generateName":"g-"`},
		{"wrong prefix", "PATCH", path, merge, `{"metadata":{"generateName":"G_"}}`, 422, "metadata.generateName"},
		{"birth", "PATCH", path, merge, `{"metadata":{"creationTimestamp":"2019-01-01T00:00:00Z","generation":3}}`, 200, ""},
		{"no version", "PATCH", path, jsonPatch, `[{"op":"remove","path":"/apiVersion"}]`, 400, "has to stay v1"},
		{"no version, merged", "PATCH", path, merge, `{"apiVersion":null}`, 400, "has to stay v1"},
		{"no version, strategic", "PATCH", path, strategic, `{"apiVersion":null}`, 200, ""},
		{"no version of another kind", "PATCH", path, merge, `{"apiVersion":null,"kind":"Pod"}`, 422, "Pod"},
		{"no version of what is no kind", "PATCH", path, merge, `{"apiVersion":null,"kind":5}`, 422, "patch"},
		{"an empty version", "PATCH", path, merge, `{"apiVersion":""}`, 400, "has to stay v1"},
		{"an empty place", "PATCH", path, merge, `{"metadata":{"ownerReferences":[null]}}`, 400, "no empty places"},
		{"an empty place, strategic", "PATCH", path, strategic, `{"metadata":{"managedFields":[null]}}`, 400, "no empty places"},
		{"an empty place, JSON", "PATCH", path, jsonPatch, `[{"op":"add","path":"/metadata/finalizers","value":[null]}]`, 400, "no empty places"},
		{"a large number", "PATCH", path, merge, `{"metadata":{"generation":9223372036854775808}}`, 422, "whole number"},
		{"a large number, strategic", "PATCH", path, strategic, `{"metadata":{"generation":9223372036854775808}}`, 400, "whole number"},
		{"another type, strategic", "PATCH", path, strategic, `{"metadata":{"generation":"x"}}`, 422, "patch"},
		{"no value", "PATCH", path, jsonPatch, `[{"op":"add","path":"/data"}]`, 200, ""},
		{"lease", "POST", lease, "", `{"metadata":{"name":"l"}}`, 201, ""},
		{"another lease", "PUT", lease + "/l", "", `{"metadata":{"name":"l","uid":"x"}}`, 409, "Precondition failed"},
		{"any lease", "PUT", lease + "/l", "", `{"metadata":{"name":"l"}}`, 422, "must be specified for an update"},
	})
}

// A PUT of the status keeps fields that it leaves out, and those outside of the status.
func TestPutOfTheStatus(t *testing.T) {
	h := harness.Start(t, nil)
	const pods = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"%s","containers":[{"name":"c","image":"i"}]}}`
	sets, jobs, services := "/apis/apps/v1/namespaces/default/daemonsets", "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/services"
	h.Run(t, []harness.Step{
		{"set", "POST", sets, "", `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},` + fmt.Sprintf(pods, "Always") + `}}`, 201, ""},
		{"count stays", "PUT", sets + "/a/status", "", `{"metadata":{"name":"a"},"status":{"numberReady":1}}`, 200, `"deprecated.daemonset.template.generation":"1"`},
		{"job", "POST", jobs, "", `{"metadata":{"name":"a"},"spec":{` + fmt.Sprintf(pods, "Never") + `}}`, 201, ""},
		{"conditions have one owner", "PATCH", jobs + "/a/status?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"status":{"conditions":[{"type":"Complete","status":"True"}]}}`, 200, `"fieldsV1":{"f:status":{"f:conditions":{}}},"subresource":"status"`},
		{"labels come back", "PUT", jobs + "/a/status", "", `{"metadata":{"name":"a"},"status":{"active":1}}`, 200, `"labels":{"a":"b","controller-uid"`},
		{"service", "POST", services, "", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`, 201, ""},
		{"addresses", "PATCH", services + "/a/status", "application/merge-patch+json", `{"status":{"loadBalancer":{"ingress":[{"ip":"9.9.9.9"}]}}}`, 200, "9.9.9.9"},
		{"no balancer", "PATCH", services + "/a", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, `"status":{"loadBalancer":{}}`},
	})
}

// A value without a field in a version is in an annotation there, which belongs to its
// author, and measurements have the values that the first version always has.
func TestOwnersOfWhatHooksConvert(t *testing.T) {
	h := harness.Start(t, nil)
	first, second, merge := "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "application/merge-patch+json"
	h.Run(t, []harness.Step{
		{"create", "POST", first, "", `{"metadata":{"name":"a"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d"}}}`, 201, ""},
		{"measured", "PATCH", first + "/a/status", merge, `{"status":{"currentCPUUtilizationPercentage":5}}`, 200,
			`{"f:metadata":{"f:annotations":{".":{},"f:autoscaling.alpha.kubernetes.io/current-metrics":{}}},"f:status":{"f:currentCPUUtilizationPercentage":{}}}`},
		{"the annotation", "GET", first + "/a", "", "", 200, `\"currentAverageUtilization\":5,\"currentAverageValue\":\"0\"`},
		{"the measurement", "GET", second + "/a", "", "", 200, `"current":{"averageValue":"0","averageUtilization":5}`},
		{"in the other version", "PATCH", second + "/a/status", merge, `{"status":{"currentMetrics":[{"type":"Pods","pods":{"metric":{"name":"m"},"current":{"value":"3"}}}]}}`, 200, `"current":{"averageValue":"0"}`},
		{"gone", "PATCH", first + "/a", merge, `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Pods\",\"pods\":{\"metricName\":\"m\",\"targetAverageValue\":\"1\"}}]"}},"spec":{"targetCPUUtilizationPercentage":null}}`, 200,
			`"f:annotations":{"f:autoscaling.alpha.kubernetes.io/metrics":{}}`},
	})
}

// The manager of a scale owns the replicas, without a time.
func TestOwnerOfReplicas(t *testing.T) {
	h := harness.Start(t, nil)
	path := "/apis/apps/v1/namespaces/default/deployments"
	h.Run(t, []harness.Step{
		{"create", "POST", path, "", `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201, ""},
		{"applied without replicas", "PATCH", path + "/b?fieldManager=x", harness.ApplyMedia, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201, ""},
		{"scaled", "PATCH", path + "/b/scale?fieldManager=m", "application/merge-patch+json", `{"spec":{"replicas":3}}`, 200, ""},
		{"scale", "PATCH", path + "/a/scale?fieldManager=m", "application/merge-patch+json", `{"spec":{"replicas":3}}`, 200, ""},
		{"owner", "GET", path + "/a", "", "", 200, `{"manager":"m","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}`},
		{"applied scale", "PATCH", path + "/a/scale?fieldManager=n&force=true", harness.ApplyMedia, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":4}}`, 200, ""},
		{"its owner", "GET", path + "/a", "", "", 200, `"managedFields":[{"manager":"n","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}`},
		{"labels of a scale", "PATCH", path + "/a/scale?fieldManager=o", harness.ApplyMedia, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","labels":{"x":"y"}}}`, 200, ""},
		{"which are nobody's", "GET", path + "/a", "", "", 200, `"managedFields":[{"manager":"n","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"},{"manager":"capstan-test"`},
		{"scale again", "PATCH", path + "/a/scale?fieldManager=m", "application/merge-patch+json", `{"spec":{"replicas":3}}`, 200, ""},
		{"scale to 0", "PATCH", path + "/a/scale?fieldManager=m", "application/merge-patch+json", `{"spec":{"replicas":0}}`, 200, ""},
	})
	for _, name := range []string{"/a", "/b"} { // 0 replicas, and those that nobody owned before
		if got := h.Get(path + name); strings.Contains(string(got.Body), `"f:replicas"`) {
			t.Errorf("the replicas are owned: %s", got.Body)
		}
	}
}
