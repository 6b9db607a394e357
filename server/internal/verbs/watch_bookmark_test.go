package verbs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestBookmarksFollowHistory: with a short history bookmarks come more often
// than every minute, and each is as new as the server.
func TestBookmarksFollowHistory(t *testing.T) {
	h := harness.Start(t, func(cfg *server.Config) { cfg.History = time.Second })
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	s := h.Watch(harness.ConfigMaps + "?watch=1&allowWatchBookmarks=true")
	last := s.Expect("ADDED a").Revision(t)
	for i := range 3 {
		other := h.Create("/api/v1/namespaces/default/secrets", fmt.Sprintf(`{"metadata":{"name":"s-%d"}}`, i))
		for now := uint64(0); fmt.Sprint(now) != revisionIn(t, other.Body); {
			now = s.Expect("BOOKMARK ").Revision(t)
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
	c := &harness.Clock{Start: time.Now()}
	h := harness.Start(t, func(cfg *server.Config) { cfg.Clock, cfg.History = c.Now, 30*time.Second })
	old := h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}")).Field(t, "metadata.resourceVersion").(string)
	trimmed(h, c, old)
	start := revisionIn(t, h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"now":"not trimmed"}}`).Body)
	newest := ""
	for i := range 40 {
		newest = revisionIn(t, h.Create("/api/v1/namespaces/default/secrets", fmt.Sprintf(`{"metadata":{"name":"s-%d"}}`, i)).Body)
	}
	plain := h.Watch(harness.ConfigMaps + "?watch=1&resourceVersion=" + start)
	fresh := h.Watch(harness.ConfigMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + newest)
	told := h.Watch(harness.ConfigMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + start)
	if e := told.Expect("BOOKMARK "); e.Meta.Metadata.ResourceVersion != newest {
		t.Errorf("the bookmark is at %s, the newest revision %s", e.Meta.Metadata.ResourceVersion, newest)
	}
	h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"k":"v"}}`)
	for _, s := range []*harness.Stream{plain, fresh, told} {
		s.Expect("MODIFIED a")
	}
}

// TestBookmarkAtTheEnd: a watch that ends leaves its client at the newest revision.
func TestBookmarkAtTheEnd(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	s := h.Watch(harness.ConfigMaps + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=1")
	s.Expect("ADDED a")
	newest := revisionIn(t, h.Create("/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`).Body)
	if e := s.Expect("BOOKMARK "); e.Meta.Metadata.ResourceVersion != newest {
		t.Errorf("it ends at %s, the newest revision is %s", e.Meta.Metadata.ResourceVersion, newest)
	}
	s.Ends()
}

// TestSendInitialEvents tries all combinations of options that begin a watch.
func TestSendInitialEvents(t *testing.T) {
	h := harness.Start(t, nil)
	first := revisionIn(t, h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}")).Body)
	h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}"))
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
		path := harness.ConfigMaps + "?watch=1" + test.query
		if test.want == nil {
			if r := h.Get(path); r.Code != 422 || r.Field(t, "reason") != "Invalid" || r.Field(t, "details.kind") != "ListOptions" {
				t.Errorf("%s: %d %s", test.query, r.Code, r.Body)
			}
			continue
		}
		s := h.Watch(path)
		if len(test.want) > 0 {
			s.Expect(test.want...)
		}
		h.Create(harness.ConfigMaps, harness.ConfigMap("b-1", "{}"))
		if test.query != "&sendInitialEvents=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Db"+newer {
			s.Expect("ADDED b-1")
		}
		h.Delete(harness.ConfigMaps + "/b-1")
	}
	// The server waits for a revision that does not exist yet, up to a time-out.
	h.Send("GET", harness.ConfigMaps+"?watch=1&sendInitialEvents=true&resourceVersion=999999"+newer, "", nil).Expect(t, 504, "Timeout")
}
