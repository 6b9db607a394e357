package emit

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Keywords of JSON Schema are published as they are where OpenAPI 3.0 knows them, else in
// its words; OpenAPI 2 has few of them.
func TestFurtherKeywordsArePublished(t *testing.T) {
	two, half, only := 2, 0.5, &schema.Schema{Required: []string{"a"}}
	for _, c := range []struct {
		schema *schema.Schema
		v3, v2 string
	}{
		{&schema.Schema{Type: "number", Further: &schema.Further{MultipleOf: &half}}, `{"multipleOf":0.5,"type":"number"}`, `{"multipleOf":0.5,"type":"number"}`},
		{&schema.Schema{Type: "integer", Further: &schema.Further{Const: "3"}}, `{"enum":[3],"type":"integer"}`, `{"enum":[3],"type":"integer"}`},
		{&schema.Schema{Type: "object", Further: &schema.Further{MinProperties: &two, OneOf: []*schema.Schema{only, {Further: &schema.Further{Not: only}}}}},
			`{"minProperties":2,"oneOf":[{"required":["a"]},{"not":{"required":["a"]}}],"type":"object"}`, `{"minProperties":2,"type":"object"}`},
		{&schema.Schema{Type: "object", Further: &schema.Further{If: only, Then: &schema.Schema{Required: []string{"b"}}}},
			`{"allOf":[{"anyOf":[{"not":{"required":["a"]}},{"required":["b"]}]}],"type":"object"}`, `{"type":"object"}`},
		{&schema.Schema{Type: "object", Further: &schema.Further{DependentRequired: []schema.Needs{{Name: "a", Members: []string{"b"}}}}},
			`{"allOf":[{"anyOf":[{"not":{"required":["a"]}},{"required":["b"]}]}],"type":"object"}`, `{"type":"object"}`},
		{&schema.Schema{PreserveAny: true, Further: &schema.Further{AnyOf: []*schema.Schema{{Type: "null"}, {Further: &schema.Further{Types: []string{"string", "integer"}}}}}},
			`{"anyOf":[{"enum":[null]},{"anyOf":[{"type":"string"},{"type":"integer"}]}],"x-kubernetes-preserve-unknown-fields":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`},
		{&schema.Schema{Type: "string", Format: "email", Title: "Owner", Nullable: true, Deprecated: true, ReadOnly: true, Examples: []string{`"a@b"`, `"c@d"`}},
			`{"deprecated":true,"example":"a@b","format":"email","nullable":true,"readOnly":true,"title":"Owner","type":"string"}`, `{"example":"a@b","format":"email","readOnly":true,"title":"Owner","type":"string"}`},
	} {
		for _, way := range []struct {
			dialect
			want string
		}{{version3, c.v3}, {version2, c.v2}} {
			made := newComponents(&model.Model{Profile: model.Profile{ExtensionPrefix: "x-kubernetes-"}}, way.dialect)
			o, err := made.schema(&model.Type{GV: &model.GroupVersion{}}, c.schema, false)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(o)
			if err != nil || string(text) != way.want {
				t.Errorf("got %s, want %s", text, way.want)
			}
			if published := (&openapi3.Schema{}); way.v3 {
				if err := json.Unmarshal(text, published); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}
