package background_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A terminating namespace takes no content, and neither tokens, bindings nor evictions; an
// object that outlives its namespace cannot be changed. Both as in 1.25.
func TestEndingNamespaces(t *testing.T) {
	h := harness.Start(t, nil)
	const (
		ns      = "/api/v1/namespaces/ends"
		held    = `"finalizers":["example.com/hold"]`
		pod     = `"spec":{"containers":[{"name":"c","image":"i"}]}}`
		refused = `"causes":[{"reason":"NamespaceTerminating"`
		gone    = `namespaces \"ends\" not found`
		token   = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`
		evict   = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`
		bind    = `{"metadata":{"name":"p"},"target":{"name":"n"}}`
		review  = `{"spec":{"user":"u","resourceAttributes":{"namespace":"ends","verb":"get","resource":"pods"}}}`
	)
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"ends"}}`)
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"default",`+held+`}}`)
	h.Create(ns+"/pods", `{"metadata":{"name":"p",`+held+`},`+pod)
	h.Create(ns+"/configmaps", `{"metadata":{"name":"a",`+held+`}}`)
	h.Remove(ns, "").Expect(t, 200, "")
	v := harness.NewReviewer(t, nil)
	h.ValidateBy(v, "deletes", harness.ReviewRule(`"DELETE"`, "", "v1", "namespaces"), "")
	if got := h.Remove(ns, `{"propagationPolicy":"Foreground"}`); strings.Contains(string(got.Body), "foregroundDeletion") {
		t.Errorf("a second delete changes the finalizers: %s", got.Body)
	}
	if text, n := v.Last(); n != 0 {
		t.Errorf("a second delete is reviewed: %s", text)
	}
	h.Run(t, []harness.Step{
		{"token", "POST", ns + "/serviceaccounts/default/token", "", token, 403, refused},
		{"token of no account", "POST", ns + "/serviceaccounts/x/token", "", token, 403, refused},
		{"eviction", "POST", ns + "/pods/p/eviction", "", evict, 403, refused},
		{"binding", "POST", ns + "/pods/p/binding", "", bind, 403, refused},
		{"older binding", "POST", ns + "/bindings", "", bind, 403, `"kind":"bindings"`},
		{"generated name", "POST", ns + "/configmaps", "", `{"metadata":{"generateName":"x-"}}`, 403, `"details":{"name":"x-","kind":"configmaps"`},
		{"no name", "POST", ns + "/configmaps", "", `{"metadata":{}}`, 403, `"details":{"name":"Unknown","kind":"configmaps"`},
		{"review", "POST", "/apis/authorization.k8s.io/v1/namespaces/ends/localsubjectaccessreviews", "", review, 201, ""},
		{"change", "PATCH", ns + "/configmaps/a", harness.MergePatchMedia, `{"data":{"x":"1"}}`, 200, ""},
		{"no finalizers", "PUT", ns + "/finalize", "", `{"metadata":{"name":"ends"},"spec":{"finalizers":[]}}`, 200, ""},
		{"gone", "GET", ns, "", "", 404, ""},
		{"patch", "PATCH", ns + "/configmaps/a", harness.MergePatchMedia, `{"data":{"x":"2"}}`, 404, gone},
		{"replacement", "PUT", ns + "/configmaps/a", "", harness.ConfigMap("a", `{}`), 404, gone},
		{"status", "PATCH", ns + "/pods/p/status", harness.MergePatchMedia, `{"status":{"phase":"Failed"}}`, 404, gone},
		{"late token", "POST", ns + "/serviceaccounts/default/token", "", token, 404, gone},
		{"late eviction", "POST", ns + "/pods/p/eviction", "", evict, 404, gone},
		{"still there", "GET", ns + "/configmaps/a", "", "", 200, ""},
		{"deletes go on", "DELETE", ns + "/configmaps/a", "", "", 200, ""},
	})
}
