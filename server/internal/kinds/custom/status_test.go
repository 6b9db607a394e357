package custom_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// The elements of a list may repeat in the status, as in 1.25, but not elsewhere.
func TestCustomStatusRepeats(t *testing.T) {
	h := harness.Start(t, nil)
	const conditions = `{"type":"object","properties":{"conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],
		"items":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"n":{"type":"integer"}}}}}}`
	h.Define(`{"type":"object","properties":{"spec":`+conditions+`,"status":`+conditions+`}}`, `,"subresources":{"status":{}}`)
	merge := "application/merge-patch+json"
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ShopWidgets, "", harness.Widget("w", ""), 201, ""},
		{"spec", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"conditions":[{"type":"a"},{"type":"a"}]}}`, 422, "spec.conditions[1]"},
		{"status", "PATCH", harness.ShopWidgets + "/w/status", merge, `{"status":{"conditions":[{"type":"a"},{"type":"a","n":1}]}}`, 200, `[{"type":"a"},{"n":1,"type":"a"}]`},
		{"wrong type", "PATCH", harness.ShopWidgets + "/w/status", merge, `{"status":{"conditions":[{"type":"a"},{"type":"a","n":"x"}]}}`, 422, "status.conditions[1].n"},
		{"main", "PATCH", harness.ShopWidgets + "/w", merge, `{"metadata":{"labels":{"a":"b"}}}`, 200, `[{"type":"a"},{"n":1,"type":"a"}]`},
		{"apply", "PATCH", harness.ShopWidgets + "/w/status?fieldManager=m&force=true", harness.ApplyMedia, harness.Widget("w", `,"status":{"conditions":[{"type":"b"}]}`), 200, `{"type":"b"}`},
		{"cleaned", "PATCH", harness.ShopWidgets + "/w/status", merge, `{"status":{"conditions":[{"type":"a"}]}}`, 200, `"conditions":[{"type":"a"}]`},
	})
}

// Without the field of the replicas an object has no Scale, until one sets it.
func TestCustomScaleOfNothing(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.DefinitionsPath, `{"metadata":{"name":"free.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"free","kind":"Free"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
		"subresources":{"scale":{"specReplicasPath":".spec.group.size","statusReplicasPath":".status.size"}}}]}}`).Expect(t, 201, "")
	const free = "/apis/shop.example.com/v1/namespaces/default/free"
	h.AwaitCode(free, 200)
	h.Run(t, []harness.Step{
		{"create", "POST", free, "", `{"apiVersion":"shop.example.com/v1","kind":"Free","metadata":{"name":"f"}}`, 201, ""},
		{"no scale", "GET", free + "/f/scale", "", "", 400, "spec.group.size"},
		{"scale", "PATCH", free + "/f/scale", "application/merge-patch+json", `{"spec":{"replicas":3}}`, 200, `"spec":{"replicas":3}`},
		{"scaled", "GET", free + "/f", "", "", 200, `"spec":{"group":{"size":3}}`},
		{"scale is there", "GET", free + "/f/scale", "", "", 200, `"spec":{"replicas":3}`},
	})
}

// In a table null is a text in columns of texts, and no cell in others.
func TestCustomCellsOfNull(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `,"additionalPrinterColumns":[
		{"name":"A","type":"string","jsonPath":".a"},{"name":"B","type":"integer","jsonPath":".a"},{"name":"C","type":"string","jsonPath":".none"}]`)
	h.Post(harness.ShopWidgets, harness.Widget("w", `,"a":null`)).Expect(t, 201, "")
	table := h.Send("GET", harness.ShopWidgets+"/w", "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if want := `"cells":["w","<no value>",null,null]`; !strings.Contains(string(table.Body), want) {
		t.Errorf("no %s in %s", want, table.Body)
	}
}
