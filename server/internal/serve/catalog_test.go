package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestTypesComeAndGo adds and removes 1,000 rows, two for each type, while requests run
// and watches are open: other types are served as before, a new type is served in both
// versions like any other, and a watch of a removed one continues.
func TestTypesComeAndGo(t *testing.T) {
	const types = 500
	h := harness.Start(t, nil)
	var stop atomic.Bool
	var load sync.WaitGroup
	for worker := range 2 {
		path := fmt.Sprintf("%s/load-%d", harness.ConfigMaps, worker)
		h.Post(harness.ConfigMaps, fmt.Sprintf(`{"metadata":{"name":"load-%d"}}`, worker))
		load.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if got := h.Send(http.MethodPatch, path, "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)); got.Code != 200 {
					t.Errorf("patch: %d %s", got.Code, got.Body)
					return
				}
				if got := h.Get(path); got.Code != 200 || got.Field(t, "data.n") != fmt.Sprint(n) {
					t.Errorf("get: %d %s", got.Code, got.Body)
					return
				}
			}
		})
	}
	others := h.Watch(harness.ConfigMaps + "?watch=true")
	collection := func(n int, version string) string {
		return fmt.Sprintf("/apis/example.com/%s/namespaces/default/widgets%d", version, n)
	}
	if got := h.Get(collection(7, "v1")); got.Code != 404 {
		t.Errorf("a type that is not there yet: %d %s", got.Code, got.Body)
	}
	for n := range types {
		h.Running.Put(harness.Widgets(h.Running, n)...)
	}
	made := h.Post(collection(7, "v1beta1"), `{"metadata":{"name":"w"},"data":{"a":"b"}}`)
	if made.Code != 201 || made.Field(t, "apiVersion") != "example.com/v1beta1" || made.Field(t, "kind") != "Widget7" {
		t.Errorf("create: %d %s", made.Code, made.Body)
	}
	if got := h.Get(collection(7, "v1") + "/w"); got.Code != 200 || got.Field(t, "apiVersion") != "example.com/v1" || got.Field(t, "data.a") != "b" || got.Field(t, "metadata.uid") != made.Field(t, "metadata.uid") {
		t.Errorf("in the other version: %d %s", got.Code, got.Body)
	}
	if got := h.Get("/apis/example.com/v1"); got.Code != 200 || len(got.Field(t, "resources").([]any)) != types {
		t.Errorf("discovery: %d %.200s", got.Code, got.Body)
	}
	watch := h.Watch(collection(7, "v1") + "?watch=true&resourceVersion=" + made.Field(t, "metadata.resourceVersion").(string))
	if got := h.Send(http.MethodPatch, collection(7, "v1")+"/w", "application/merge-patch+json", []byte(`{"data":{"a":"c"}}`)); got.Code != 200 {
		t.Errorf("patch: %d %s", got.Code, got.Body)
	}
	if e := watch.Expect("MODIFIED w"); !strings.Contains(string(e.Object), `{"a":"c"}`) {
		t.Errorf("watch: %s", e.Object)
	}
	for n := range types {
		h.Running.Remove("example.com", fmt.Sprintf("widgets%d", n))
	}
	for _, path := range []string{collection(7, "v1") + "/w", collection(7, "v1beta1"), "/apis/example.com/v1", "/apis/example.com"} {
		if got := h.Get(path); got.Code != 404 {
			t.Errorf("%s of a type that went: %d %s", path, got.Code, got.Body)
		}
	}
	// Stored objects are there again with their type.
	h.Running.Put(harness.Widgets(h.Running, 7)...)
	if got := h.Send(http.MethodPatch, collection(7, "v1beta1")+"/w", "application/merge-patch+json", []byte(`{"data":{"a":"d"}}`)); got.Code != 200 || got.Field(t, "data.a") != "d" {
		t.Errorf("after it came back: %d %s", got.Code, got.Body)
	}
	if e := watch.Expect("MODIFIED w"); !strings.Contains(string(e.Object), `{"a":"d"}`) {
		t.Errorf("the watch that was open all the time: %s", e.Object)
	}
	stop.Store(true)
	load.Wait()
	if e := others.Next(); e.Meta.Kind != "ConfigMap" {
		t.Errorf("the watch of another type: %s", e.Object)
	}
}
