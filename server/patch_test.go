package server_test

import "testing"

// TestStrategicNumbers: a number of a strategic patch may have a zero fraction and an
// exponent. One that is not whole is unprocessable; one that its field cannot hold is not
// stored as another.
func TestStrategicNumbers(t *testing.T) {
	h := startServer(t, nil)
	const budgets, strategic = "/apis/policy/v1/namespaces/default/poddisruptionbudgets", "application/strategic-merge-patch+json"
	h.create(budgets, `{"metadata":{"name":"a"}}`)
	var steps []step
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
		steps = append(steps, step{c.number, "PATCH", budgets + "/a/status", strategic, `{"status":{"expectedPods":` + c.number + `}}`, c.code, c.has})
	}
	h.run(t, steps)
}

// A merge patch has to be an object. A list replaces the object where nothing else is
// checked, as in 1.25.
func TestMergePatchOfAList(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	h.run(t, []step{
		{"refused", "PATCH", configMaps + "/a", mergePatch, `[]`, 400, "must be a JSON object"},
		{"no object", "PATCH", configMaps + "/a?fieldValidation=Ignore", mergePatch, ` []`, 422, `"field":"patch"`},
	})
}
