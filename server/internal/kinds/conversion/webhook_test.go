package conversion_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"
	metaType  = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// Objects are written and read in every version, by all verbs; those in the wanted version
// need no call.
func TestConversionWebhook(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	h.Run(t, []harness.Step{
		{"created in the storage version", "POST", harness.GaugesV1, "", harness.Gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`), 201, `"spec":{"host":"h","port":"1","unit":"bar"}`},
		{"read in it", "GET", harness.GaugesV1 + "/a", "", "", 200, `"port":"1"`},
		{"patched in it", "PATCH", harness.GaugesV1 + "/a", harness.MergePatchMedia, `{"spec":{"port":"2"}}`, 200, `"port":"2"`},
	})
	if n := hook.Calls.Load(); n != 0 {
		t.Errorf("%d calls without a conversion", n)
	}
	h.Run(t, []harness.Step{
		{"read", "GET", harness.GaugesBeta + "/a", "", "", 200, `"apiVersion":"lab.example.com/v1beta1"`},
		{"its spec", "GET", harness.GaugesBeta + "/a", "", "", 200, `"spec":{"address":"h:2","unit":"bar"}`},
		{"created", "POST", harness.GaugesBeta, "", harness.Gauge("v1beta1", "b", `,"spec":{"address":"x:3"}`), 201, `"spec":{"address":"x:3","unit":"bar"}`},
		{"stored", "GET", harness.GaugesV1 + "/b", "", "", 200, `"spec":{"host":"x","port":"3","unit":"bar"}`},
		{"by the rules of its version", "POST", harness.GaugesBeta, "", harness.Gauge("v1beta1", "c", `,"spec":{"address":"012345678901234567890"}`), 422, "spec.address: Too long"},
		{"dry run", "POST", harness.GaugesBeta + "?dryRun=All", "", harness.Gauge("v1beta1", "d", `,"spec":{"address":"x:3"}`), 201, `"address":"x:3"`},
		{"patched", "PATCH", harness.GaugesBeta + "/b", harness.MergePatchMedia, `{"spec":{"address":"y:4"}}`, 200, `"address":"y:4"`},
		{"patched by operations", "PATCH", harness.GaugesBeta + "/b", "application/json-patch+json", `[{"op":"replace","path":"/spec/address","value":"y:5"}]`, 200, `"address":"y:5"`},
		{"with the status of its version", "PATCH", harness.GaugesBeta + "/b/status", harness.MergePatchMedia, `{"spec":{"address":"no:1"},"status":{"replicas":2}}`, 200, `"spec":{"address":"y:5","unit":"bar"},"status":{"replicas":2}`},
		{"scaled", "PATCH", harness.GaugesBeta + "/b/scale", harness.MergePatchMedia, `{"spec":{"replicas":7}}`, 200, `"spec":{"replicas":7},"status":{"replicas":2}`},
		{"a scale", "GET", harness.GaugesV2 + "/b/scale", "", "", 200, `"spec":{"replicas":7}`},
		{"listed", "GET", harness.GaugesBeta, "", "", 200, `"spec":{"address":"h:2","unit":"bar"}`},
		{"a page", "GET", harness.GaugesBeta + "?limit=1", "", "", 200, `"remainingItemCount":1`},
		{"in a third version", "GET", harness.GaugesV2 + "/b", "", "", 200, `"spec":{"host":"y","number":"5","replicas":7,"unit":"bar"}`},
		{"as YAML", "GET", harness.GaugesV2 + "/b", "", "", 200, `"number"`},
		{"deleted", "DELETE", harness.GaugesBeta + "/a", "", "", 200, `"status":"Success"`},
		{"collected", "DELETE", harness.GaugesBeta, "", "", 200, `"address":"y:5"`},
	})
	if got := *hook.Version.Load(); got != "apiextensions.k8s.io/v1" {
		t.Errorf("the review has the version %s", got)
	}
	h.Create(harness.GaugesV1, harness.Gauge("v1", "t", `,"spec":{"host":"h","port":"1"}`))
	if got := h.Send("GET", harness.GaugesBeta, "", nil, "Accept", tableType); !strings.Contains(string(got.Body), `"cells":["t","h:1"]`) {
		t.Errorf("a table: %s", got.Body)
	}
	hook.Alter(func(review map[string]any) {
		for _, o := range review["response"].(map[string]any)["convertedObjects"].([]any) {
			meta := o.(map[string]any)["metadata"].(map[string]any)
			meta["labels"], meta["resourceVersion"], meta["finalizers"] = map[string]any{"by": "hook"}, "1", []any{"x/y"}
		}
	})
	if got := h.Send("GET", harness.GaugesBeta+"/t", "", nil, "Accept", metaType); got.Field(t, "metadata.labels.by") != "hook" || strings.Contains(string(got.Body), "x/y") {
		t.Errorf("metadata: %s", got.Body)
	}
}

// A list needs few calls, a watch one for each event, however many watch.
func TestConversionCalls(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	for n := range 1100 {
		h.Create(harness.GaugesV1, harness.Gauge("v1", fmt.Sprintf("g%04d", n), `,"spec":{"host":"h","port":"1"}`))
	}
	calls := func(f func()) int64 { before := hook.Calls.Load(); f(); return hook.Calls.Load() - before }
	for name, c := range map[string]struct {
		accept string
		most   int64
	}{"list": {"application/json", 3}, "table": {tableType, 3}, "metadata": {strings.Replace(metaType, "Metadata;", "MetadataList;", 1), 3}, "yaml": {"application/yaml", 3}} {
		n := calls(func() {
			if got := h.Send("GET", harness.GaugesBeta, "", nil, "Accept", c.accept); got.Code != 200 || strings.Count(string(got.Body), "g1099") == 0 {
				t.Errorf("%s: %d %d bytes", name, got.Code, len(got.Body))
			}
		})
		if n != c.most {
			t.Errorf("%s: %d calls for 1100 objects, want %d", name, n, c.most)
		}
	}
	at := h.Get(harness.GaugesV1+"?limit=1").Field(t, "metadata.resourceVersion").(string)
	var watches []*harness.Stream
	for range 5 {
		watches = append(watches, h.Watch(harness.GaugesBeta+"?watch=true&resourceVersion="+at))
	}
	if n := calls(func() {
		h.Create(harness.GaugesV1, harness.Gauge("v1", "new", `,"spec":{"host":"h","port":"9"}`))
		for _, w := range watches {
			if e := w.Expect("ADDED new"); !strings.Contains(string(e.Object), `"address":"h:9"`) {
				t.Errorf("event %s", e.Object)
			}
		}
	}); n != 1 {
		t.Errorf("%d calls for an event with five watches", n)
	}
	if n := calls(func() { h.Watch(harness.GaugesBeta + "?watch=true").Expect("ADDED g0000") }); n > 3 {
		t.Errorf("%d calls for the beginning of a watch", n)
	}
}

// Objects stay in the version in which they were stored until they are written; watches
// go on in theirs when the storage version changes.
func TestStorageVersionChanges(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	h.Create(harness.GaugesV1, harness.Gauge("v1", "old", `,"spec":{"host":"h","port":"1"}`))
	watches := map[string]*harness.Stream{}
	for _, path := range []string{harness.GaugesV1, harness.GaugesBeta, harness.GaugesV2} {
		watches[path] = h.Watch(path + "?watch=true")
		watches[path].Expect("ADDED old")
	}
	h.MergePatch(harness.GaugesAs, `{"spec":{"versions":`+harness.GaugeVersions("v2")+`}}`)
	h.AwaitStorage("v2")
	if got := h.Get(harness.GaugesAs).Field(t, "status.storedVersions"); fmt.Sprint(got) != "[v1 v2]" {
		t.Errorf("stored versions %v", got)
	}
	before := hook.Calls.Load()
	h.Run(t, []harness.Step{{"in the version in which it is stored", "GET", harness.GaugesV1 + "/old", "", "", 200, `"port":"1"`}})
	if n := hook.Calls.Load() - before; n != 0 {
		t.Errorf("%d calls for an object in its version", n)
	}
	h.Run(t, []harness.Step{
		{"in the storage version", "GET", harness.GaugesV2 + "/old", "", "", 200, `"number":"1"`},
		{"listed", "GET", harness.GaugesV2, "", "", 200, `"number":"1"`},
		{"written", "PATCH", harness.GaugesV2 + "/old", harness.MergePatchMedia, `{"spec":{"number":"2"}}`, 200, `"number":"2"`},
		{"in the old version", "GET", harness.GaugesV1 + "/old", "", "", 200, `"port":"2"`},
		{"in another", "PATCH", harness.GaugesBeta + "/old", harness.MergePatchMedia, `{"spec":{"address":"h:3"}}`, 200, `"address":"h:3"`},
	})
	for path, w := range watches {
		want := map[string]string{harness.GaugesV1: `"port":"2"`, harness.GaugesBeta: `"address":"h:2"`, harness.GaugesV2: `"number":"2"`}[path]
		if e := w.Expect("MODIFIED old"); !strings.Contains(string(e.Object), want) {
			t.Errorf("%s: %s", path, e.Object)
		}
		w.Expect("MODIFIED old")
	}
	h.Run(t, []harness.Step{{"a version of stored objects goes", "PATCH", harness.GaugesAs, "application/json-patch+json", `[{"op":"remove","path":"/spec/versions/0"}]`, 422,
		`status.storedVersions[0]: Invalid value: \"v1\": must appear in spec.versions`}})
}

// The connections to a webhook are kept, and end with its configuration.
func TestConversionConnections(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	h.Create(harness.GaugesV1, harness.Gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	read := func(want string) {
		h.Run(t, []harness.Step{{"read", "GET", harness.GaugesBeta + "/a", "", "", 200, want}})
	}
	for range 10 {
		read(`"address":"h:1"`)
	}
	if n := hook.Connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	h.MergePatch(harness.GaugesAs, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	for end := time.Now().Add(15 * time.Second); hook.Connections.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a connection is left")
		}
	}
	read(`"spec":{"unit":"bar"}`)
	h.MergePatch(harness.GaugesAs, fmt.Sprintf(`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1beta1","v1"],"clientConfig":{"url":"%s/convert","caBundle":%q}}}}}`, hook.URL, hook.CABundle()))
	h.AwaitText(harness.GaugesBeta+"/a", `"address":"h:1"`)
	if got := *hook.Version.Load(); got != "apiextensions.k8s.io/v1beta1" {
		t.Errorf("the review has the version %s", got)
	}
}
