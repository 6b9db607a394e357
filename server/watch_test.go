package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// TestWatch follows objects from their creation to their deletion.
func TestWatch(t *testing.T) {
	for major, h := range map[int]*harness{1: startServer(t, nil), 2: startServer(t, nil).http2()} {
		t.Run(fmt.Sprintf("HTTP %d", major), func(t *testing.T) {
			h.create(configMaps, configMap("a", "{}"))
			s := h.watch(configMaps + "?watch=1")
			if s.resp.ProtoMajor != major || s.resp.Header.Get("Content-Type") != "application/json" || s.resp.ContentLength != -1 {
				t.Fatalf("%s %v", s.resp.Proto, s.resp.Header)
			}
			last := s.expect("ADDED a").revision(t)
			steps := []struct {
				do   func()
				want string
			}{
				{func() { h.create(configMaps, configMap("b", `{"k":"v"}`)) }, "ADDED b"},
				{func() { h.patch(configMaps+"/a", `{"data":{"k":"2"}}`) }, "MODIFIED a"},
				{func() { h.patch(configMaps+"/a", `{"data":{"k":"2"}}`) }, ""}, // changes nothing
				{func() { h.create(strings.Replace(configMaps, "default", "kube-system", 1), configMap("c", "{}")) }, ""},
				{func() { h.delete(configMaps + "/b") }, "DELETED b"},
				{func() { h.create(configMaps, configMap("b", "{}")) }, "ADDED b"},
			}
			for _, step := range steps {
				step.do()
				if step.want == "" {
					continue
				}
				e := s.expect(step.want)
				if rev := e.revision(t); rev <= last {
					t.Errorf("%s has revision %d after %d", step.want, rev, last)
				} else {
					last = rev
				}
				if e.Type != "DELETED" {
					if now := h.get(configMaps + "/" + e.meta.Metadata.Name); string(e.Object)+"\n" != string(now.body) {
						t.Errorf("the event has\n%s, GET answers\n%s", e.Object, now.body)
					}
				}
			}
		})
	}
}

