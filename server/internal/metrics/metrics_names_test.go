package metrics_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// The names and labels of metrics are those of kube-apiserver 1.25 where it has them, so
// that dashboards and alerts made for it work.
func TestMetricsHaveUpstreamNames(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.MaxMutatingRequestsInflight = 1 })
	h.Get("/api/v1/componentstatuses")
	h.WatchLines("/api/v1/namespaces?watch=1&timeoutSeconds=10")()
	// The server answers 504 to a revision that never exists.
	if got := h.Get("/api/v1/nodes?resourceVersion=99999999"); got.Code != http.StatusGatewayTimeout {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	const of = "component group resource scope subresource verb version"
	want := map[string]string{
		"apiserver_request_total":                          "code component dry_run group resource scope subresource verb version",
		"apiserver_request_duration_seconds_bucket":        "component dry_run group resource scope subresource verb version",
		"apiserver_response_sizes_bucket":                  of,
		"apiserver_request_terminations_total":             "code " + of,
		"apiserver_longrunning_requests":                   of,
		"apiserver_current_inflight_requests":              "request_kind",
		"apiserver_requested_deprecated_apis":              "group removed_release resource subresource version",
		"apiserver_storage_objects":                        "resource",
		"apiserver_watch_events_total":                     "group kind version",
		"apiserver_watch_events_sizes_bucket":              "group kind version",
		"kubernetes_build_info":                            "build_date compiler git_commit git_tree_state git_version go_version major minor platform",
		"kubernetes_feature_enabled":                       "name stage",
		"process_cpu_seconds_total":                        "",
		"process_resident_memory_bytes":                    "",
		"process_open_fds":                                 "",
		"go_goroutines":                                    "",
		"go_memstats_heap_inuse_bytes":                     "",
		"capstan_certificate_expiration_timestamp_seconds": "certificate",
		"capstan_store_revision":                           "",
		"capstan_store_disk_bytes":                         "",
	}
	got := map[string]string{}
	for line := range h.Figures() {
		name, labels := harness.LabelsOf(line)
		if before, seen := got[name]; seen && before != labels && !strings.HasPrefix(name, "go_") {
			t.Errorf("%s has the labels %q and %q", name, before, labels)
		}
		got[name] = labels
	}
	for name, labels := range want {
		if have, ok := got[name]; !ok || have != labels {
			t.Errorf("%s has the labels %q (there: %v), want %q", name, have, ok, labels)
		}
	}
}

// A counter is named as one, so that it is not taken for a gauge.
func TestCountersEndInTotal(t *testing.T) {
	for line := range strings.Lines(string(harness.Start(t, nil).Get("/metrics").Body)) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" && (words[3] == "counter") != strings.HasSuffix(words[2], "_total") {
			t.Errorf("the %s is called %s", words[3], words[2])
		}
	}
}

// A user without rights makes metrics grow by next to nothing, however many resources,
// verbs and options are refused.
func TestRefusedRequestsAreFewSeries(t *testing.T) {
	h := harness.Start(t, nil)
	count := func() (n int) {
		for name := range h.Figures() {
			if strings.HasPrefix(name, "apiserver_") {
				n++
			}
		}
		return n
	}
	h.Get("/metrics")
	before := count()
	for _, authorization := range []string{"", "Bearer wrong", "Bearer bob-token"} {
		for _, path := range []string{"/api/v1/pods", "/api/v1/nodes/a", "/api/v1/nodes/a/status", "/apis/apps/v1/deployments", "/apis/apps/v1/watch/deployments",
			"/apis/batch/v1/namespaces/default/jobs", "/api/v1/secrets?watch=1", "/apis/batch/v1/namespaces/default/jobs/a/status", "/debug/pprof/heap", "/metrics", "/nowhere"} {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
				got := h.Send(method, path, "application/json", nil, "Authorization", authorization)
				if got.Code < 401 || got.Code > 405 {
					t.Fatalf("%s %s: %d", method, path, got.Code)
				}
				h.Send(method, path+"?dryRun=All", "application/json", nil, "Authorization", authorization)
			}
		}
	}
	// Seven methods with two codes, in one counter and three histograms with 26, 24 and 24 lines;
	// reads have a size too, of 10 lines.
	if grown := count() - before; grown > 7*(3+26+24+24)+2*10 {
		t.Errorf("%d more series after requests that were refused", grown)
	}
	for name := range h.Figures() {
		if strings.Contains(name, `resource="jobs"`) && !strings.Contains(name, "apiserver_storage_objects") {
			t.Errorf("a resource that nobody was let to: %s", name)
		}
	}
}

// Requests cannot make metrics grow: neither methods nor paths nor names nor options
// become labels.
func TestMetricsAreBounded(t *testing.T) {
	h := harness.Start(t, nil)
	ask := func(i int) {
		word := fmt.Sprintf("evil%d", i)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", strings.ToUpper(word)} {
			for _, path := range []string{
				"/" + word, "/" + word + "/" + word, "/api/" + word, "/apis/" + word + "/v1/" + word, "/apis/apps/" + word, "/api/v1/" + word,
				"/api/v1/namespaces/" + word + "/configmaps", "/api/v1/namespaces/default/configmaps/" + word, "/api/v1/namespaces/default/pods/" + word + "/" + word,
				"/api/v1/namespaces/default/pods/" + word + "/status", "/api/v1/namespaces/default/configmaps?dryRun=" + word, "/healthz/" + word, "/openapi/v3/" + word, "/debug/pprof/" + word,
				"/api/v1/namespaces/default/configmaps?labelSelector=" + word, "/api/v1/namespaces/default/configmaps?watch=" + word + "&timeoutSeconds=1&limit=" + word,
			} {
				if method == "GET" && strings.Contains(path, "watch=") {
					continue // it would last
				}
				h.Send(method, path, "application/json", []byte("{}"), "Accept", "application/json;as="+word+", */*")
			}
		}
	}
	series := func() map[string]string {
		all := h.Figures()
		maps.DeleteFunc(all, func(name, _ string) bool {
			return !strings.HasPrefix(name, "apiserver_") || strings.Contains(name, "_bucket{")
		})
		return all
	}
	ask(0)
	h.Get("/metrics")
	before := series()
	for i := 1; i <= 3; i++ {
		ask(i)
	}
	after := series()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, known := before[name]; !known {
			t.Errorf("there is a new series: %s", name)
		}
		if strings.Contains(strings.ToLower(name), "evil") {
			t.Errorf("a label is what a client sent: %s", name)
		}
	}
}
