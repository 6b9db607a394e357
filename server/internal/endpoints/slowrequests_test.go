package endpoints_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// slowServer takes every request for slow that waits for a revision which never comes.
func slowServer(t *testing.T, most int) *harness.Server {
	return harness.Start(t, func(c *server.Config) {
		c.SlowRequests, c.SlowRequestThreshold = most, 300*time.Millisecond
		harness.Shorten(c, func(d *seams.Durations) { d.Future = 400 * time.Millisecond })
	})
}

func slowRequests(t *testing.T, h *harness.Server) (all struct {
	ThresholdSeconds float64
	Requests         []request.SlowRequest
}) {
	t.Helper()
	got := h.Get("/debug/slow_requests")
	got.Expect(t, http.StatusOK, "")
	if err := json.Unmarshal(got.Body, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSlowRequestsAreShown: what they were about, and nothing that is private.
func TestSlowRequestsAreShown(t *testing.T) {
	h := slowServer(t, 10)
	h.Get("/api/v1/nodes")
	h.Get("/api/v1/nodes?watch=1&timeoutSeconds=1") // lasts as long as its client wants
	const query = "?resourceVersion=99999999&labelSelector=hidden-label&password=hidden-value&hidden-name"
	h.Get("/api/v1/namespaces/default/configmaps"+query).Expect(t, http.StatusGatewayTimeout, "Timeout")
	h.Get("/apis/apps/v1/deployments"+query+strings.Repeat("&x=1", 100)).Expect(t, http.StatusGatewayTimeout, "Timeout")

	all := slowRequests(t, h)
	if all.ThresholdSeconds != 0.3 || len(all.Requests) != 2 {
		t.Fatalf("%+v", all)
	}
	r := all.Requests[1]
	if r.Method != "GET" || r.Path != "/api/v1/namespaces/default/configmaps" || r.Verb != "list" || r.Version != "v1" || r.Resource != "configmaps" ||
		r.User != "admin" || r.Code != http.StatusGatewayTimeout || r.Duration < 0.3 || r.Duration > 20 || time.Since(r.Time) > time.Minute ||
		!slices.Equal(r.Options, []string{"resourceVersion", "labelSelector"}) {
		t.Errorf("%+v", r)
	}
	if r := all.Requests[0]; r.Group != "apps" || r.Resource != "deployments" {
		t.Errorf("the newest is not the first: %+v", r)
	}
	if got := h.Get("/debug/slow_requests?limit=1"); strings.Count(string(got.Body), `"path"`) != 1 {
		t.Errorf("not one: %s", got.Body)
	}
	h.Get("/debug/slow_requests?limit=x").Expect(t, http.StatusBadRequest, "BadRequest")
	if text := string(h.Get("/debug/slow_requests").Body); strings.Contains(text, "hidden") {
		t.Errorf("something private is shown: %s", text)
	}
}

// TestSlowRequestsAreBounded: by number and by length.
func TestSlowRequestsAreBounded(t *testing.T) {
	h := slowServer(t, 2)
	for i := range 3 {
		h.Get(fmt.Sprintf("/api/v1/namespaces/%d%s/configmaps?resourceVersion=99999999", i, strings.Repeat("x", 4000)))
	}
	all := slowRequests(t, h).Requests
	if len(all) != 2 || !strings.HasPrefix(all[0].Path, "/api/v1/namespaces/2") || !strings.HasPrefix(all[1].Path, "/api/v1/namespaces/1") || len(all[0].Path) > 600 {
		t.Errorf("%+v", all)
	}
}

// TestSlowRequestsNeedARight: that of the path; a server that keeps none has no such path.
func TestSlowRequestsNeedARight(t *testing.T) {
	h := slowServer(t, 2)
	h.Send("GET", "/debug/slow_requests", "", nil, harness.AsBob...).Expect(t, http.StatusForbidden, "Forbidden")
	if got := slowRequests(t, h); got.Requests == nil {
		t.Errorf("none is no list: %+v", got)
	}
	slowServer(t, -1).Get("/debug/slow_requests").Expect(t, http.StatusNotFound, "")
}
