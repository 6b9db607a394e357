package serve_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleaseNewListDirectives: since 1.28 a strategic merge patch leaves no element with $patch in a list
// that the object does not have yet, also where the list does not merge.
func TestReleaseNewListDirectives(t *testing.T) {
	for release, want := range map[string]int{"1.25": 422, "1.27": 422, "1.28": 200, "1.31": 200, "1.36": 200} {
		h := harness.Start(t, emulating(release))
		h.Create("/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
			"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
		path := "/apis/apps/v1/namespaces/default/deployments/d"
		answer := h.Send(http.MethodPatch, path, "application/strategic-merge-patch+json",
			[]byte(`{"spec":{"template":{"spec":{"tolerations":[{"$patch":"replace"},{"key":"a","operator":"Exists"}]}}}}`))
		if answer.Code != want {
			t.Errorf("%s: a new list with a directive is answered with %d, want %d: %s", release, answer.Code, want, answer.Body)
			continue
		}
		var patched struct {
			Spec struct {
				Template struct{ Spec struct{ Tolerations []any } }
			}
		}
		if err := json.Unmarshal(answer.Body, &patched); err != nil || want == 200 && len(patched.Spec.Template.Spec.Tolerations) != 1 {
			t.Errorf("%s: the patched object is %s %v, want one toleration", release, answer.Body, err)
		}
	}
}
