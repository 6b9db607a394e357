package endpoints_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestBinding(t *testing.T) {
	h := harness.Start(t, nil)
	bind := func(name, node string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"why":"room"}},"target":{"kind":"Node","name":%q}}`, name, node)
	}
	h.Run(t, []harness.Step{
		{"no pod", "POST", harness.PodsPath + "/p/binding", "", bind("p", "n"), 404, `"kind":"pods"`},
		{"create", "POST", harness.PodsPath, "", harness.PodBody, 201, ""},
		{"other name", "POST", harness.PodsPath + "/p/binding", "", bind("q", "n"), 400, "does not match"},
		{"no target", "POST", harness.PodsPath + "/p/binding", "", `{"metadata":{"name":"p"}}`, 422, "target.name: Required"},
		{"no node", "POST", harness.PodsPath + "/p/binding", "", `{"metadata":{"name":"p"},"target":{"kind":"Pod","name":"n"}}`, 422, "Unsupported value"},
		{"other pod", "POST", harness.PodsPath + "/p/binding", "", `{"metadata":{"name":"p","uid":"x"},"target":{"name":"n"}}`, 409, "Precondition failed"},
		{"dry run", "POST", harness.PodsPath + "/p/binding?dryRun=All", "", bind("p", "n"), 201, `"status":"Success","code":201`},
		{"bind", "POST", harness.PodsPath + "/p/binding", "", bind("p", "node-a"), 201, `"status":"Success","code":201`},
		{"again", "POST", harness.PodsPath + "/p/binding", "", bind("p", "node-b"), 409, `"kind":"pods/binding"`},
		{"by the collection", "POST", "/api/v1/namespaces/default/bindings", "", bind("p", "node-b"), 409, "already assigned"},
		{"read", "GET", harness.PodsPath + "/p/binding", "", "", 405, "MethodNotAllowed"},
	})
	pod := h.Get(harness.PodsPath + "/p")
	for path, want := range map[string]any{
		"spec.nodeName":              "node-a",
		"metadata.annotations.why":   "room",
		"status.conditions.0.type":   "PodScheduled",
		"status.conditions.0.status": "True",
	} {
		if got := pod.Field(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestEviction(t *testing.T) {
	h := harness.Start(t, nil)
	const evict = `{"metadata":{"name":"p"}}`
	status := func(figures string) string {
		return `{"status":{` + figures + `}}`
	}
	merge := "application/merge-patch+json"
	path := harness.PodsPath + "/p/eviction"
	h.Run(t, []harness.Step{
		{"no pod", "POST", path, "", evict, 404, `"kind":"pods"`},
		{"create", "POST", harness.PodsPath, "", harness.PodBody, 201, ""},
		{"other name", "POST", path, "", `{"metadata":{"name":"q"}}`, 400, "does not match"},
		{"other version", "POST", path, "", `{"apiVersion":"policy/v2","kind":"Eviction","metadata":{"name":"p"}}`, 400, "expected API version"},
		{"bad options", "POST", path, "", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":["x"]}}`, 422, "dryRun"},
		{"budget", "POST", harness.BudgetPath, "", `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}`, 201, ""},
		{"pending pods may go", "POST", path + "?dryRun=All", "", evict, 201, "Success"},
		{"older version", "POST", path + "?dryRun=All", "", `{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"}}`, 201, "Success"},
		{"it runs", "PATCH", harness.PodsPath + "/p/status", merge, status(`"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`), 200, ""},
		{"budget not seen yet", "POST", path, "", evict, 429, `"retryAfterSeconds":10`},
		{"none allowed", "PATCH", harness.BudgetPath + "/b/status", merge, status(`"observedGeneration":1,"desiredHealthy":1,"currentHealthy":1`), 200, ""},
		{"refused", "POST", path, "", evict, 429, "needs 1 healthy pods and has 1 currently"},
		{"one allowed", "PATCH", harness.BudgetPath + "/b/status", merge, status(`"disruptionsAllowed":1`), 200, ""},
		{"dry run", "POST", path, "", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":["All"]}}`, 201, "Success"},
		{"nothing taken", "GET", harness.BudgetPath + "/b", "", "", 200, `"disruptionsAllowed":1`},
		{"two dry runs", "POST", path + "?dryRun=All&dryRun=All", "", `{"metadata":{"name":"p"},"deleteOptions":{"dryRun":["All"]}}`, 400, "Non-matching dry-run options in request and content"},
		{"evict", "POST", path, "", evict, 201, `"status":"Success","code":201`},
		{"gone", "GET", harness.PodsPath + "/p", "", "", 404, ""},
		{"one taken", "GET", harness.BudgetPath + "/b", "", "", 200, `"disruptedPods":{"p":`},
		{"the last one", "GET", harness.BudgetPath + "/b", "", "", 200, `"reason":"InsufficientPods","message":""`},
	})
	if got := h.Get(harness.BudgetPath+"/b").Field(t, "status.disruptionsAllowed"); got != 0.0 {
		t.Errorf("%v disruptions are left, want none", got)
	}
	h.Run(t, []harness.Step{
		{"again", "POST", harness.PodsPath, "", harness.PodBody, 201, ""},
		{"it runs", "PATCH", harness.PodsPath + "/p/status", merge, status(`"phase":"Running"`), 200, ""},
		{"not ready, and the others are enough", "POST", path + "?dryRun=All", "", evict, 201, "Success"},
		{"another version", "POST", path, "", `{"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`, 409, "ResourceVersion in the precondition"},
		{"still none allowed", "GET", harness.BudgetPath + "/b", "", "", 200, `"disruptionsAllowed":0`},
		{"the others are too few", "PATCH", harness.BudgetPath + "/b/status", merge, status(`"desiredHealthy":2`), 200, ""},
		{"not ready is refused", "POST", path, "", evict, 429, "needs 2 healthy pods and has 1 currently"},
		{"second budget", "POST", harness.BudgetPath, "", `{"metadata":{"name":"all"},"spec":{"maxUnavailable":"10%","selector":{}}}`, 201, ""},
		{"two budgets", "POST", path, "", evict, 500, "more than one PodDisruptionBudget"},
	})
}

