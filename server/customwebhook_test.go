package server_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// conversionHook is a conversion webhook for gauges: v1 has spec.host and spec.port,
// v1beta1 has both in spec.address. v2 is v1 with another name for the port.
type conversionHook struct {
	*httptest.Server
	calls, objects atomic.Int64
	connections    atomic.Int64
	does           atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // before the answer; true instead of it
	alters         atomic.Pointer[func(review map[string]any)]                       // the answer
	version        atomic.Pointer[string]                                            // of the last review
}

func newConversionHook(t *testing.T) *conversionHook {
	t.Helper()
	h := &conversionHook{}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.EnableHTTP2 = true
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			h.connections.Add(1)
		case http.StateClosed:
			h.connections.Add(-1)
		}
	}
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

// caBundle is the authority of the webhook's certificate, as a definition has it.
func (h *conversionHook) caBundle() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
}

func (h *conversionHook) do(f func(w http.ResponseWriter, r *http.Request) bool) { h.does.Store(&f) }
func (h *conversionHook) alter(f func(review map[string]any))                    { h.alters.Store(&f) }
func (h *conversionHook) behave()                                                { h.does.Store(nil); h.alters.Store(nil) }

func (h *conversionHook) serve(w http.ResponseWriter, r *http.Request) {
	h.calls.Add(1)
	if do := h.does.Load(); do != nil && (*do)(w, r) {
		return
	}
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	version := review["apiVersion"].(string)
	h.version.Store(&version)
	request := review["request"].(map[string]any)
	var made []any
	for _, o := range request["objects"].([]any) {
		made = append(made, turned(o.(map[string]any), request["desiredAPIVersion"].(string)))
	}
	h.objects.Add(int64(len(made)))
	review["response"] = map[string]any{"uid": request["uid"], "convertedObjects": made, "result": map[string]any{"status": "Success"}}
	delete(review, "request")
	if alter := h.alters.Load(); alter != nil {
		(*alter)(review)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// turned is a gauge in another version.
func turned(obj map[string]any, to string) map[string]any {
	obj["apiVersion"] = to
	spec, _ := obj["spec"].(map[string]any)
	if spec == nil {
		return obj
	}
	host, port := spec["host"], spec["port"]
	if host == nil {
		host = ""
	}
	if n, ok := spec["number"]; ok {
		port = n
	}
	if address, ok := spec["address"].(string); ok {
		before, after, _ := strings.Cut(address, ":")
		host, port = before, after
	}
	for _, name := range []string{"host", "port", "number", "address"} {
		delete(spec, name)
	}
	switch _, version, _ := strings.Cut(to, "/"); version {
	case "v1":
		spec["host"], spec["port"] = host, port
	case "v2":
		spec["host"], spec["number"] = host, port
	default:
		spec["address"] = fmt.Sprint(host, ":", port)
	}
	for name, v := range spec {
		if v == nil || v == "" {
			delete(spec, name)
		}
	}
	return obj
}

const (
	gaugesV1   = "/apis/lab.example.com/v1/namespaces/default/gauges"
	gaugesBeta = "/apis/lab.example.com/v1beta1/namespaces/default/gauges"
	gaugesV2   = "/apis/lab.example.com/v2/namespaces/default/gauges"
	gaugesAs   = definitionsPath + "/gauges.lab.example.com"
)

// gaugeVersions are the versions of gauges with one of them as the storage version.
func gaugeVersions(storage string) string {
	var all []string
	members := map[string]string{"v1": `"host":{"type":"string"},"port":{"type":"string"},"unit":{"type":"string","default":"bar"}`,
		"v1beta1": `"address":{"type":"string","maxLength":20},"unit":{"type":"string"}`, "v2": `"host":{"type":"string"},"number":{"type":"string"},"unit":{"type":"string"}`}
	for _, name := range []string{"v1", "v1beta1", "v2"} {
		all = append(all, fmt.Sprintf(`{"name":%[1]q,"served":true,"storage":%[2]t,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
			"additionalPrinterColumns":[{"name":"At","type":"string","jsonPath":".spec.%[4]s"}],"selectableFields":[{"jsonPath":".spec.%[4]s"}],
			"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"},%[3]s}},"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}`,
			name, name == storage, members[name], map[string]string{"v1": "host", "v2": "host", "v1beta1": "address"}[name]))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// defineGauges serves gauges, stored in v1, with a conversion by the client config.
func (h *harness) defineGauges(clientConfig string) {
	h.t.Helper()
	h.create(definitionsPath, fmt.Sprintf(`{"metadata":{"name":"gauges.lab.example.com"},"spec":{"group":"lab.example.com","scope":"Namespaced","names":{"plural":"gauges","kind":"Gauge"},
		"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v9","v1","v1beta1"],"clientConfig":%s}},"versions":%s}}`, clientConfig, gaugeVersions("v1")))
	h.await(definitionsPath, func(o contents) bool {
		return strings.Contains(conditions(o, "gauges.lab.example.com"), "Established=True")
	})
}

func (h *harness) gaugesBy(hook *conversionHook) {
	h.t.Helper()
	h.defineGauges(fmt.Sprintf(`{"url":"%s/convert","caBundle":%q}`, hook.URL, hook.caBundle()))
}

func gauge(version, name, members string) string {
	return fmt.Sprintf(`{"apiVersion":"lab.example.com/%s","kind":"Gauge","metadata":{"name":%q}%s}`, version, name, members)
}

const (
	mergeType = "application/merge-patch+json"
	applyType = "application/apply-patch+yaml"
	tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"
	metaType  = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// Objects are written and read in every version, by all verbs; those in the wanted version
// need no call.
func TestConversionWebhook(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	h.run(t, []step{
		{"created in the storage version", "POST", gaugesV1, "", gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`), 201, `"spec":{"host":"h","port":"1","unit":"bar"}`},
		{"read in it", "GET", gaugesV1 + "/a", "", "", 200, `"port":"1"`},
		{"patched in it", "PATCH", gaugesV1 + "/a", mergeType, `{"spec":{"port":"2"}}`, 200, `"port":"2"`},
	})
	if n := hook.calls.Load(); n != 0 {
		t.Errorf("%d calls without a conversion", n)
	}
	h.run(t, []step{
		{"read", "GET", gaugesBeta + "/a", "", "", 200, `"apiVersion":"lab.example.com/v1beta1"`},
		{"its spec", "GET", gaugesBeta + "/a", "", "", 200, `"spec":{"address":"h:2","unit":"bar"}`},
		{"created", "POST", gaugesBeta, "", gauge("v1beta1", "b", `,"spec":{"address":"x:3"}`), 201, `"spec":{"address":"x:3","unit":"bar"}`},
		{"stored", "GET", gaugesV1 + "/b", "", "", 200, `"spec":{"host":"x","port":"3","unit":"bar"}`},
		{"by the rules of its version", "POST", gaugesBeta, "", gauge("v1beta1", "c", `,"spec":{"address":"012345678901234567890"}`), 422, "spec.address: Too long"},
		{"dry run", "POST", gaugesBeta + "?dryRun=All", "", gauge("v1beta1", "d", `,"spec":{"address":"x:3"}`), 201, `"address":"x:3"`},
		{"patched", "PATCH", gaugesBeta + "/b", mergeType, `{"spec":{"address":"y:4"}}`, 200, `"address":"y:4"`},
		{"patched by operations", "PATCH", gaugesBeta + "/b", "application/json-patch+json", `[{"op":"replace","path":"/spec/address","value":"y:5"}]`, 200, `"address":"y:5"`},
		{"with the status of its version", "PATCH", gaugesBeta + "/b/status", mergeType, `{"spec":{"address":"no:1"},"status":{"replicas":2}}`, 200, `"spec":{"address":"y:5","unit":"bar"},"status":{"replicas":2}`},
		{"scaled", "PATCH", gaugesBeta + "/b/scale", mergeType, `{"spec":{"replicas":7}}`, 200, `"spec":{"replicas":7},"status":{"replicas":2}`},
		{"a scale", "GET", gaugesV2 + "/b/scale", "", "", 200, `"spec":{"replicas":7}`},
		{"listed", "GET", gaugesBeta, "", "", 200, `"spec":{"address":"h:2","unit":"bar"}`},
		{"a page", "GET", gaugesBeta + "?limit=1", "", "", 200, `"remainingItemCount":1`},
		{"in a third version", "GET", gaugesV2 + "/b", "", "", 200, `"spec":{"host":"y","number":"5","replicas":7,"unit":"bar"}`},
		{"as YAML", "GET", gaugesV2 + "/b", "", "", 200, `"number"`},
		{"deleted", "DELETE", gaugesBeta + "/a", "", "", 200, `"status":"Success"`},
		{"collected", "DELETE", gaugesBeta, "", "", 200, `"address":"y:5"`},
	})
	if got := *hook.version.Load(); got != "apiextensions.k8s.io/v1" {
		t.Errorf("the review has the version %s", got)
	}
	h.create(gaugesV1, gauge("v1", "t", `,"spec":{"host":"h","port":"1"}`))
	if got := h.send("GET", gaugesBeta, "", nil, "Accept", tableType); !strings.Contains(string(got.body), `"cells":["t","h:1"]`) {
		t.Errorf("a table: %s", got.body)
	}
	hook.alter(func(review map[string]any) {
		for _, o := range review["response"].(map[string]any)["convertedObjects"].([]any) {
			meta := o.(map[string]any)["metadata"].(map[string]any)
			meta["labels"], meta["resourceVersion"], meta["finalizers"] = map[string]any{"by": "hook"}, "1", []any{"x/y"}
		}
	})
	if got := h.send("GET", gaugesBeta+"/t", "", nil, "Accept", metaType); got.field(t, "metadata.labels.by") != "hook" || strings.Contains(string(got.body), "x/y") {
		t.Errorf("metadata: %s", got.body)
	}
}

// A list needs few calls, a watch one for each event, however many watch.
func TestConversionCalls(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	for n := range 1100 {
		h.create(gaugesV1, gauge("v1", fmt.Sprintf("g%04d", n), `,"spec":{"host":"h","port":"1"}`))
	}
	calls := func(f func()) int64 { before := hook.calls.Load(); f(); return hook.calls.Load() - before }
	for name, c := range map[string]struct {
		accept string
		most   int64
	}{"list": {"application/json", 3}, "table": {tableType, 3}, "metadata": {strings.Replace(metaType, "Metadata;", "MetadataList;", 1), 3}, "yaml": {"application/yaml", 3}} {
		n := calls(func() {
			if got := h.send("GET", gaugesBeta, "", nil, "Accept", c.accept); got.code != 200 || strings.Count(string(got.body), "g1099") == 0 {
				t.Errorf("%s: %d %d bytes", name, got.code, len(got.body))
			}
		})
		if n != c.most {
			t.Errorf("%s: %d calls for 1100 objects, want %d", name, n, c.most)
		}
	}
	at := h.get(gaugesV1+"?limit=1").field(t, "metadata.resourceVersion").(string)
	var watches []*stream
	for range 5 {
		watches = append(watches, h.watch(gaugesBeta+"?watch=true&resourceVersion="+at))
	}
	if n := calls(func() {
		h.create(gaugesV1, gauge("v1", "new", `,"spec":{"host":"h","port":"9"}`))
		for _, w := range watches {
			if e := w.expect("ADDED new"); !strings.Contains(string(e.Object), `"address":"h:9"`) {
				t.Errorf("event %s", e.Object)
			}
		}
	}); n != 1 {
		t.Errorf("%d calls for an event with five watches", n)
	}
	if n := calls(func() { h.watch(gaugesBeta + "?watch=true").expect("ADDED g0000") }); n > 3 {
		t.Errorf("%d calls for the beginning of a watch", n)
	}
}

// Objects stay in the version in which they were stored until they are written; watches
// go on in theirs when the storage version changes.
func TestStorageVersionChanges(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	h.create(gaugesV1, gauge("v1", "old", `,"spec":{"host":"h","port":"1"}`))
	watches := map[string]*stream{}
	for _, path := range []string{gaugesV1, gaugesBeta, gaugesV2} {
		watches[path] = h.watch(path + "?watch=true")
		watches[path].expect("ADDED old")
	}
	h.mergePatch(gaugesAs, `{"spec":{"versions":`+gaugeVersions("v2")+`}}`)
	h.awaitStorage("v2")
	if got := h.get(gaugesAs).field(t, "status.storedVersions"); fmt.Sprint(got) != "[v1 v2]" {
		t.Errorf("stored versions %v", got)
	}
	before := hook.calls.Load()
	h.run(t, []step{{"in the version in which it is stored", "GET", gaugesV1 + "/old", "", "", 200, `"port":"1"`}})
	if n := hook.calls.Load() - before; n != 0 {
		t.Errorf("%d calls for an object in its version", n)
	}
	h.run(t, []step{
		{"in the storage version", "GET", gaugesV2 + "/old", "", "", 200, `"number":"1"`},
		{"listed", "GET", gaugesV2, "", "", 200, `"number":"1"`},
		{"written", "PATCH", gaugesV2 + "/old", mergeType, `{"spec":{"number":"2"}}`, 200, `"number":"2"`},
		{"in the old version", "GET", gaugesV1 + "/old", "", "", 200, `"port":"2"`},
		{"in another", "PATCH", gaugesBeta + "/old", mergeType, `{"spec":{"address":"h:3"}}`, 200, `"address":"h:3"`},
	})
	for path, w := range watches {
		want := map[string]string{gaugesV1: `"port":"2"`, gaugesBeta: `"address":"h:2"`, gaugesV2: `"number":"2"`}[path]
		if e := w.expect("MODIFIED old"); !strings.Contains(string(e.Object), want) {
			t.Errorf("%s: %s", path, e.Object)
		}
		w.expect("MODIFIED old")
	}
	h.run(t, []step{{"a version of stored objects goes", "PATCH", gaugesAs, "application/json-patch+json", `[{"op":"remove","path":"/spec/versions/0"}]`, 422,
		`status.storedVersions[0]: Invalid value: \"v1\": must appear in spec.versions`}})
}

// awaitStorage waits until gauges are stored in a version.
func (h *harness) awaitStorage(version string) {
	h.t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(time.Millisecond) {
		if row := h.server.Row("lab.example.com/"+version, "Gauge"); row != nil && row.Storage() == row {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("gauges are not stored in %s", version)
		}
	}
}

// The connections to a webhook are kept, and end with its configuration.
func TestConversionConnections(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	h.create(gaugesV1, gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	read := func(want string) {
		h.run(t, []step{{"read", "GET", gaugesBeta + "/a", "", "", 200, want}})
	}
	for range 10 {
		read(`"address":"h:1"`)
	}
	if n := hook.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	h.mergePatch(gaugesAs, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	for end := time.Now().Add(15 * time.Second); hook.connections.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a connection is left")
		}
	}
	read(`"spec":{"unit":"bar"}`)
	h.mergePatch(gaugesAs, fmt.Sprintf(`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1beta1","v1"],"clientConfig":{"url":"%s/convert","caBundle":%q}}}}}`, hook.URL, hook.caBundle()))
	h.awaitText(gaugesBeta+"/a", `"address":"h:1"`)
	if got := *hook.version.Load(); got != "apiextensions.k8s.io/v1beta1" {
		t.Errorf("the review has the version %s", got)
	}
}
