package custom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A validating webhook sees the status of a new object without the defaults that it has
// from then on, as in 1.25; a mutating one sees the sent one, with them.
func TestReviewedStatusOfNewObjects(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	h.MutateBy(v, "m", harness.ReviewRule(`"CREATE"`, "", "v1", "persistentvolumeclaims")+","+harness.ReviewRule(`"CREATE"`, "", "v1", "persistentvolumes"), "")
	h.ValidateBy(v, "v", harness.ReviewRule(`"CREATE"`, "", "v1", "persistentvolumeclaims")+","+harness.ReviewRule(`"CREATE"`, "", "v1", "persistentvolumes"), "")
	for path, body := range map[string]string{
		"/api/v1/namespaces/default/persistentvolumeclaims": `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}},"status":{"phase":"Bound"}}`,
		"/api/v1/persistentvolumes":                         `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"},"capacity":{"storage":"1"}},"status":{"phase":"Bound"}}`,
	} {
		for _, query := range []string{"?dryRun=All", ""} {
			if got := h.Post(path+query, body); got.Code != 201 || !strings.Contains(string(got.Body), `"status":{"phase":"Pending"}`) {
				t.Errorf("%s%s: %d %s", path, query, got.Code, got.Body)
			}
			if got := fmt.Sprint(v.Requests[0]["object"].(map[string]any)["status"], v.Requests[1]["object"].(map[string]any)["status"]); got != "map[phase:Bound] map[]" {
				t.Errorf("%s%s: reviewed %s", path, query, got)
			}
			v.Last()
		}
	}
}

// A mutating webhook sees the storage version of a new definition, which is a default.
func TestReviewedDefinitions(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	h.MutateBy(v, "m", harness.ReviewRule(`"CREATE"`, "apiextensions.k8s.io", "v1", "customresourcedefinitions"), "")
	h.Define(harness.WidgetSchema, "")
	if text, n := v.Last(); n != 1 || !strings.Contains(text, `"storedVersions":["v1"]`) {
		t.Errorf("%d reviews, the last %s", n, text)
	}
}
