package verbs_test

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
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestWatch follows objects from their creation to their deletion.
func TestWatch(t *testing.T) {
	for major, h := range map[int]*harness.Server{1: harness.Start(t, nil), 2: harness.Start(t, nil).HTTP2()} {
		t.Run(fmt.Sprintf("HTTP %d", major), func(t *testing.T) {
			h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
			s := h.Watch(harness.ConfigMaps + "?watch=1")
			if s.Resp.ProtoMajor != major || s.Resp.Header.Get("Content-Type") != "application/json" || s.Resp.ContentLength != -1 {
				t.Fatalf("%s %v", s.Resp.Proto, s.Resp.Header)
			}
			last := s.Expect("ADDED a").Revision(t)
			steps := []struct {
				do   func()
				want string
			}{
				{func() { h.Create(harness.ConfigMaps, harness.ConfigMap("b", `{"k":"v"}`)) }, "ADDED b"},
				{func() { h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"k":"2"}}`) }, "MODIFIED a"},
				{func() { h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"k":"2"}}`) }, ""}, // changes nothing
				{func() {
					h.Create(strings.Replace(harness.ConfigMaps, "default", "kube-system", 1), harness.ConfigMap("c", "{}"))
				}, ""},
				{func() { h.Delete(harness.ConfigMaps + "/b") }, "DELETED b"},
				{func() { h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}")) }, "ADDED b"},
			}
			for _, step := range steps {
				step.do()
				if step.want == "" {
					continue
				}
				e := s.Expect(step.want)
				if rev := e.Revision(t); rev <= last {
					t.Errorf("%s has revision %d after %d", step.want, rev, last)
				} else {
					last = rev
				}
				if e.Type != "DELETED" {
					if now := h.Get(harness.ConfigMaps + "/" + e.Meta.Metadata.Name); string(e.Object)+"\n" != string(now.Body) {
						t.Errorf("the event has\n%s, GET answers\n%s", e.Object, now.Body)
					}
				}
			}
		})
	}
}

