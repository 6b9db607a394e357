package custom_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const spelledSchema = `{"type":"object","properties":{"spec":{"type":"object","properties":{
	"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
	"keyed":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}},
	"atomic":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
	"any":{"type":"object","default":{"x-cluster-list-type":"set"},"x-kubernetes-preserve-unknown-fields":true},
	"whole":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object","additionalProperties":{"x-kubernetes-int-or-string":true}}}},
	"size":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1","message":"too small"}]}}}}}`

// Extensions in schemas of definitions have two spellings, of which one is stored and shown;
// both mean the same.
func TestDefinitionsTakeBothSpellings(t *testing.T) {
	var described [2]string
	for i, prefix := range []string{"x-kubernetes-", "x-cluster-"} {
		h := harness.Start(t, nil)
		h.Define(strings.ReplaceAll(spelledSchema, "x-kubernetes-", prefix), "")
		var definition struct {
			Spec struct {
				Versions []struct{ Schema struct{ OpenAPIV3Schema any } }
			}
		}
		var want any
		if err := json.Unmarshal(h.Get(harness.DefinedAs).Body, &definition); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(spelledSchema), &want); err != nil {
			t.Fatal(err)
		}
		if prefix == "x-kubernetes-" {
			want = definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		}
		if got := definition.Spec.Versions[0].Schema.OpenAPIV3Schema; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the schema is %v", prefix, got)
		}
		apply := func(manager, spec string, code int, want string) harness.Step {
			return harness.Step{prefix + " " + spec, "PATCH", harness.ShopWidgets + "/a?fieldManager=" + manager, applyYAML, harness.Widget("a", `,"spec":`+spec), code, want}
		}
		h.Run(t, []harness.Step{
			apply("m", `{"set":["a"],"keyed":[{"k":"x"}],"atomic":{"a":"b"},"whole":{"apiVersion":"v1","kind":"Pod","spec":{"a":1}},"size":2,"any":{"more":1}}`, 201,
				`{"f:spec":{"f:any":{"f:more":{}},"f:atomic":{},"f:keyed":{"k:{\"k\":\"x\"}":{".":{},"f:k":{}}},"f:set":{"v:\"a\"":{}},"f:size":{},"f:whole":`),
			apply("n", `{"set":["b"],"keyed":[{"k":"y"}]}`, 200, `"keyed":[{"k":"x"},{"k":"y"}],"set":["a","b"],`),
			apply("n", `{"set":["b","b"]}`, 422, `duplicate entries for key [=\"b\"]`),
			apply("m", `{"size":1}`, 422, "too small"),
			apply("n", `{"whole":{"spec":{"a":[]}}}`, 409, "spec.whole.spec.a"),
			{"not whole", "POST", harness.ShopWidgets, "", harness.Widget("b", `,"spec":{"whole":{}}`), 422, "spec.whole.apiVersion"},
		})
		h.AwaitText("/openapi/v2", "com.example.shop.v1.Widget\"")
		var all struct{ Definitions map[string]json.RawMessage }
		if err := json.Unmarshal(h.Get("/openapi/v2").Body, &all); err != nil {
			t.Fatal(err)
		}
		described[i] = string(all.Definitions["com.example.shop.v1.Widget"])
	}
	if strings.Contains(described[0], "deployment") || !strings.Contains(described[0], "metadata of the object") {
		t.Errorf("described as another kind: %s", described[0])
	}
	if described[0] != described[1] || !strings.Contains(described[0], `"x-kubernetes-list-map-keys"`) {
		t.Errorf("published as %s\nand %s", described[0], described[1])
	}
}

// The checks of a schema hold for both spellings, and they may not disagree.
func TestDefinitionsRefuseTwoSpellings(t *testing.T) {
	h := harness.Start(t, nil)
	definition := func(field string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
			"names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"f":` + field + `}}}}]}}`
	}
	const differ = `has different values for x-cluster-list-type and x-kubernetes-list-type, two spellings of one extension: send one of them`
	strict := harness.DefinitionsPath + "?fieldValidation=Strict"
	h.Run(t, []harness.Step{
		{"wrong type", "POST", harness.DefinitionsPath, "", definition(`{"type":"array","items":{"type":"string"},"x-cluster-list-type":"bag"}`), 422, `supported values: \"atomic\", \"set\", \"map\"`},
		{"no keys", "POST", harness.DefinitionsPath, "", definition(`{"type":"array","items":{"type":"object"},"x-cluster-list-type":"map"}`), 422, `list-map-keys`},
		{"wrong rule", "POST", harness.DefinitionsPath, "", definition(`{"type":"integer","x-cluster-validations":[{"rule":"self +"}]}`), 422, `compilation failed`},
		{"not an extension", "POST", strict, "", definition(`{"type":"string","x-cluster-other":true}`), 400, `unknown field \"spec.versions[0].schema.openAPIV3Schema.properties.f.x-cluster-other\"`},
		{"a wrong value", "POST", harness.DefinitionsPath, "", definition(`{"type":"string","x-cluster-embedded-resource":"yes"}`), 400, `x-kubernetes-embedded-resource of type bool`},
		{"different", "POST", harness.DefinitionsPath, "", definition(`{"type":"array","items":{"type":"string"},"x-cluster-list-type":"set","x-kubernetes-list-type":"atomic"}`), 400, differ},
		{"different, the other way round", "POST", harness.DefinitionsPath, "", definition(`{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"atomic","x-cluster-list-type":"set"}`), 400, differ},
		{"different, applied", "PATCH", harness.DefinedAs + "?fieldManager=m", applyYAML, definition(`{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"atomic","x-cluster-list-type":"set"}`), 400, differ},
		{"twice", "POST", strict, "", definition(`{"type":"array","items":{"type":"string"},"x-cluster-list-type":"set","x-cluster-list-type":"atomic"}`), 400, `duplicate field`},
		{"null beside a value", "POST", strict + "&dryRun=All", "", definition(`{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":null,"x-cluster-list-type":"set"}`), 201, `"x-kubernetes-list-type":"set"`},
		{"the same", "PATCH", harness.DefinedAs + "?fieldValidation=Strict&fieldManager=m", applyYAML, definition(`{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set","x-cluster-list-type":"set"}`), 201, `"x-kubernetes-list-type":"set"`},
		{"one of them, by another manager", "PATCH", harness.DefinedAs + "?fieldManager=n", applyYAML, definition(`{"type":"array","items":{"type":"string"},"x-cluster-list-type":"set"}`), 200, `"manager":"n"`},
		{"another one", "PATCH", harness.DefinedAs, harness.JSONPatchMedia, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/f/x-cluster-list-type","value":"atomic"}]`, 422, differ},
	})
}
