package custom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Messages show long values as a whole, as in 1.25.
func TestMessagesShowLongValues(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","properties":{"one":{"type":"string","enum":["a"]}}}}}`, "")
	long := strings.Repeat("A", 3000)
	h.Run(t, []harness.Step{
		{"custom", "POST", harness.ShopWidgets, "", harness.Widget("a", fmt.Sprintf(`,"spec":{"one":%q}`, long)), 422, `Unsupported value: \"` + long + `\": supported values: \"a\"`},
		{"built-in", "POST", "/api/v1/namespaces/default/services", "", fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"clusterIP":%q,"ports":[{"port":1}]}}`, long), 422, `Invalid value: \"` + long + `\": must be a valid IP address`},
	})
}

// The 406 of a custom kind names the binary form, which tables and metadata have.
func TestCustomKindNamesMediaTypes(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object"}`, "")
	for _, accept := range []string{"image/png", "application/json;as=Table;v=v9;g=x", "application/vnd.kubernetes.protobuf"} {
		got := h.Send("GET", harness.ShopWidgets, "", nil, "Accept", accept)
		if want := "application/json, application/yaml, application/vnd.kubernetes.protobuf"; got.Code != 406 || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %d %s, want 406 with %s", accept, got.Code, got.Body, want)
		}
	}
}

// An object of another kind than its path has its whole objects and sets checked all the same.
func TestInsideOfAnotherKind(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","properties":{
		"whole":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"string"}}},
		"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}}}`, "")
	gadget := strings.Replace(harness.Widget("a", `,"spec":{"whole":{"kind":"A"},"set":["b","b"]}`), "Widget", "Gadget", 1)
	got := h.Send("POST", harness.ShopWidgets, "", []byte(gadget))
	want := `[kind: Invalid value: \"Gadget\": must be Widget, spec.whole.apiVersion: Required value: must not be empty, spec.set[1]: Duplicate value: \"b\"]`
	if got.Code != 422 || !strings.Contains(string(got.Body), want) {
		t.Errorf("%d %s, want %s", got.Code, got.Body, want)
	}
}

// Rules see what the schema fills in, also in an object of another kind.
func TestRulesOfAnotherKind(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.size > 5","message":"too small"}],
		"properties":{"size":{"type":"integer","default":3}}}}}`, "")
	h.Create(harness.ShopWidgets, harness.Widget("w", `,"spec":{"size":6}`))
	gadget := func(name, members string) string {
		return strings.Replace(harness.Widget(name, members), "Widget", "Gadget", 1)
	}
	const both = `[kind: Invalid value: \"Gadget\": must be Widget, spec: Invalid value: \"object\": too small]`
	h.Run(t, []harness.Step{
		{"filled in", "POST", harness.ShopWidgets, "", gadget("a", `,"spec":{}`), 422, both},
		{"sent", "POST", harness.ShopWidgets, "", gadget("a", `,"spec":{"size":4}`), 422, both},
		{"said twice", "POST", harness.ShopWidgets, "", strings.Replace(gadget("a", `,"spec":{"size":6}`), "{", `{"apiVersion":"shop.example.com/v1",`, 1), 422, `is invalid: kind: Invalid value: \"Gadget\": must be Widget"`},
		{"kept", "POST", harness.ShopWidgets, "", gadget("a", `,"spec":{"size":6}`), 422, `is invalid: kind: Invalid value: \"Gadget\": must be Widget"`},
		{"patched", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"kind":"Gadget","spec":{"size":1}}`, 422, both},
		{"another version", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"apiVersion":"shop.example.com/v9","spec":{"size":1}}`, 422, `must be shop.example.com/v1, spec: Invalid value: \"object\": too small]`},
	})
}
