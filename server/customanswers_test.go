package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// Messages show long values as a whole, as in 1.25.
func TestMessagesShowLongValues(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","properties":{"spec":{"type":"object","properties":{"one":{"type":"string","enum":["a"]}}}}}`, "")
	long := strings.Repeat("A", 3000)
	h.run(t, []step{
		{"custom", "POST", shopWidgets, "", widget("a", fmt.Sprintf(`,"spec":{"one":%q}`, long)), 422, `Unsupported value: \"` + long + `\": supported values: \"a\"`},
		{"built-in", "POST", "/api/v1/namespaces/default/services", "", fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"clusterIP":%q,"ports":[{"port":1}]}}`, long), 422, `Invalid value: \"` + long + `\": must be a valid IP address`},
	})
}

// The 406 of a custom kind names the binary form, which tables and metadata have.
func TestCustomKindNamesMediaTypes(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object"}`, "")
	for _, accept := range []string{"image/png", "application/json;as=Table;v=v9;g=x", "application/vnd.kubernetes.protobuf"} {
		got := h.send("GET", shopWidgets, "", nil, "Accept", accept)
		if want := "application/json, application/yaml, application/vnd.kubernetes.protobuf"; got.code != 406 || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %d %s, want 406 with %s", accept, got.code, got.body, want)
		}
	}
}

// An object of another kind than its path has its whole objects and sets checked all the same.
func TestInsideOfAnotherKind(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","properties":{"spec":{"type":"object","properties":{
		"whole":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"string"}}},
		"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}}}`, "")
	gadget := strings.Replace(widget("a", `,"spec":{"whole":{"kind":"A"},"set":["b","b"]}`), "Widget", "Gadget", 1)
	got := h.send("POST", shopWidgets, "", []byte(gadget))
	want := `[kind: Invalid value: \"Gadget\": must be Widget, spec.whole.apiVersion: Required value: must not be empty, spec.set[1]: Duplicate value: \"b\"]`
	if got.code != 422 || !strings.Contains(string(got.body), want) {
		t.Errorf("%d %s, want %s", got.code, got.body, want)
	}
}

// Rules see what the schema fills in, also in an object of another kind.
func TestRulesOfAnotherKind(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.size > 5","message":"too small"}],
		"properties":{"size":{"type":"integer","default":3}}}}}`, "")
	h.create(shopWidgets, widget("w", `,"spec":{"size":6}`))
	gadget := func(name, members string) string {
		return strings.Replace(widget(name, members), "Widget", "Gadget", 1)
	}
	const both = `[kind: Invalid value: \"Gadget\": must be Widget, spec: Invalid value: \"object\": too small]`
	h.run(t, []step{
		{"filled in", "POST", shopWidgets, "", gadget("a", `,"spec":{}`), 422, both},
		{"sent", "POST", shopWidgets, "", gadget("a", `,"spec":{"size":4}`), 422, both},
		{"said twice", "POST", shopWidgets, "", strings.Replace(gadget("a", `,"spec":{"size":6}`), "{", `{"apiVersion":"shop.example.com/v1",`, 1), 422, `is invalid: kind: Invalid value: \"Gadget\": must be Widget"`},
		{"kept", "POST", shopWidgets, "", gadget("a", `,"spec":{"size":6}`), 422, `is invalid: kind: Invalid value: \"Gadget\": must be Widget"`},
		{"patched", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"kind":"Gadget","spec":{"size":1}}`, 422, both},
		{"another version", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"apiVersion":"shop.example.com/v9","spec":{"size":1}}`, 422, `must be shop.example.com/v1, spec: Invalid value: \"object\": too small]`},
	})
}
