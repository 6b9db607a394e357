package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
)

// widgets are two versions of a type with the properties of config maps.
func widgets(s *server.Server, n int) []*api.Resource {
	model := s.Row("v1", "ConfigMap")
	var all []*api.Resource
	for _, version := range []string{"v1", "v1beta1"} {
		gv := *model.GV
		gv.Group, gv.Version, gv.GroupPriority = "example.com", version, 1000
		res := *model
		res.GV, res.Plural, res.Kind, res.ListKind = &gv, fmt.Sprintf("widgets%d", n), fmt.Sprintf("Widget%d", n), fmt.Sprintf("Widget%dList", n)
		if len(all) > 0 {
			res.Conversion = &api.Conversion{Same: true, Storage: all[0]}
		}
		all = append(all, &res)
	}
	return all
}

// TestTypesComeAndGo adds and removes 1,000 rows, two for each type, while requests run
// and watches are open: other types are served as before, a new type is served in both
// versions like any other, and a watch of a removed one continues.
func TestTypesComeAndGo(t *testing.T) {
	const types = 500
	h := startServer(t, nil)
	var stop atomic.Bool
	var load sync.WaitGroup
	for worker := range 2 {
		path := fmt.Sprintf("%s/load-%d", configMaps, worker)
		h.post(configMaps, fmt.Sprintf(`{"metadata":{"name":"load-%d"}}`, worker))
		load.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if got := h.send(http.MethodPatch, path, "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)); got.code != 200 {
					t.Errorf("patch: %d %s", got.code, got.body)
					return
				}
				if got := h.get(path); got.code != 200 || got.field(t, "data.n") != fmt.Sprint(n) {
					t.Errorf("get: %d %s", got.code, got.body)
					return
				}
			}
		})
	}
	others := h.watch(configMaps + "?watch=true")
	collection := func(n int, version string) string {
		return fmt.Sprintf("/apis/example.com/%s/namespaces/default/widgets%d", version, n)
	}
	if got := h.get(collection(7, "v1")); got.code != 404 {
		t.Errorf("a type that is not there yet: %d %s", got.code, got.body)
	}
	for n := range types {
		h.server.Put(widgets(h.server, n)...)
	}
	made := h.post(collection(7, "v1beta1"), `{"metadata":{"name":"w"},"data":{"a":"b"}}`)
	if made.code != 201 || made.field(t, "apiVersion") != "example.com/v1beta1" || made.field(t, "kind") != "Widget7" {
		t.Errorf("create: %d %s", made.code, made.body)
	}
	if got := h.get(collection(7, "v1") + "/w"); got.code != 200 || got.field(t, "apiVersion") != "example.com/v1" || got.field(t, "data.a") != "b" || got.field(t, "metadata.uid") != made.field(t, "metadata.uid") {
		t.Errorf("in the other version: %d %s", got.code, got.body)
	}
	if got := h.get("/apis/example.com/v1"); got.code != 200 || len(got.field(t, "resources").([]any)) != types {
		t.Errorf("discovery: %d %.200s", got.code, got.body)
	}
	watch := h.watch(collection(7, "v1") + "?watch=true&resourceVersion=" + made.field(t, "metadata.resourceVersion").(string))
	if got := h.send(http.MethodPatch, collection(7, "v1")+"/w", "application/merge-patch+json", []byte(`{"data":{"a":"c"}}`)); got.code != 200 {
		t.Errorf("patch: %d %s", got.code, got.body)
	}
	if e := watch.expect("MODIFIED w"); !strings.Contains(string(e.Object), `{"a":"c"}`) {
		t.Errorf("watch: %s", e.Object)
	}
	for n := range types {
		h.server.Remove("example.com", fmt.Sprintf("widgets%d", n))
	}
	for _, path := range []string{collection(7, "v1") + "/w", collection(7, "v1beta1"), "/apis/example.com/v1", "/apis/example.com"} {
		if got := h.get(path); got.code != 404 {
			t.Errorf("%s of a type that went: %d %s", path, got.code, got.body)
		}
	}
	// Stored objects are there again with their type.
	h.server.Put(widgets(h.server, 7)...)
	if got := h.send(http.MethodPatch, collection(7, "v1beta1")+"/w", "application/merge-patch+json", []byte(`{"data":{"a":"d"}}`)); got.code != 200 || got.field(t, "data.a") != "d" {
		t.Errorf("after it came back: %d %s", got.code, got.body)
	}
	if e := watch.expect("MODIFIED w"); !strings.Contains(string(e.Object), `{"a":"d"}`) {
		t.Errorf("the watch that was open all the time: %s", e.Object)
	}
	stop.Store(true)
	load.Wait()
	if e := others.next(); e.meta.Kind != "ConfigMap" {
		t.Errorf("the watch of another type: %s", e.Object)
	}
}
