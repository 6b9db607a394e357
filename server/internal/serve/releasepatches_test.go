package serve_test

import (
	"encoding/json"
	"net/http"
	"strings"
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

// TestPatchedVersion: a JSON or merge patch may change the version to another one of the kind, also of the
// other group of events. The object is read in that version, and answered in that of the request.
func TestPatchedVersion(t *testing.T) {
	const (
		merge  = "application/merge-patch+json"
		events = "/api/v1/namespaces/default/events"
		newer  = "/apis/events.k8s.io/v1/namespaces/default/events"
		scaler = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	)
	for _, release := range []string{"1.25", "1.31", "1.36"} {
		h := harness.Start(t, emulating(release))
		h.Create(events, `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"type":"Normal","reason":"R","message":"m"}`)
		h.Create(scaler, `{"metadata":{"name":"h"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}`)
		for _, test := range []struct {
			path, media, patch string
			code               int
			has, lacks         string
		}{
			{events + "/e", merge, `{"apiVersion":"events.k8s.io/v1","note":"n","regarding":{"name":"q"}}`, 200, `"apiVersion":"v1","metadata"`, `message":"m"`},
			{events + "/e", merge, `{"apiVersion":"v1","message":"x"}`, 200, `"involvedObject":{"name":"q"}`, "regarding"},
			{newer + "/e", harness.JSONPatchMedia, `[{"op":"replace","path":"/apiVersion","value":"v1"},{"op":"add","path":"/message","value":"y"}]`, 422, `"field":"involvedObject"`, ""},
			{newer + "/e", harness.JSONPatchMedia, `[{"op":"replace","path":"/apiVersion","value":"v1"},{"op":"move","from":"/regarding","path":"/involvedObject"},{"op":"move","from":"/note","path":"/message"}]`, 200, `"note":"x"`, "message"},
			{newer + "/e?fieldValidation=Strict", merge, `{"apiVersion":"v1"}`, 400, `unknown field \"note\"`, ""},
			{newer + "/e", merge, `{"apiVersion":"apps/v1"}`, 422, `"field":"patch"`, ""},
			{newer + "/e", merge, `{"apiVersion":"v1","kind":"Pod"}`, 422, `"field":"patch"`, ""},
			{scaler + "/h", merge, `{"apiVersion":"autoscaling/v1","spec":{"targetCPUUtilizationPercentage":7}}`, 200, `"averageUtilization":7`, "targetCPU"},
		} {
			answer := h.Send(http.MethodPatch, test.path, test.media, []byte(test.patch))
			body := string(answer.Body)
			if answer.Code != test.code || !strings.Contains(body, test.has) || test.lacks != "" && strings.Contains(body, `"`+test.lacks) {
				t.Errorf("%s: %s to %s is answered with %d, want %d with %s and without %s:\n%s", release, test.patch, test.path, answer.Code, test.code, test.has, test.lacks, body)
			}
		}
	}
}