// TestWatchSelectors: objects that begin to match are ADDED, those that cease to
// are DELETED with the last state that matched, at the revision of the change.
func TestWatchSelectors(t *testing.T) {
	h := harness.Start(t, nil)
	labelled := func(name, app string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"app":%q}}}`, name, app)
	}
	h.Create(harness.ConfigMaps, labelled("a", "web"))
	h.Create(harness.ConfigMaps, labelled("b", "db"))
	web := h.Watch(harness.ConfigMaps + "?watch=1&labelSelector=app%3Dweb")
	onlyB := h.Watch(harness.ConfigMaps + "?watch=1&fieldSelector=metadata.name%3Db")
	all := h.Watch("/api/v1/configmaps?watch=1&labelSelector=app")

	h.MergePatch(harness.ConfigMaps+"/b", `{"metadata":{"labels":{"app":"web"}}}`)
	h.MergePatch(harness.ConfigMaps+"/b", `{"data":{"k":"1"}}`)
	h.MergePatch(harness.ConfigMaps+"/b", `{"data":{"k":"2"},"metadata":{"labels":{"app":"db"}}}`)
	h.MergePatch(harness.ConfigMaps+"/b", `{"data":{"k":"3"}}`)
	h.Delete(harness.ConfigMaps + "/b")
	h.Delete(harness.ConfigMaps + "/a")

	web.Expect("ADDED a", "ADDED b", "MODIFIED b")
	left := web.Expect("DELETED b")
	if left.Meta.Metadata.Labels["app"] != "web" || !strings.Contains(string(left.Object), `"k":"1"`) {
		t.Errorf("the object left with %s, want the last state that matched", left.Object)
	}
	web.Expect("DELETED a")

	onlyB.Expect("ADDED b", "MODIFIED b", "MODIFIED b")
	moved := onlyB.Expect("MODIFIED b")
	if moved.Revision(t) != left.Revision(t) {
		t.Errorf("it left at revision %d, the change was %d", left.Revision(t), moved.Revision(t))
	}
	onlyB.Expect("MODIFIED b")
	gone := onlyB.Expect("DELETED b")
	if !strings.Contains(string(gone.Object), `"k":"3"`) || gone.Revision(t) <= moved.Revision(t) {
		t.Errorf("deleted as %s", gone.Object)
	}
	all.Expect("ADDED a", "ADDED b", "MODIFIED b", "MODIFIED b", "MODIFIED b", "MODIFIED b", "DELETED b", "DELETED a")
}

// TestWatchResumes starts after every revision that a watch has shown.
func TestWatchResumes(t *testing.T) {
	h := harness.Start(t, nil)
	s := h.Watch(harness.ConfigMaps + "?watch=1")
	for _, name := range []string{"a", "b", "c"} {
		h.Create(harness.ConfigMaps, harness.ConfigMap(name, "{}"))
		h.MergePatch(harness.ConfigMaps+"/"+name, `{"data":{"k":"v"}}`)
	}
	h.Delete(harness.ConfigMaps + "/b")
	var seen []string
	var after []string
	for range 7 {
		e := s.Next()
		seen = append(seen, e.Type+" "+e.Meta.Metadata.Name)
		after = append(after, e.Meta.Metadata.ResourceVersion)
	}
	for i := range after {
		h.Watch(harness.ConfigMaps + "?watch=1&resourceVersion=" + after[i]).Expect(seen[i+1:]...)
	}
	// From the start there is the state, not the history.
	for _, version := range []string{"", "&resourceVersion=0"} {
		h.Watch(harness.ConfigMaps+"?watch=1"+version).Expect("ADDED a", "ADDED c")
	}
	// The server waits for a revision that does not exist yet.
	current := h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion").(string)
	rev, err := strconv.Atoi(current)
	if err != nil {
		t.Fatal(err)
	}
	future := h.Watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", harness.ConfigMaps, rev+2))
	for _, name := range []string{"x", "y", "z"} {
		h.Create(harness.ConfigMaps, harness.ConfigMap(name, "{}"))
	}
	future.Expect("ADDED z")
}

// TestWatchOfTrimmedHistory: a watch of trimmed history gets a 410 as its only event.
func TestWatchOfTrimmedHistory(t *testing.T) {
	c := &harness.Clock{Start: time.Now()}
	h := harness.Start(t, func(cfg *server.Config) { cfg.History, cfg.Clock = time.Second, c.Now })
	old := h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}")).Field(t, "metadata.resourceVersion").(string)
	trimmed(h, c, old)
	s := h.Watch(harness.ConfigMaps + "?watch=1&resourceVersion=" + old)
	e := s.Next()
	if e.Type != "ERROR" || e.Meta.Kind != "Status" || e.Meta.Code != 410 || e.Meta.Reason != "Expired" || !strings.HasPrefix(e.Meta.Message, "too old resource version: "+old+" (") {
		t.Errorf("got %s %s", e.Type, e.Object)
	}
	s.Ends()
	h.Watch(harness.ConfigMaps + "?watch=1").Expect("ADDED a") // the client's next step
}

// TestWatchBookmarks: one that closes the initial events, and one from a server that
// stops, which is up to date though the watched resource was quiet.
func TestWatchBookmarks(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	newest := h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}")).Field(t, "metadata.resourceVersion").(string)
	s := h.Watch(harness.ConfigMaps + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + newest)
	end := s.Expect("ADDED a", "ADDED b", "BOOKMARK ")
	if end.Meta.Metadata.Annotations["k8s.io/initial-events-end"] != "true" || end.Revision(t) < 1 || end.Meta.Metadata.ResourceVersion != newest || end.Meta.Kind != "ConfigMap" {
		t.Errorf("the initial events end with %s", end.Object)
	}
	h.Create(harness.ConfigMaps, harness.ConfigMap("c", "{}"))
	s.Expect("ADDED c")

	plain := h.Watch(harness.ConfigMaps + "?watch=1&resourceVersion=" + newest) // requests no bookmarks
	plain.Expect("ADDED c")
	other := h.Create("/api/v1/namespaces/default/secrets", `{"metadata":{"name":"other"}}`).Field(t, "metadata.resourceVersion").(string)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(ctx) }()
	last := s.Expect("BOOKMARK ")
	if last.Meta.Metadata.ResourceVersion != other || len(last.Meta.Metadata.Annotations) > 0 {
		t.Errorf("the last bookmark is %s, the newest revision %s", last.Object, other)
	}
	s.Ends()
	plain.Ends()
	if err := <-stopped; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestWatchTimeout(t *testing.T) {
	for major, h := range map[int]*harness.Server{1: harness.Start(t, nil), 2: harness.Start(t, nil).HTTP2()} {
		h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
		start := time.Now()
		s := h.Watch(harness.ConfigMaps + "?watch=1&timeoutSeconds=1")
		s.Expect("ADDED a")
		s.Ends()
		if took := time.Since(start); took < time.Second {
			t.Errorf("HTTP %d: it ended after %v", major, took)
		}
	}
}

// TestSlowWatcher: a client that reads nothing for long delays no other, and finds every
// change, once and in order, when it reads at last. It missed more than connections
// buffer and than the server keeps in memory for it.
func TestSlowWatcher(t *testing.T) {
	h := harness.Start(t, nil)
	first := h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	s := h.Watch(harness.ConfigMaps + "?watch=1&resourceVersion=" + revisionIn(t, first.Body))
	large := strings.Repeat("x", 200<<10)
	var want []string
	for i := range 50 { // the server counts the state before as well: 20 MB
		want = append(want, revisionIn(t, h.MergePatch(harness.ConfigMaps+"/a", fmt.Sprintf(`{"data":{"k":"%d %s"}}`, i, large)).Body))
	}
	lines := bufio.NewReaderSize(s.Resp.Body, 1<<20)
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
	h := harness.Start(t, nil)
	system := strings.Replace(harness.ConfigMaps, "default", "kube-system", 1)
	h.Delete(system + "/extension-apiserver-authentication")
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}"))
	h.Create(system, harness.ConfigMap("c", "{}"))
	streams := map[*harness.Stream][]string{
		h.Watch("/api/v1/watch/configmaps"):                                    {"ADDED a", "ADDED b", "ADDED c", "ADDED d", "MODIFIED b"},
		h.Watch("/api/v1/watch/namespaces/default/configmaps"):                 {"ADDED a", "ADDED b", "MODIFIED b"},
		h.Watch("/api/v1/watch/namespaces/default/configmaps?watch=false"):     {"ADDED a", "ADDED b", "MODIFIED b"},
		h.Watch("/api/v1/watch/namespaces/default/configmaps/b"):               {"ADDED b", "MODIFIED b"},
		h.Watch("/api/v1/watch/namespaces/kube-system/configmaps"):             {"ADDED c", "ADDED d"},
		h.Watch("/api/v1/watch/namespaces/default"):                            {"ADDED default"},
		h.Watch("/api/v1/configmaps?watch=true&fieldSelector=metadata.name=b"): {"ADDED b", "MODIFIED b"},
	}
	h.Create(system, harness.ConfigMap("d", "{}"))
	h.MergePatch(harness.ConfigMaps+"/b", `{"data":{"k":"v"}}`)
	for s, want := range streams {
		s.Expect(want...)
	}
}

// TestWatchRefused: mistakes are reported before a stream begins.
func TestWatchRefused(t *testing.T) {
	h := harness.Start(t, nil)
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
		r := h.Send("GET", harness.ConfigMaps+test.path, "", nil, "Accept", test.accept)
		if r.Code != test.code || !strings.Contains(string(r.Body), "Failure") {
			t.Errorf("%s %s: %d, want %d: %s", test.path, test.accept, r.Code, test.code, r.Body)
		}
	}
	if r := h.Send("GET", harness.ConfigMaps+"?watch=1", "", nil, "Authorization", "Bearer bob-token"); r.Code != 403 || !strings.Contains(string(r.Body), `cannot watch resource`) {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}
