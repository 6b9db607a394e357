package server_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// An attempt of a write that was abandoned, since the object has changed meanwhile, leaves
// no warning behind.
func TestAbandonedAttemptDoesNotWarn(t *testing.T) {
	h := startServer(t, nil)
	owner := func(uid string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":%q}`, uid)
	}
	h.create(configMaps, `{"metadata":{"name":"a","ownerReferences":[`+owner("one")+`]}}`)
	var asked atomic.Int64
	v := newReviewer(t, func(string, map[string]any, map[string]any) {
		if asked.Add(1) == 1 { // another client is faster; its write is reviewed too
			h.mergePatch(configMaps+"/a", `{"metadata":{"ownerReferences":[`+owner("two")+`]}}`).expect(t, 200, "")
		}
	})
	h.validateBy(v, "all", reviewRule(`"UPDATE"`, "", "v1", "configmaps"), "")
	got := h.send("PATCH", configMaps+"/a", "application/json-patch+json", []byte(`[{"op":"copy","from":"/metadata/ownerReferences/0","path":"/metadata/ownerReferences/-"}]`))
	got.expect(t, 200, "")
	if all := strings.Join(got.header.Values("Warning"), "\n"); !strings.Contains(all, "duplicate UID(s) observed: two") || strings.Contains(all, "one") {
		t.Errorf("warnings of an abandoned attempt, or none: %s", all)
	}
}

// A write of an event takes one token of each limit, however often it is attempted.
func TestEventTakesOneToken(t *testing.T) {
	const burst = 12
	h := startServer(t, func(c *server.Config) {
		c.EnableAdmissionPlugins = []string{"EventRateLimit"}
		c.AdmissionControlConfigFile = admissionFile(t, fmt.Sprintf(`- name: EventRateLimit
  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: Server, qps: 1, burst: %d}]}
`, burst))
	})
	const events = "/api/v1/namespaces/default/events"
	h.create(events, `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"source":{"component":"c"}}`)
	for i := range burst - 1 {
		h.mergePatch(events+"/e", fmt.Sprintf(`{"count":%d}`, i+1)).expect(t, 200, "")
	}
}

// A missing namespace is made between the attempts of the write that needs it, not by one.
func TestNamespaceIsProvidedOutsideOfAttempts(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.EnableAdmissionPlugins = []string{"NamespaceAutoProvision"} })
	if n, err := h.server.ProvidedWithin(t.Context(), "provided"); n != 0 || err != nil {
		t.Errorf("%d evaluations made a namespace; error %v", n, err)
	}
	h.get("/api/v1/namespaces/provided/configmaps/a").expect(t, 200, "")
}
