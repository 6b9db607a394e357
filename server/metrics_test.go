package server_test

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// figures reads /metrics into a map of lines.
func (h *harness) figures() map[string]string {
	h.t.Helper()
	got := h.send("GET", "/metrics", "", nil)
	if got.code != http.StatusOK || got.header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		h.t.Fatalf("/metrics: %d %s %s", got.code, got.header.Get("Content-Type"), got.body)
	}
	all := map[string]string{}
	for line := range bytes.Lines(got.body) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), "} ")
		all[name] = value
		if value == "" {
			name, value, _ = strings.Cut(name, " ")
			all[name] = value
		}
	}
	return all
}

func TestMetrics(t *testing.T) {
	h := startServer(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	for range 2 {
		h.send("POST", maps, "application/json", []byte(`{"metadata":{"generateName":"a-"}}`))
	}
	h.send("POST", maps+"?dryRun=All", "application/json", []byte(`{"metadata":{"name":"b"}}`))
	h.send("GET", maps, "", nil)
	h.send("GET", maps+"/none", "", nil)
	h.send("DELETE", maps+"?labelSelector=none", "", nil)
	h.send("GET", "/healthz/ping", "", nil)
	h.send("GET", "/nowhere/at/all", "", nil)
	h.send("PURGE", "/nowhere/else", "", nil)
	got := h.figures()
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
	h := startServer(t, nil)
	const maps = "/api/v1/namespaces/default/configmaps"
	req, err := http.NewRequest("GET", h.server.URL()+maps+"?watch=1&timeoutSeconds=30", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := h.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	h.send("POST", maps, "application/json", []byte(`{"metadata":{"name":"a"}}`))
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	const watches = `apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"`
	got := h.figures()
	if got[watches] != "1" {
		t.Errorf("%s is %q during the watch, want 1", watches, got[watches])
	}
	if events := `apiserver_watch_events_total{group="",kind="ConfigMap",version="v1"`; got[events] != "1" {
		t.Errorf("%s is %q, want 1", events, got[events])
	}
	_ = resp.Body.Close()
	for begin := time.Now(); h.figures()[watches] != "0"; {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%s is %q when the watch is over, want 0", watches, h.figures()[watches])
		}
	}
}
