package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	podsPath   = "/api/v1/namespaces/default/pods"
	podBody    = `{"metadata":{"name":"p","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	budgetPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
)

// step is one request of a table test.
type step struct {
	name, method, path, media, body string
	code                            int
	want                            string // part of the answer
}

func (h *harness) run(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		media := s.media
		if media == "" {
			media = "application/json"
		}
		if got := h.send(s.method, s.path, media, []byte(s.body)); got.code != s.code || !strings.Contains(string(got.body), s.want) {
			t.Fatalf("%s: %d %s\nwant %d with %s", s.name, got.code, got.body, s.code, s.want)
		}
	}
}

func TestBinding(t *testing.T) {
	h := startServer(t, nil)
	bind := func(name, node string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"why":"room"}},"target":{"kind":"Node","name":%q}}`, name, node)
	}
	h.run(t, []step{
		{"no pod", "POST", podsPath + "/p/binding", "", bind("p", "n"), 404, `"kind":"pods"`},
		{"create", "POST", podsPath, "", podBody, 201, ""},
		{"other name", "POST", podsPath + "/p/binding", "", bind("q", "n"), 400, "does not match"},
		{"no target", "POST", podsPath + "/p/binding", "", `{"metadata":{"name":"p"}}`, 422, "target.name: Required"},
		{"no node", "POST", podsPath + "/p/binding", "", `{"metadata":{"name":"p"},"target":{"kind":"Pod","name":"n"}}`, 422, "Unsupported value"},
		{"other pod", "POST", podsPath + "/p/binding", "", `{"metadata":{"name":"p","uid":"x"},"target":{"name":"n"}}`, 409, "Precondition failed"},
		{"dry run", "POST", podsPath + "/p/binding?dryRun=All", "", bind("p", "n"), 201, `"status":"Success","code":201`},
		{"bind", "POST", podsPath + "/p/binding", "", bind("p", "node-a"), 201, `"status":"Success","code":201`},
		{"again", "POST", podsPath + "/p/binding", "", bind("p", "node-b"), 409, `"kind":"pods/binding"`},
		{"by the collection", "POST", "/api/v1/namespaces/default/bindings", "", bind("p", "node-b"), 409, "already assigned"},
		{"read", "GET", podsPath + "/p/binding", "", "", 405, "MethodNotAllowed"},
	})
	pod := h.get(podsPath + "/p")
	for path, want := range map[string]any{
		"spec.nodeName":              "node-a",
		"metadata.annotations.why":   "room",
		"status.conditions.0.type":   "PodScheduled",
		"status.conditions.0.status": "True",
	} {
		if got := pod.field(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestEviction(t *testing.T) {
	h := startServer(t, nil)
	const evict = `{"metadata":{"name":"p"}}`
	status := func(figures string) string {
		return `{"status":{` + figures + `}}`
	}
	merge := "application/merge-patch+json"
	path := podsPath + "/p/eviction"
	h.run(t, []step{
		{"no pod", "POST", path, "", evict, 404, `"kind":"pods"`},
		{"create", "POST", podsPath, "", podBody, 201, ""},
		{"other name", "POST", path, "", `{"metadata":{"name":"q"}}`, 400, "does not match"},
		{"other version", "POST", path, "", `{"apiVersion":"policy/v2","kind":"Eviction","metadata":{"name":"p"}}`, 400, "expected API version"},
		{"bad options", "POST", path, "", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":["x"]}}`, 422, "dryRun"},
		{"budget", "POST", budgetPath, "", `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}`, 201, ""},
		{"pending pods may go", "POST", path + "?dryRun=All", "", evict, 201, "Success"},
		{"older version", "POST", path + "?dryRun=All", "", `{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"}}`, 201, "Success"},
		{"it runs", "PATCH", podsPath + "/p/status", merge, status(`"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`), 200, ""},
		{"budget not seen yet", "POST", path, "", evict, 429, `"retryAfterSeconds":10`},
		{"none allowed", "PATCH", budgetPath + "/b/status", merge, status(`"observedGeneration":1,"desiredHealthy":1,"currentHealthy":1`), 200, ""},
		{"refused", "POST", path, "", evict, 429, "needs 1 healthy pods and has 1 currently"},
		{"one allowed", "PATCH", budgetPath + "/b/status", merge, status(`"disruptionsAllowed":1`), 200, ""},
		{"dry run", "POST", path, "", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":["All"]}}`, 201, "Success"},
		{"nothing taken", "GET", budgetPath + "/b", "", "", 200, `"disruptionsAllowed":1`},
		{"two dry runs", "POST", path + "?dryRun=All&dryRun=All", "", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":["All"]}}`, 400, "Non-matching dry-run options in request and content"},
		{"evict", "POST", path, "", evict, 201, `"status":"Success","code":201`},
		{"gone", "GET", podsPath + "/p", "", "", 404, ""},
		{"one taken", "GET", budgetPath + "/b", "", "", 200, `"disruptedPods":{"p":`},
		{"the last one", "GET", budgetPath + "/b", "", "", 200, `"reason":"InsufficientPods","message":""`},
	})
	if got := h.get(budgetPath+"/b").field(t, "status.disruptionsAllowed"); got != 0.0 {
		t.Errorf("%v disruptions are left, want none", got)
	}
	h.run(t, []step{
		{"again", "POST", podsPath, "", podBody, 201, ""},
		{"it runs", "PATCH", podsPath + "/p/status", merge, status(`"phase":"Running"`), 200, ""},
		{"not ready, and the others are enough", "POST", path + "?dryRun=All", "", evict, 201, "Success"},
		{"another version", "POST", path, "", `{"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`, 409, "ResourceVersion in the precondition"},
		{"still none allowed", "GET", budgetPath + "/b", "", "", 200, `"disruptionsAllowed":0`},
		{"the others are too few", "PATCH", budgetPath + "/b/status", merge, status(`"desiredHealthy":2`), 200, ""},
		{"not ready is refused", "POST", path, "", evict, 429, "needs 2 healthy pods and has 1 currently"},
		{"second budget", "POST", budgetPath, "", `{"metadata":{"name":"all"},"spec":{"maxUnavailable":"10%","selector":{}}}`, 201, ""},
		{"two budgets", "POST", path, "", evict, 500, "more than one PodDisruptionBudget"},
	})
}

func TestEphemeralContainers(t *testing.T) {
	h := startServer(t, nil)
	path := podsPath + "/p/ephemeralcontainers"
	strategic := "application/strategic-merge-patch+json"
	add := func(name, image string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{"new":"x"}},"spec":{"ephemeralContainers":[{"name":%q,"image":%q}]}}`, name, image)
	}
	h.run(t, []step{
		{"no pod", "PATCH", path, strategic, add("d", "i"), 404, ""},
		{"create", "POST", podsPath, "", podBody, 201, ""},
		{"not by the pod", "PATCH", podsPath + "/p", strategic, add("d", "i"), 422, "spec"},
		{"add", "PATCH", path, strategic, add("d", "i"), 200, `"name":"d"`},
		{"change", "PATCH", path, strategic, add("d", "j"), 422, `existing ephemeral containers \"d\" may not be changed`},
		{"change to what none has", "PATCH", path, strategic, `{"spec":{"ephemeralContainers":[{"name":"d","resources":{"limits":{"cpu":"1"}}}]}}`, 422,
			`"field":"spec.ephemeralContainers[0].resources"},{"reason":"FieldValueForbidden"`},
		{"remove", "PATCH", path, "application/merge-patch+json", `{"spec":{"ephemeralContainers":null}}`, 422, "may not be removed"},
		{"name taken", "PATCH", path, strategic, add("c", "i"), 422, "Duplicate"},
		{"another", "PATCH", path, strategic, add("e", "i"), 200, `"name":"e"`},
		{"read", "GET", path, "", "", 200, `"kind":"Pod"`},
	})
	pod := h.get(podsPath + "/p")
	if got := pod.field(t, "metadata.labels.new"); got != nil {
		t.Errorf("a label came along: %v", got)
	}
	put := strings.Replace(string(pod.body), `"name":"e","image":"i"`, `"name":"e","image":"j"`, 1)
	if got := h.send(http.MethodPut, path, "application/json", []byte(put)); got.code != 422 {
		t.Errorf("PUT: %d %s", got.code, got.body)
	}
}
