package objects_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestStrategicNumbers: a number of a strategic patch may have a zero fraction and an
// exponent. One that is not whole is unprocessable; one that its field cannot hold is not
// stored as another.
func TestStrategicNumbers(t *testing.T) {
	h := harness.Start(t, nil)
	const budgets, strategic = "/apis/policy/v1/namespaces/default/poddisruptionbudgets", "application/strategic-merge-patch+json"
	h.Create(budgets, `{"metadata":{"name":"a"}}`)
	var steps []harness.Step
	for _, c := range []struct {
		number string
		code   int
		has    string
	}{
		{"1.0", 200, `"expectedPods":1`},
		{"1e2", 200, `"expectedPods":100`},
		{"-0.5", 422, `"field":"patch"`},
		{"1e30", 400, "status.expectedPods"},
		{"4294967297", 400, "status.expectedPods"},
	} {
		steps = append(steps, harness.Step{c.number, "PATCH", budgets + "/a/status", strategic, `{"status":{"expectedPods":` + c.number + `}}`, c.code, c.has})
	}
	h.Run(t, steps)
}

// A merge patch has to be an object. A list replaces the object where nothing else is
// checked, as in 1.25.
func TestMergePatchOfAList(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	h.Run(t, []harness.Step{
		{"refused", "PATCH", harness.ConfigMaps + "/a", harness.MergePatchMedia, `[]`, 400, "must be a JSON object"},
		{"no object", "PATCH", harness.ConfigMaps + "/a?fieldValidation=Ignore", harness.MergePatchMedia, ` []`, 422, `"field":"patch"`},
	})
}
