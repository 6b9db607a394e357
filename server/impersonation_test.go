package server_test

import (
	"net/http"
	"testing"
)

// TestNobodyActsAsSomebodyElse: impersonation is refused on every path and over every
// protocol, without an effect.
func TestNobodyActsAsSomebodyElse(t *testing.T) {
	h := startServer(t, nil)
	before := h.get(configMaps).field(t, "metadata.resourceVersion")
	second := *h
	transport := h.client.Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	t.Cleanup(transport.CloseIdleConnections)
	second.client = &http.Client{Transport: transport}

	for protocol, h := range map[string]*harness{"HTTP/1.1": h, "HTTP/2": &second} {
		for _, test := range []struct{ method, path string }{
			{"GET", configMaps}, {"POST", configMaps}, {"DELETE", configMaps}, {"GET", configMaps + "?watch=1"}, {"GET", configMaps + "/none"},
			{"GET", "/api/v1/nodes/a/status"}, {"GET", "/healthz"}, {"GET", "/metrics"}, {"GET", "/api"}, {"GET", "/openapi/v2"}, {"GET", "/debug/pprof/cmdline"},
			{"GET", "/nowhere"}, {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"},
		} {
			for _, header := range [][]string{{"Impersonate-User", "bob"}, {"impersonate-user", ""}, {"IMPERSONATE-USER", "admin", "Impersonate-Group", "system:masters"}} {
				h.send(test.method, test.path, "application/json", []byte(configMap("a", "{}")), header...).expect(t, 403, "Forbidden")
			}
			for _, name := range []string{"Impersonate-Group", "Impersonate-UID", "Impersonate-Extra-Scopes"} {
				h.send(test.method, test.path, "application/json", []byte(configMap("a", "{}")), name, "x").expect(t, 400, "BadRequest")
			}
		}
		if got := h.send("GET", configMaps, "", nil, "Authorization", "Bearer wrong", "Impersonate-User", "bob"); got.code != 401 {
			t.Errorf("%s: somebody unknown got %d, want 401", protocol, got.code)
		}
	}
	if s, err := h.open(configMaps+"?watch=1", nil, "Authorization", "Bearer "+adminToken, "Impersonate-User", "bob"); err == nil || s.resp.StatusCode != 403 {
		t.Errorf("a WebSocket was opened: %v", err)
	}
	if after := h.get(configMaps).field(t, "metadata.resourceVersion"); after != before {
		t.Errorf("the revision went from %v to %v: something was written", before, after)
	}
}
