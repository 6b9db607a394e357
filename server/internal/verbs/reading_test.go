package verbs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Invalid parameters are refused by every endpoint that reads them.
func TestParametersAreChecked(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	const object, none = harness.ConfigMaps + "/a", harness.ConfigMaps + "?labelSelector=none"
	h.Run(t, []harness.Step{
		{"timeout of a list", "GET", harness.ConfigMaps + "?timeout=abc", "", "", 400, "invalid timeout specified in the request URL"},
		{"timeout of a get", "GET", object + "?timeout=1", "", "", 400, "invalid timeout"},
		{"timeout of a delete", "DELETE", object + "?timeout=abc", "", "", 400, "invalid timeout"},
		{"timeout of health", "GET", "/livez?timeout=abc", "", "", 400, "invalid timeout"},
		{"timeout of nothing", "GET", "/nothing?timeout=abc", "", "", 400, "invalid timeout"},
		{"a timeout", "GET", harness.ConfigMaps + "?timeout=5s", "", "", 200, "ConfigMapList"},
		{"a short timeout", "GET", harness.ConfigMaps + "?resourceVersion=999999&resourceVersionMatch=NotOlderThan&timeout=1ms", "", "", 504, "Timeout"},
		{"a negative timeout", "GET", harness.ConfigMaps + "?timeout=-5s", "", "", 200, "ConfigMapList"},
		{"export", "GET", object + "?export=true", "", "", 400, "the export parameter"},
		{"export of nothing", "GET", harness.ConfigMaps + "/none?export", "", "", 400, "the export parameter"},
		{"no export", "GET", object + "?export=false", "", "", 200, `"ConfigMap"`},
		{"an empty limit", "GET", harness.ConfigMaps + "?limit=", "", "", 400, "limit"},
		{"an empty timeoutSeconds", "GET", harness.ConfigMaps + "?timeoutSeconds=", "", "", 400, "timeoutSeconds"},
		{"an empty grace period", "DELETE", object + "?gracePeriodSeconds=", "", "", 400, "gracePeriodSeconds"},
		{"an empty policy", "DELETE", object + "?propagationPolicy=", "", "", 422, "propagationPolicy"},
		{"a field selector that says nothing", "GET", harness.ConfigMaps + "?fieldSelector=%3D,metadata.name%3Da", "", "", 200, `"name":"a"`},
		{"a field selector without a field", "GET", harness.ConfigMaps + "?fieldSelector=%3Da", "", "", 400, "is not a known field selector: only"},
		{"the match goes before fields", "GET", harness.ConfigMaps + "?fieldSelector=no%3Dx&resourceVersionMatch=Exact", "", "", 422, "resourceVersionMatch"},
		{"the match of a watch too", "GET", harness.ConfigMaps + "?watch=1&fieldSelector=no%3Dx&resourceVersionMatch=Exact", "", "", 422, "resourceVersionMatch"},
		{"labels go before the match", "GET", harness.ConfigMaps + "?labelSelector=%3D&resourceVersionMatch=Exact", "", "", 400, "unable to parse"},
		{"list options go before delete options", "DELETE", harness.ConfigMaps + "?labelSelector=%3D", "", `{"dryRun":["x"]}`, 400, "unable to parse"},
		{"a precondition in the query", "DELETE", object + "?uid=x", "", "", 409, "the UID in the precondition (x) does not match"},
		{"on a version in the query", "DELETE", object + "?resourceVersion=1", "", "", 409, "the ResourceVersion in the precondition (1)"},
		{"of a collection too", "DELETE", harness.ConfigMaps + "?resourceVersion=0", "", "", 409, "the ResourceVersion in the precondition (0)"},
		{"of a namespace", "DELETE", "/api/v1/namespaces/default?uid=x", "", "", 403, "default"},
		{"of another namespace", "DELETE", "/api/v1/namespaces/kube-node-lease?uid=x", "", "", 409, `"kind":"namespaces"`},
		{"an empty precondition", "DELETE", object, "", `{"preconditions":{"uid":""}}`, 409, "the UID in the precondition ()"},
		{"of a group", "DELETE", "/apis/storage.k8s.io/v1/csidrivers/none?uid=x", "", "", 404, "csidrivers"},
		{"dry run of a proxy", "POST", "/api/v1/nodes/none/proxy?dryRun=All", "", "", 400, "dryRun is not supported"},
		{"dry run of a command", "POST", "/api/v1/namespaces/default/pods/none/exec?dryRun=All", "", "", 400, "dryRun is not supported"},
		{"nothing happened", "GET", none[:strings.IndexByte(none, '?')], "", "", 200, `"name":"a"`},
	})
}

