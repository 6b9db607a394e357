package objects_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// An attempt of a write that was abandoned, since the object has changed meanwhile, leaves
// no warning behind.
func TestAbandonedAttemptDoesNotWarn(t *testing.T) {
	h := harness.Start(t, nil)
	owner := func(uid string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":%q}`, uid)
	}
	h.Create(harness.ConfigMaps, `{"metadata":{"name":"a","ownerReferences":[`+owner("one")+`]}}`)
	var asked atomic.Int64
	v := harness.NewReviewer(t, func(string, map[string]any, map[string]any) {
		if asked.Add(1) == 1 { // another client is faster; its write is reviewed too
			h.MergePatch(harness.ConfigMaps+"/a", `{"metadata":{"ownerReferences":[`+owner("two")+`]}}`).Expect(t, 200, "")
		}
	})
	h.ValidateBy(v, "all", harness.ReviewRule(`"UPDATE"`, "", "v1", "configmaps"), "")
	got := h.Send("PATCH", harness.ConfigMaps+"/a", "application/json-patch+json", []byte(`[{"op":"copy","from":"/metadata/ownerReferences/0","path":"/metadata/ownerReferences/-"}]`))
	got.Expect(t, 200, "")
	if all := strings.Join(got.Header.Values("Warning"), "\n"); !strings.Contains(all, "duplicate UID(s) observed: two") || strings.Contains(all, "one") {
		t.Errorf("warnings of an abandoned attempt, or none: %s", all)
	}
}

// A write of an event takes one token of each limit, however often it is attempted.
func TestEventTakesOneToken(t *testing.T) {
	const burst = 12
	h := harness.Start(t, func(c *server.Config) {
		c.EnableAdmissionPlugins = []string{"EventRateLimit"}
		c.AdmissionControlConfigFile = harness.AdmissionFile(t, fmt.Sprintf(`- name: EventRateLimit
  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: Server, qps: 1, burst: %d}]}
`, burst))
	})
	const events = "/api/v1/namespaces/default/events"
	h.Create(events, `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"source":{"component":"c"}}`)
	for i := range burst - 1 {
		h.MergePatch(events+"/e", fmt.Sprintf(`{"count":%d}`, i+1)).Expect(t, 200, "")
	}
}

// A missing namespace is made between the attempts of the write that needs it, not by one.
func TestNamespaceIsProvidedOutsideOfAttempts(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EnableAdmissionPlugins = []string{"NamespaceAutoProvision"} })
	if n, err := h.Running.ProvidedWithin(t.Context(), "provided"); n != 0 || err != nil {
		t.Errorf("%d evaluations made a namespace; error %v", n, err)
	}
	h.Get("/api/v1/namespaces/provided/configmaps/a").Expect(t, 200, "")
}
