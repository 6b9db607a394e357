package metrics_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestMetrics(t *testing.T) {
	h := harness.Start(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	for range 2 {
		h.Send("POST", maps, "application/json", []byte(`{"metadata":{"generateName":"a-"}}`))
	}
	h.Send("POST", maps+"?dryRun=All", "application/json", []byte(`{"metadata":{"name":"b"}}`))
	h.Send("GET", maps, "", nil)
	h.Send("GET", maps+"/none", "", nil)
	h.Send("DELETE", maps+"?labelSelector=none", "", nil)
	h.Send("GET", "/healthz/ping", "", nil)
	h.Send("GET", "/nowhere/at/all", "", nil)
	h.Send("PURGE", "/nowhere/else", "", nil)
	got := h.Figures()
	const of = `component="apiserver",dry_run="",group="",resource="configmaps",scope=`
	for name, want := range map[string]string{
		`apiserver_request_total{code="201",` + of + `"resource",subresource="",verb="POST",version="v1"`:                                                                "2",
		`apiserver_request_total{code="200",` + of + `"namespace",subresource="",verb="DELETE",version="v1"`:                                                             "1",
		`apiserver_request_total{code="201",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"`: "1",
		`apiserver_request_total{code="200",` + of + `"namespace",subresource="",verb="LIST",version="v1"`:                                                               "1",
		`apiserver_request_total{code="404",` + of + `"resource",subresource="",verb="GET",version="v1"`:                                                                 "1",
		`apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="",scope="",subresource="",verb="GET",version=""`:                         "1",
		`apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="",scope="",subresource="",verb="other",version=""`:                       "1",
		`apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="",scope="",subresource="/healthz",verb="GET",version=""`:                 "1",
		`apiserver_request_duration_seconds_count{` + of + `"resource",subresource="",verb="POST",version="v1"`:                                                          "2",
		`apiserver_current_inflight_requests{request_kind="mutating"`:                                                                                                    "0",
		`apiserver_storage_objects{resource="configmaps"`:                                                                                                                "3", // one is the server's
		`capstan_store_healthy`: "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	if _, ok := got[`apiserver_response_sizes_count{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1"`]; !ok {
		t.Error("lists have no size")
	}
	for name := range got {
		if strings.Contains(name, "nowhere") {
			t.Errorf("%s: what a client asks for is no label", name)
		}
	}
}

// TestMetricsOfWatches: a watch is counted while it lasts, and so are its events.
func TestMetricsOfWatches(t *testing.T) {
	h := harness.Start(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	req, err := http.NewRequest("GET", h.Running.URL()+maps+"?watch=1&timeoutSeconds=30", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	resp, err := h.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	h.Send("POST", maps, "application/json", []byte(`{"metadata":{"name":"a"}}`))
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	const watches = `apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"`
	got := h.Figures()
	if got[watches] != "1" {
		t.Errorf("%s is %q during the watch, want 1", watches, got[watches])
	}
	if events := `apiserver_watch_events_total{group="",kind="ConfigMap",version="v1"`; got[events] != "1" {
		t.Errorf("%s is %q, want 1", events, got[events])
	}
	_ = resp.Body.Close()
	for begin := time.Now(); h.Figures()[watches] != "0"; {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%s is %q when the watch is over, want 0", watches, h.Figures()[watches])
		}
	}
}