// A list of one object by its name is authorized like that object.
func TestAListByNameNamesTheObject(t *testing.T) {
	h := harness.Start(t, nil)
	for query, want := range map[string]string{"?fieldSelector=metadata.name%3Da": `"name":"a"`, "": `"details":{"kind":"configmaps"}`} {
		r := h.Send("GET", harness.ConfigMaps+query, "", nil, "Authorization", "Bearer bob-token")
		if r.Code != http.StatusForbidden || !strings.Contains(string(r.Body), want) {
			t.Errorf("%s: %d %s, want %s", query, r.Code, r.Body, want)
		}
	}
}

// The answer of a delete: 202 for a cascading one that is not finished, and the version
// that the object had.
func TestAnswersOfDeletes(t *testing.T) {
	h := harness.Start(t, nil)
	const services, jobs = "/api/v1/namespaces/default/services", "/apis/batch/v1/namespaces/default/jobs"
	h.Run(t, []harness.Step{
		{"held", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"a","finalizers":["example.com/x"]}}`, 201, ""},
		{"free", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"b"}}`, 201, ""},
		{"held is accepted", "DELETE", harness.ConfigMaps + "/a", "", `{"orphanDependents":false}`, 202, "deletionTimestamp"},
		{"so by the query", "DELETE", harness.ConfigMaps + "/a?orphanDependents=false", "", "", 202, "deletionTimestamp"},
		{"otherwise it is done", "DELETE", harness.ConfigMaps + "/a", "", "", 200, "deletionTimestamp"},
		{"free is gone", "DELETE", harness.ConfigMaps + "/b?orphanDependents=false", "", "", 200, "Success"},
		{"an event", "POST", "/api/v1/namespaces/default/events", "", `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`, 201, ""},
		{"which is of no group", "DELETE", "/apis/events.k8s.io/v1/namespaces/default/events/e?uid=x", "", "", 409, `"details":{"name":"e","kind":"Event"}`},
		{"a namespace", "POST", "/api/v1/namespaces", "", `{"metadata":{"name":"n"}}`, 201, ""},
		{"that waits for nobody", "PUT", "/api/v1/namespaces/n/finalize", "", `{"metadata":{"name":"n"},"spec":{}}`, 200, `"phase":"Active"`},
		{"terminates at first", "DELETE", "/api/v1/namespaces/n", "", "", 200, `"phase":"Terminating"`},
		{"and ends at the second", "DELETE", "/api/v1/namespaces/n", "", "", 200, "Success"},
	})
	service := h.Post(services, `{"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"x.example.com"}}`)
	want := service.Field(t, "metadata.resourceVersion")
	if got := h.Remove(services+"/s", "").Field(t, "metadata.resourceVersion"); got != want {
		t.Errorf("the deleted service is at %v, was at %v", got, want)
	}
	for _, path := range []string{jobs, jobs + "/none"} {
		if got := h.Remove(path, "").Header["Warning"]; len(got) != 1 || !strings.Contains(got[0], "child pods are preserved") {
			t.Errorf("delete of %s warns %q", path, got)
		}
	}
}