func TestEphemeralContainers(t *testing.T) {
	h := harness.Start(t, nil)
	path := harness.PodsPath + "/p/ephemeralcontainers"
	strategic := "application/strategic-merge-patch+json"
	add := func(name, image string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{"new":"x"}},"spec":{"ephemeralContainers":[{"name":%q,"image":%q}]}}`, name, image)
	}
	h.Run(t, []harness.Step{
		{"no pod", "PATCH", path, strategic, add("d", "i"), 404, ""},
		{"create", "POST", harness.PodsPath, "", harness.PodBody, 201, ""},
		{"not by the pod", "PATCH", harness.PodsPath + "/p", strategic, add("d", "i"), 422, "spec"},
		{"add", "PATCH", path, strategic, add("d", "i"), 200, `"name":"d"`},
		{"change", "PATCH", path, strategic, add("d", "j"), 422, `existing ephemeral containers \"d\" may not be changed`},
		{"change to what none has", "PATCH", path, strategic, `{"spec":{"ephemeralContainers":[{"name":"d","resources":{"limits":{"cpu":"1"}}}]}}`, 422,
			`"field":"spec.ephemeralContainers[0].resources"},{"reason":"FieldValueForbidden"`},
		{"remove", "PATCH", path, "application/merge-patch+json", `{"spec":{"ephemeralContainers":null}}`, 422, "may not be removed"},
		{"name taken", "PATCH", path, strategic, add("c", "i"), 422, "Duplicate"},
		{"another", "PATCH", path, strategic, add("e", "i"), 200, `"name":"e"`},
		{"read", "GET", path, "", "", 200, `"kind":"Pod"`},
	})
	pod := h.Get(harness.PodsPath + "/p")
	if got := pod.Field(t, "metadata.labels.new"); got != nil {
		t.Errorf("a label came along: %v", got)
	}
	put := strings.Replace(string(pod.Body), `"name":"e","image":"i"`, `"name":"e","image":"j"`, 1)
	if got := h.Send(http.MethodPut, path, "application/json", []byte(put)); got.Code != 422 {
		t.Errorf("PUT: %d %s", got.Code, got.Body)
	}
}
