package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// A validating webhook sees the status of a new object without the defaults that it has
// from then on, as in 1.25; a mutating one sees the sent one, with them.
func TestReviewedStatusOfNewObjects(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, nil)
	h.mutateBy(v, "m", reviewRule(`"CREATE"`, "", "v1", "persistentvolumeclaims")+","+reviewRule(`"CREATE"`, "", "v1", "persistentvolumes"), "")
	h.validateBy(v, "v", reviewRule(`"CREATE"`, "", "v1", "persistentvolumeclaims")+","+reviewRule(`"CREATE"`, "", "v1", "persistentvolumes"), "")
	for path, body := range map[string]string{
		"/api/v1/namespaces/default/persistentvolumeclaims": `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}},"status":{"phase":"Bound"}}`,
		"/api/v1/persistentvolumes":                         `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"},"capacity":{"storage":"1"}},"status":{"phase":"Bound"}}`,
	} {
		for _, query := range []string{"?dryRun=All", ""} {
			if got := h.post(path+query, body); got.code != 201 || !strings.Contains(string(got.body), `"status":{"phase":"Pending"}`) {
				t.Errorf("%s%s: %d %s", path, query, got.code, got.body)
			}
			if got := fmt.Sprint(v.requests[0]["object"].(map[string]any)["status"], v.requests[1]["object"].(map[string]any)["status"]); got != "map[phase:Bound] map[]" {
				t.Errorf("%s%s: reviewed %s", path, query, got)
			}
			v.last()
		}
	}
}

// A mutating webhook sees the storage version of a new definition, which is a default.
func TestReviewedDefinitions(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, nil)
	h.mutateBy(v, "m", reviewRule(`"CREATE"`, "apiextensions.k8s.io", "v1", "customresourcedefinitions"), "")
	h.define(widgetSchema, "")
	if text, n := v.last(); n != 1 || !strings.Contains(text, `"storedVersions":["v1"]`) {
		t.Errorf("%d reviews, the last %s", n, text)
	}
}