// A pod that is deleted at once is marked first, so that watchers see both; the answer is
// the mark.
func TestPodsAreMarkedBeforeTheyGo(t *testing.T) {
	h := harness.Start(t, nil)
	const pods = "/api/v1/namespaces/default/pods"
	h.Create(pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	h.Create(pods, `{"metadata":{"name":"b"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	w := h.Watch(pods + "?watch=1")
	w.Expect("ADDED a", "ADDED b")
	answer := h.Remove(pods+"/a", "").Field(t, "metadata.resourceVersion")
	if marked := w.Expect("MODIFIED a"); marked.Meta.Metadata.ResourceVersion != answer || !strings.Contains(string(marked.Object), `"deletionGracePeriodSeconds":0`) {
		t.Errorf("the answer is at %v, the mark is %s", answer, marked.Object)
	}
	w.Expect("DELETED a")
	h.Remove(pods+"/b", "").Expect(t, http.StatusOK, "")
	w.Expect("MODIFIED b") // it has 30 seconds
	h.Remove(pods+"/b", `{"gracePeriodSeconds":0}`).Expect(t, http.StatusOK, "")
	w.Expect("MODIFIED b", "DELETED b")

	h.Create(pods, `{"metadata":{"name":"c"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	for phase, done := range map[string]bool{"Running": false, "Failed": true} {
		h.MergePatch(pods+"/c/status", `{"status":{"phase":"`+phase+`"}}`)
		row := h.Send("GET", pods+"/c?includeObject=None", "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Body
		if got := strings.Contains(string(row), `"conditions":[{"type":"Completed","status":"True","reason":"`+phase); got != done {
			t.Errorf("the row of a pod that is %s: %s", phase, row)
		}
	}
}

// TestTableAfterDryRun: the row of a dry run's answer is not kept as that of the stored
// object.
func TestTableAfterDryRun(t *testing.T) {
	h := harness.Start(t, nil)
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	table := func(method, path, body string) string {
		t.Helper()
		kind := "application/json"
		if method == http.MethodPatch {
			kind = "application/merge-patch+json"
		}
		a := h.Send(method, path, kind, []byte(body), "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		a.Expect(t, http.StatusOK, "")
		return string(a.Body)
	}
	h.Create(claims, `{"metadata":{"name":"a","labels":{"shown":"yes"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	table(http.MethodPatch, claims+"/a?dryRun=All", `{"metadata":{"annotations":{"long":"`+strings.Repeat("x", 200)+`"}}}`)
	table(http.MethodDelete, claims+"/a?dryRun=All", "")
	for _, path := range []string{claims, claims + "/a"} {
		if got := table(http.MethodGet, path, ""); !strings.Contains(got, `"labels":{"shown":"yes"}`) || strings.Contains(got, "xxx") || strings.Contains(got, "deletionTimestamp") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestTableAges: the cells of a row are kept, but its ages grow.
func TestTableAges(t *testing.T) {
	c := &harness.Clock{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	h := harness.Start(t, func(cfg *server.Config) { cfg.Clock = c.Now })
	h.Create(pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	cells := func(want string) {
		t.Helper()
		if row := h.Send("GET", pods+"?includeObject=None", "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Body; !strings.Contains(string(row), `{"cells":["a",`+want+`,"<none>","<none>","<none>","<none>"],"object":null}`) {
			t.Errorf("want %s in %s", want, row)
		}
	}
	cells(`"0/1","Pending","0","0s"`)
	c.Pass(30 * time.Second)
	cells(`"0/1","Pending","0","30s"`)
	h.MergePatch(pods+"/a/status", `{"status":{"phase":"Running","containerStatuses":[{"name":"c","image":"i","imageID":"","ready":true,"restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-01T00:00:10Z"}}}]}}`)
	cells(`"1/1","Running","2 (20s ago)","30s"`)
	c.Pass(30 * time.Minute)
	cells(`"1/1","Running","2 (30m ago)","30m"`)
}

// Errors are never tables, nor are the answers to operations, whatever the request.
func TestRepresentationsOfErrorsAndOperations(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	const (
		meta               = ";g=meta.k8s.io;v=v1"
		table              = ";as=Table" + meta
		partial            = ";as=PartialObjectMetadata" + meta
		listed             = ";as=PartialObjectMetadataList" + meta
		jsonType, yamlType = "application/json", "application/yaml"
		reviews, old       = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/apis/storage.k8s.io/v1beta1/csistoragecapacities"
	)
	for _, c := range []struct {
		name, method, path, accept, body string
		code                             int
		media, want                      string
	}{
		{"a missing object as a table", "GET", harness.ConfigMaps + "/none", yamlType + table, "", 404, jsonType, "NotFound"},
		{"a missing object as YAML", "GET", harness.ConfigMaps + "/none", yamlType, "", 404, yamlType, "NotFound"},
		{"an unknown resource as YAML", "GET", "/api/v1/nothing", yamlType, "", 404, yamlType, "NotFound"},
		{"a missing object as a list", "GET", harness.ConfigMaps + "/none", jsonType + listed, "", 404, jsonType, "NotFound"},
		{"an object as a list", "GET", harness.ConfigMaps + "/a", jsonType + listed, "", 406, jsonType, "is not a list"},
		{"the version as YAML", "GET", "/version", "application/yaml", "", 406, "application/yaml", "NotAcceptable"},
		{"the version as anything", "GET", "/version", "text/html, */*;q=0.1", "", 200, jsonType, "gitVersion"},
		{"a list as an object", "GET", harness.ConfigMaps, jsonType + partial, "", 406, jsonType, "is a list"},
		{"a write as a list", "POST", harness.ConfigMaps, jsonType + listed, harness.ConfigMap("b", "{}"), 406, jsonType, "is not a list"},
		{"and nothing is written", "GET", harness.ConfigMaps + "/b", "", "", 404, jsonType, "NotFound"},
		{"deletes as an object", "DELETE", harness.ConfigMaps, jsonType + partial, "", 406, jsonType, "is a list"},
		{"and nothing is deleted", "GET", harness.ConfigMaps + "/a", jsonType + partial, "", 200, jsonType, `"name":"a"`},
		{"a delete is a Status", "DELETE", harness.ConfigMaps + "/a", jsonType + listed, "", 200, jsonType, `"Success"`},
		{"a review as a table", "POST", reviews, jsonType + table, `{"spec":{"resourceAttributes":{"verb":"get"}}}`, 406, jsonType, "NotAcceptable"},
		{"a review's metadata", "POST", reviews, jsonType + partial, `{"spec":{"resourceAttributes":{"verb":"get"}}}`, 201, jsonType, "PartialObjectMetadata"},
		{"a binding as a table", "POST", "/api/v1/namespaces/default/bindings", jsonType + table, "{}", 406, jsonType, "NotAcceptable"},
		{"a table of nothing", "GET", harness.ConfigMaps + "?labelSelector=none", jsonType + table, "", 200, jsonType, `"rows":[]`},
		{"a table without columns of its own", "GET", old, jsonType + table, "", 200, jsonType, `"rows":null`},
		{"metadata of nothing", "GET", harness.ConfigMaps + "?labelSelector=none", jsonType + listed, "", 200, jsonType, `"items":null`},
		{"the index looks at nothing", "GET", "/", "text/html", "", 200, jsonType, "paths"},
	} {
		r := h.Send(c.method, c.path, "application/json", []byte(c.body), "Accept", c.accept)
		if got := r.Header.Get("Content-Type"); r.Code != c.code || got != c.media || !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s: %d %s %s", c.name, r.Code, got, r.Body)
		}
	}
	// A request for an unknown representation gets no warning of the endpoint's
	// deprecation.
	for accept, warnings := range map[string]int{"text/csv": 0, jsonType + ";as=Picture" + meta: 1} {
		if r := h.Send("GET", old, "", nil, "Accept", accept); r.Code != http.StatusNotAcceptable || len(r.Header["Warning"]) != warnings {
			t.Errorf("%s: %d with the warnings %q", accept, r.Code, r.Header["Warning"])
		}
	}
	if r := h.Send("PATCH", old+"/none", "text/csv", []byte("{}")); r.Code != http.StatusNotFound && r.Code != http.StatusUnsupportedMediaType || len(r.Header["Warning"]) != 0 {
		t.Errorf("a patch of no kind: %d with the warnings %q", r.Code, r.Header["Warning"])
	}
}

// An event is selected by its source, which newer clients call the reporting component.
func TestSourceOfEvents(t *testing.T) {
	h := harness.Start(t, nil)
	const events = "/api/v1/namespaces/default/events"
	h.Create(events, `{"metadata":{"name":"old"},"involvedObject":{"namespace":"default"},"source":{"component":"watcher"},"reportingComponent":"other"}`)
	h.Create(events, `{"metadata":{"name":"new"},"involvedObject":{"namespace":"default"},"reportingComponent":"watcher"}`)
	for source, want := range map[string]string{"watcher": "default/new default/old", "other": ""} {
		if got := h.Get(events + "?fieldSelector=source%3D" + source).Names(t); got != want {
			t.Errorf("events of %s: %q, want %q", source, got, want)
		}
	}
}

// An event is deleted some time after its last write, whatever its finalizers; watchers
// see it. Other objects stay.
func TestEventsExpire(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EventTTL = 200 * time.Millisecond })
	const events = "/api/v1/namespaces/default/events"
	w := h.Watch("/apis/events.k8s.io/v1/events?watch=1")
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	h.Create(events, `{"metadata":{"name":"e","finalizers":["a.b/c"]},"involvedObject":{"namespace":"default"}}`)
	added := w.Expect("ADDED e").Meta.Metadata.ResourceVersion
	if last := w.Expect("DELETED e"); last.Meta.Metadata.ResourceVersion == added {
		t.Errorf("the last state is at the version before: %s", last.Object)
	}
	h.Get(events+"/e").Expect(t, http.StatusNotFound, "NotFound")
	h.Get(harness.ConfigMaps+"/a").Expect(t, http.StatusOK, "")
}

// The store is a component with a status; it is not a stored object.
func TestComponents(t *testing.T) {
	h := harness.Start(t, nil)
	const path, healthy = "/api/v1/componentstatuses", `"metadata":{"name":"etcd-0","creationTimestamp":null},"conditions":[{"type":"Healthy","status":"True"}]}`
	h.Run(t, []harness.Step{
		{"list", "GET", path, "", "", 200, `"metadata":{},"items":[{` + healthy + `]}`},
		{"page", "GET", path + "?limit=1&continue=x", "", "", 200, `"metadata":{},"items":[{` + healthy + `]}`},
		{"named", "GET", path + "?fieldSelector=metadata.name%3Detcd-0", "", "", 200, `"items":[{` + healthy + `]}`},
		{"others", "GET", path + "?labelSelector=a", "", "", 200, `"items":[]`},
		{"one", "GET", path + "/etcd-0", "", "", 200, `"apiVersion":"v1",` + healthy},
		{"another", "GET", path + "/x", "", "", 404, "NotFound"},
		{"watched", "GET", path + "?watch=1", "", "", 405, `watch is not supported on resources of kind \"componentstatuses\"`},
	})
	row := h.Send("GET", path, "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Body
	if !strings.Contains(string(row), `"cells":["etcd-0","Healthy","",""]`) {
		t.Errorf("%s", row)
	}
}
