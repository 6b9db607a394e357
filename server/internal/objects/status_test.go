package objects_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const deployments = "/apis/apps/v1/namespaces/default/deployments"

// The metadata that the status endpoint writes differs by kind, and so do the fields that
// make a new generation.
func TestMetadataByTheStatusEndpoint(t *testing.T) {
	h := harness.Start(t, nil)
	const spec = `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`
	const change = `{"metadata":{"labels":{"l":"1"},"annotations":{"n":"1"},"finalizers":["x.y/z"],"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`
	for _, c := range []struct{ name, collection, body, kept string }{
		{"pod", harness.PodsPath, harness.PodBody, "ownerReferences"},
		{"deployment", deployments, `{"metadata":{"name":"p"},` + spec + `}`, "labels"},
		{"replica set", "/apis/apps/v1/namespaces/default/replicasets", `{"metadata":{"name":"p"},` + spec + `}`, ""},
		{"attachment", "/apis/storage.k8s.io/v1/volumeattachments", `{"metadata":{"name":"p"},"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"v"}}}`,
			"labels annotations finalizers ownerReferences"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.Post(c.collection, c.body).Expect(t, http.StatusCreated, "")
			before := h.Get(c.collection+"/p").Field(t, "metadata").(map[string]any)
			got := h.Send("PATCH", c.collection+"/p/status?fieldManager=status", harness.MergePatchMedia, []byte(change))
			got.Expect(t, http.StatusOK, "")
			after := got.Field(t, "metadata").(map[string]any)
			for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
				text := string(got.Body)
				changed := fmt.Sprint(before[field]) != fmt.Sprint(after[field])
				if kept := strings.Contains(c.kept, field); changed == kept {
					t.Errorf("%s: %v before, %v after", field, before[field], after[field])
				}
				if owned := strings.Contains(text, `"f:`+field+`"`) && strings.Contains(text, `"manager":"status"`); owned && c.name == "attachment" {
					t.Errorf("the status endpoint owns %s: %s", field, text)
				}
			}
			if after["generation"] != before["generation"] {
				t.Errorf("the generation went from %v to %v", before["generation"], after["generation"])
			}
		})
	}
	h.Run(t, []harness.Step{
		{"terminating", "DELETE", harness.PodsPath + "/p?gracePeriodSeconds=0", "", "", 200, `"deletionTimestamp"`},
		{"the last finalizer", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, `{"metadata":{"finalizers":null}}`, 200, ""},
		{"gone", "GET", harness.PodsPath + "/p", "", "", 404, ""},
	})
}

func TestMetadataThatIsANewGeneration(t *testing.T) {
	h := harness.Start(t, nil)
	const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	h.Run(t, []harness.Step{
		{"deployment", "POST", deployments, "", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201, `"generation":1`},
		{"labels", "PATCH", deployments + "/d", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200, `"generation":1`},
		{"annotations", "PATCH", deployments + "/d", harness.MergePatchMedia, `{"metadata":{"annotations":{"a":"b"}}}`, 200, `"generation":2`},
		{"both", "PATCH", deployments + "/d", harness.MergePatchMedia, `{"metadata":{"annotations":{"a":"c"}},"spec":{"replicas":4}}`, 200, `"generation":3`},
		{"by the status", "PATCH", deployments + "/d/status", harness.MergePatchMedia, `{"metadata":{"annotations":{"a":"d"}}}`, 200, `"generation":3`},
		{"slice", "POST", slices, "", `{"metadata":{"name":"s","labels":{"a":"b"}},"addressType":"IPv4","endpoints":[]}`, 201, `"generation":1`},
		{"its annotations", "PATCH", slices + "/s", harness.MergePatchMedia, `{"metadata":{"annotations":{"a":"b"}}}`, 200, `"generation":1`},
		{"its labels", "PATCH", slices + "/s", harness.MergePatchMedia, `{"metadata":{"labels":null}}`, 200, `"generation":2`},
		{"counted by nobody", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"g","generation":5}}`, 201, `"generation":5`},
		{"counted down", "PATCH", harness.ConfigMaps + "/g", harness.MergePatchMedia, `{"metadata":{"generation":2},"data":{"a":"b"}}`, 200, `"generation":5`},
		{"pod of a later release", "POST", harness.PodsPath, "", `{"metadata":{"name":"later","generation":1},"spec":{"containers":[{"name":"c","image":"i"}]}}`, 201, `"generation":1`},
		{"its end", "DELETE", harness.PodsPath + "/later", "", "", 200, `"generation":2`},
		{"negative", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"n","generation":-1}}`, 422, `"metadata.generation"`},
	})
}

// Other fields of an object stay when its status is replaced.
func TestStatusKeepsWhatIsNotItsOwn(t *testing.T) {
	h := harness.Start(t, nil)
	const sets, jobs = "/apis/apps/v1/namespaces/default/daemonsets", "/apis/batch/v1/namespaces/default/jobs"
	pods := func(policy string) string {
		return `"template":{"metadata":{"labels":{"a":"b"}},"spec":{` + policy + `"containers":[{"name":"c","image":"i"}]}}`
	}
	h.Run(t, []harness.Step{
		{"set", "POST", sets, "", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},` + pods("") + `}}`, 201, `template.generation":"1"`},
		{"its status", "PUT", sets + "/d/status", "", `{"metadata":{"name":"d"},"status":{"numberReady":1}}`, 200, `template.generation":"1"`},
		{"job", "POST", jobs, "", `{"metadata":{"name":"j"},"spec":{` + pods(`"restartPolicy":"Never",`) + `}}`, 201, `"labels":{"a":"b"`},
		{"its status", "PUT", jobs + "/j/status", "", `{"metadata":{"name":"j"},"status":{"active":1}}`, 200, `"labels":{"a":"b"`},
	})
}

// The documents decide how often a mistake is reported.
func TestMistakesAreReportedAsOftenAsTheKindChecks(t *testing.T) {
	h := harness.Start(t, nil)
	const capacities, roles = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
	told := func(r harness.Reply, field string) int { return strings.Count(string(r.Body), `"field":"`+field) }
	if r := h.Post(capacities, `{"metadata":{"name":"c"},"storageClassName":"A"}`); told(r, "storageClassName") != 2 {
		t.Errorf("%s", r.Body)
	}
	h.Post(roles, `{"metadata":{"name":"r"}}`).Expect(t, 201, "")
	if r := h.Send("PATCH", roles+"/r", harness.MergePatchMedia, []byte(`{"rules":[{}]}`)); told(r, "rules[0].verbs") != 2 {
		t.Errorf("%s", r.Body)
	}
}

// Large answers are compressed if the client accepts it.
func TestWhoGetsGzip(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.ConfigMaps, harness.ConfigMap("large", `{"a":"`+strings.Repeat("x", 200<<10)+`"}`)).Expect(t, 201, "")
	for accept, want := range map[string]string{"gzip": "gzip", "deflate, gzip;q=1.0": "gzip", "GZIP ; q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0.000, br": "", "br": "", "xgzip": "", "identity": ""} {
		if r := h.Send("GET", harness.ConfigMaps+"/large", "", nil, "Accept-Encoding", accept); r.Code != 200 || r.Header.Get("Content-Encoding") != want {
			t.Errorf("%s: %d %q", accept, r.Code, r.Header.Get("Content-Encoding"))
		}
	}
}
