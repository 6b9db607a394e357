package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// TestBookmarksFollowHistory: with a short history bookmarks come more often
// than every minute, and each is as new as the server.
func TestBookmarksFollowHistory(t *testing.T) {
	h := startServer(t, func(cfg *server.Config) { cfg.History = time.Second })
	h.create(configMaps, configMap("a", "{}"))
	s := h.watch(configMaps + "?watch=1&allowWatchBookmarks=true")
	last := s.expect("ADDED a").revision(t)
	for i := range 3 {
		other := h.create("/api/v1/namespaces/default/secrets", fmt.Sprintf(`{"metadata":{"name":"s-%d"}}`, i))
		for now := uint64(0); fmt.Sprint(now) != revisionIn(t, other.body); {
			now = s.expect("BOOKMARK ").revision(t)
			if now < last {
				t.Fatalf("a bookmark at %d after one at %d", now, last)
			}
			last = now
		}
	}
}

// TestBookmarkForOldRevisions: a watch that begins at a revision that will soon be
// trimmed gets a newer one as soon as it has caught up.
func TestBookmarkForOldRevisions(t *testing.T) {
	c := &clock{start: time.Now()}
	h := startServer(t, func(cfg *server.Config) { cfg.Clock, cfg.History = c.now, 30*time.Second })
	old := h.create(configMaps, configMap("a", "{}")).field(t, "metadata.resourceVersion").(string)
	h.trimmed(c, old)
	start := revisionIn(t, h.patch(configMaps+"/a", `{"data":{"now":"not trimmed"}}`).body)
	newest := ""
	for i := range 40 {
		newest = revisionIn(t, h.create("/api/v1/namespaces/default/secrets", fmt.Sprintf(`{"metadata":{"name":"s-%d"}}`, i)).body)
	}
	plain := h.watch(configMaps + "?watch=1&resourceVersion=" + start)
	fresh := h.watch(configMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + newest)
	told := h.watch(configMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + start)
	if e := told.expect("BOOKMARK "); e.meta.Metadata.ResourceVersion != newest {
		t.Errorf("the bookmark is at %s, the newest revision %s", e.meta.Metadata.ResourceVersion, newest)
	}
	h.patch(configMaps+"/a", `{"data":{"k":"v"}}`)
	for _, s := range []*stream{plain, fresh, told} {
		s.expect("MODIFIED a")
	}
}

// TestBookmarkAtTheEnd: a watch that ends leaves its client at the newest revision.
func TestBookmarkAtTheEnd(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	s := h.watch(configMaps + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=1")
	s.expect("ADDED a")
	newest := revisionIn(t, h.create("/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`).body)
	if e := s.expect("BOOKMARK "); e.meta.Metadata.ResourceVersion != newest {
		t.Errorf("it ends at %s, the newest revision is %s", e.meta.Metadata.ResourceVersion, newest)
	}
	s.ends()
}

// TestSendInitialEvents tries all combinations of options that begin a watch.
func TestSendInitialEvents(t *testing.T) {
	h := startServer(t, nil)
	first := revisionIn(t, h.create(configMaps, configMap("a", "{}")).body)
	h.create(configMaps, configMap("b", "{}"))
	const newer = "&resourceVersionMatch=NotOlderThan"
	for _, test := range []struct {
		query string
		want  []string // before c is created; nil when it is refused
	}{
		{"", []string{"ADDED a", "ADDED b"}},
		{"&resourceVersion=0", []string{"ADDED a", "ADDED b"}},
		{"&resourceVersion=" + first, []string{"ADDED b"}},
		{"&sendInitialEvents=true" + newer, []string{"ADDED a", "ADDED b"}},
		{"&sendInitialEvents=true&allowWatchBookmarks=true" + newer, []string{"ADDED a", "ADDED b", "BOOKMARK "}},
		{"&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=0" + newer, []string{"ADDED a", "ADDED b", "BOOKMARK "}},
		{"&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=" + first + newer, []string{"ADDED a", "ADDED b", "BOOKMARK "}},
		{"&sendInitialEvents=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Db" + newer, []string{"ADDED b", "BOOKMARK "}},
		{"&sendInitialEvents=false" + newer, []string{}},
		{"&sendInitialEvents=false&resourceVersion=0" + newer, []string{}},
		{"&sendInitialEvents=false&resourceVersion=" + first + newer, []string{"ADDED b"}},
		{"&sendInitialEvents=true", nil},
		{"&sendInitialEvents=false", nil},
		{"&sendInitialEvents=true&resourceVersion=" + first, nil},
		{"&sendInitialEvents=true&resourceVersion=" + first + "&resourceVersionMatch=Exact", nil},
		{"&resourceVersion=" + first + newer, nil},
		{newer, nil},
		{"&sendInitialEvents=true&continue=x" + newer, nil},
	} {
		path := configMaps + "?watch=1" + test.query
		if test.want == nil {
			if r := h.get(path); r.code != 422 || r.field(t, "reason") != "Invalid" || r.field(t, "details.kind") != "ListOptions" {
				t.Errorf("%s: %d %s", test.query, r.code, r.body)
			}
			continue
		}
		s := h.watch(path)
		if len(test.want) > 0 {
			s.expect(test.want...)
		}
		h.create(configMaps, configMap("b-1", "{}"))
		if test.query != "&sendInitialEvents=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Db"+newer {
			s.expect("ADDED b-1")
		}
		h.delete(configMaps + "/b-1")
	}
	// The server waits for a revision that does not exist yet, up to a time-out.
	h.send("GET", configMaps+"?watch=1&sendInitialEvents=true&resourceVersion=999999"+newer, "", nil).expect(t, 504, "Timeout")
}