// TestWatchSelectors: objects that begin to match are ADDED, those that cease to
// are DELETED with the last state that matched, at the revision of the change.
func TestWatchSelectors(t *testing.T) {
	h := startServer(t, nil)
	labelled := func(name, app string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"app":%q}}}`, name, app)
	}
	h.create(configMaps, labelled("a", "web"))
	h.create(configMaps, labelled("b", "db"))
	web := h.watch(configMaps + "?watch=1&labelSelector=app%3Dweb")
	onlyB := h.watch(configMaps + "?watch=1&fieldSelector=metadata.name%3Db")
	all := h.watch("/api/v1/configmaps?watch=1&labelSelector=app")

	h.patch(configMaps+"/b", `{"metadata":{"labels":{"app":"web"}}}`)
	h.patch(configMaps+"/b", `{"data":{"k":"1"}}`)
	h.patch(configMaps+"/b", `{"data":{"k":"2"},"metadata":{"labels":{"app":"db"}}}`)
	h.patch(configMaps+"/b", `{"data":{"k":"3"}}`)
	h.delete(configMaps + "/b")
	h.delete(configMaps + "/a")

	web.expect("ADDED a", "ADDED b", "MODIFIED b")
	left := web.expect("DELETED b")
	if left.meta.Metadata.Labels["app"] != "web" || !strings.Contains(string(left.Object), `"k":"1"`) {
		t.Errorf("the object left with %s, want the last state that matched", left.Object)
	}
	web.expect("DELETED a")

	onlyB.expect("ADDED b", "MODIFIED b", "MODIFIED b")
	moved := onlyB.expect("MODIFIED b")
	if moved.revision(t) != left.revision(t) {
		t.Errorf("it left at revision %d, the change was %d", left.revision(t), moved.revision(t))
	}
	onlyB.expect("MODIFIED b")
	gone := onlyB.expect("DELETED b")
	if !strings.Contains(string(gone.Object), `"k":"3"`) || gone.revision(t) <= moved.revision(t) {
		t.Errorf("deleted as %s", gone.Object)
	}
	all.expect("ADDED a", "ADDED b", "MODIFIED b", "MODIFIED b", "MODIFIED b", "MODIFIED b", "DELETED b", "DELETED a")
}

// TestWatchResumes starts after every revision that a watch has shown.
func TestWatchResumes(t *testing.T) {
	h := startServer(t, nil)
	s := h.watch(configMaps + "?watch=1")
	for _, name := range []string{"a", "b", "c"} {
		h.create(configMaps, configMap(name, "{}"))
		h.patch(configMaps+"/"+name, `{"data":{"k":"v"}}`)
	}
	h.delete(configMaps + "/b")
	var seen []string
	var after []string
	for range 7 {
		e := s.next()
		seen = append(seen, e.Type+" "+e.meta.Metadata.Name)
		after = append(after, e.meta.Metadata.ResourceVersion)
	}
	for i := range after {
		h.watch(configMaps + "?watch=1&resourceVersion=" + after[i]).expect(seen[i+1:]...)
	}
	// From the start there is the state, not the history.
	for _, version := range []string{"", "&resourceVersion=0"} {
		h.watch(configMaps+"?watch=1"+version).expect("ADDED a", "ADDED c")
	}
	// The server waits for a revision that does not exist yet.
	current := h.get(configMaps).field(t, "metadata.resourceVersion").(string)
	rev, err := strconv.Atoi(current)
	if err != nil {
		t.Fatal(err)
	}
	future := h.watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", configMaps, rev+2))
	for _, name := range []string{"x", "y", "z"} {
		h.create(configMaps, configMap(name, "{}"))
	}
	future.expect("ADDED z")
}

// TestWatchOfTrimmedHistory: a watch of trimmed history gets a 410 as its only event.
func TestWatchOfTrimmedHistory(t *testing.T) {
	c := &clock{start: time.Now()}
	h := startServer(t, func(cfg *server.Config) { cfg.History, cfg.Clock = time.Second, c.now })
	old := h.create(configMaps, configMap("a", "{}")).field(t, "metadata.resourceVersion").(string)
	h.trimmed(c, old)
	s := h.watch(configMaps + "?watch=1&resourceVersion=" + old)
	e := s.next()
	if e.Type != "ERROR" || e.meta.Kind != "Status" || e.meta.Code != 410 || e.meta.Reason != "Expired" || !strings.HasPrefix(e.meta.Message, "too old resource version: "+old+" (") {
		t.Errorf("got %s %s", e.Type, e.Object)
	}
	s.ends()
	h.watch(configMaps + "?watch=1").expect("ADDED a") // the client's next step
}

// TestWatchBookmarks: one that closes the initial events, and one from a server that
// stops, which is up to date though the watched resource was quiet.
func TestWatchBookmarks(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	newest := h.create(configMaps, configMap("b", "{}")).field(t, "metadata.resourceVersion").(string)
	s := h.watch(configMaps + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + newest)
	end := s.expect("ADDED a", "ADDED b", "BOOKMARK ")
	if end.meta.Metadata.Annotations["k8s.io/initial-events-end"] != "true" || end.revision(t) < 1 || end.meta.Metadata.ResourceVersion != newest || end.meta.Kind != "ConfigMap" {
		t.Errorf("the initial events end with %s", end.Object)
	}
	h.create(configMaps, configMap("c", "{}"))
	s.expect("ADDED c")

	plain := h.watch(configMaps + "?watch=1&resourceVersion=" + newest) // requests no bookmarks
	plain.expect("ADDED c")
	other := h.create("/api/v1/namespaces/default/secrets", `{"metadata":{"name":"other"}}`).field(t, "metadata.resourceVersion").(string)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.Shutdown(ctx) }()
	last := s.expect("BOOKMARK ")
	if last.meta.Metadata.ResourceVersion != other || len(last.meta.Metadata.Annotations) > 0 {
		t.Errorf("the last bookmark is %s, the newest revision %s", last.Object, other)
	}
	s.ends()
	plain.ends()
	if err := <-stopped; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestWatchTimeout(t *testing.T) {
	for major, h := range map[int]*harness{1: startServer(t, nil), 2: startServer(t, nil).http2()} {
		h.create(configMaps, configMap("a", "{}"))
		start := time.Now()
		s := h.watch(configMaps + "?watch=1&timeoutSeconds=1")
		s.expect("ADDED a")
		s.ends()
		if took := time.Since(start); took < time.Second {
			t.Errorf("HTTP %d: it ended after %v", major, took)
		}
	}
}

// TestSlowWatcher: a client that reads nothing for long delays no other, and finds every
// change, once and in order, when it reads at last. It missed more than connections
// buffer and than the server keeps in memory for it.
func TestSlowWatcher(t *testing.T) {
	h := startServer(t, nil)
	first := h.create(configMaps, configMap("a", "{}"))
	s := h.watch(configMaps + "?watch=1&resourceVersion=" + revisionIn(t, first.body))
	large := strings.Repeat("x", 200<<10)
	var want []string
	for i := range 50 { // the server counts the state before as well: 20 MB
		want = append(want, revisionIn(t, h.patch(configMaps+"/a", fmt.Sprintf(`{"data":{"k":"%d %s"}}`, i, large)).body))
	}
	lines := bufio.NewReaderSize(s.resp.Body, 1<<20)
	for i := range want {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if got := revisionIn(t, line); !bytes.HasPrefix(line, []byte(`{"type":"MODIFIED"`)) || got != want[i] {
			t.Fatalf("event %d is at %s, want %s: %.200s", i, got, want[i], line)
		}
	}
}

// TestOldWatchPaths: /watch/ in the path is a watch, also of one object.
func TestOldWatchPaths(t *testing.T) {
	h := startServer(t, nil)
	system := strings.Replace(configMaps, "default", "kube-system", 1)
	h.delete(system + "/extension-apiserver-authentication")
	h.create(configMaps, configMap("a", "{}"))
	h.create(configMaps, configMap("b", "{}"))
	h.create(system, configMap("c", "{}"))
	streams := map[*stream][]string{
		h.watch("/api/v1/watch/configmaps"):                                    {"ADDED a", "ADDED b", "ADDED c", "ADDED d", "MODIFIED b"},
		h.watch("/api/v1/watch/namespaces/default/configmaps"):                 {"ADDED a", "ADDED b", "MODIFIED b"},
		h.watch("/api/v1/watch/namespaces/default/configmaps?watch=false"):     {"ADDED a", "ADDED b", "MODIFIED b"},
		h.watch("/api/v1/watch/namespaces/default/configmaps/b"):               {"ADDED b", "MODIFIED b"},
		h.watch("/api/v1/watch/namespaces/kube-system/configmaps"):             {"ADDED c", "ADDED d"},
		h.watch("/api/v1/watch/namespaces/default"):                            {"ADDED default"},
		h.watch("/api/v1/configmaps?watch=true&fieldSelector=metadata.name=b"): {"ADDED b", "MODIFIED b"},
	}
	h.create(system, configMap("d", "{}"))
	h.patch(configMaps+"/b", `{"data":{"k":"v"}}`)
	for s, want := range streams {
		s.expect(want...)
	}
}

// TestWatchRefused: mistakes are reported before a stream begins.
func TestWatchRefused(t *testing.T) {
	h := startServer(t, nil)
	for _, test := range []struct {
		path, accept string
		code         int
	}{
		{"?watch=1&resourceVersion=abc", "", 400},
		{"?watch=1&resourceVersion=-1", "", 400},
		{"?watch=1&labelSelector=%21%21", "", 400},
		{"?watch=1&fieldSelector=data.k%3Dv", "", 400},
		{"?watch=1&timeoutSeconds=soon", "", 400},
		{"?watch=1&resourceVersionMatch=Exact&resourceVersion=1", "", 422},
		{"?watch=1", "text/csv", 406},
		{"?watch=1", "application/yaml", 406},
	} {
		r := h.send("GET", configMaps+test.path, "", nil, "Accept", test.accept)
		if r.code != test.code || !strings.Contains(string(r.body), "Failure") {
			t.Errorf("%s %s: %d, want %d: %s", test.path, test.accept, r.code, test.code, r.body)
		}
	}
	if r := h.send("GET", configMaps+"?watch=1", "", nil, "Authorization", "Bearer bob-token"); r.code != 403 || !strings.Contains(string(r.body), `cannot watch resource`) {
		t.Errorf("%d %s", r.code, r.body)
	}
}
