package house

import (
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

func TestCheck(t *testing.T) {
	one, four, five, three := 1.0, 4.0, 5.0, 3
	field := func(name string, s schema.Schema) schema.Property {
		if s.Description == "" {
			s.Description = "A sentence."
		}
		return schema.Property{Name: name, Schema: &s}
	}
	conditions := schema.Schema{Type: "array", ListType: "map", ListMapKeys: []string{"type"}, Items: &schema.Schema{Ref: "/meta/v1/Condition"}}
	for _, c := range []struct {
		name   string
		schema schema.Schema
		want   string // rules
	}{
		{"size", schema.Schema{Format: "int32", Minimum: &one}, ""},
		{"Size", schema.Schema{Type: "string"}, "field-name"},
		{"max_size", schema.Schema{Type: "string"}, "field-name"},
		{"size", schema.Schema{Type: "string", Description: "size of it"}, "description"},
		{"color", schema.Schema{Type: "string", Enum: []string{"Blue", "dark_red"}}, "enum-value"},
		{"conditions", conditions, ""},
		{"conditions", schema.Schema{Type: "array", Items: &schema.Schema{Ref: "/meta/v1/Condition"}}, "conditions"},
		{"ratio", schema.Schema{Type: "number"}, "float"},
		{"isPaused", schema.Schema{Type: "boolean"}, "boolean-name"},
		{"paused", schema.Schema{Type: "boolean"}, "boolean"},
		{"timeout", schema.Schema{Type: "integer", Minimum: &one}, "unit"},
		{"timeoutSeconds", schema.Schema{Type: "integer", Minimum: &one}, ""},
		{"memory", schema.Schema{Type: "integer"}, "unit"},
		{"memory", schema.Schema{Format: "quantity"}, ""},
		{"restartPolicy", schema.Schema{Type: "string"}, "enum"},
		{"secretRef", schema.Schema{Type: "string"}, "reference"},
		{"color", schema.Schema{Type: "string", Enum: []string{"Blue", "Red"}, MaxLength: &three}, "enum-refused"},
		{"color", schema.Schema{Type: "string", Enum: []string{"Blue", "Red"}, Pattern: "^[A-Z]"}, ""},
		{"color", schema.Schema{Type: "string", Enum: []string{"Blue", "Red"}, Pattern: "^B"}, "enum-refused"},
		{"size", schema.Schema{Format: "int32", Minimum: &one, Maximum: &four, Further: &schema.Further{MultipleOf: &five}}, "no-number"},
		{"size", schema.Schema{Format: "int32", Minimum: &one, Maximum: &five, Further: &schema.Further{MultipleOf: &five}}, ""},
		{"size", schema.Schema{Format: "int32", ExclusiveMinimum: &four, ExclusiveMaximum: &five}, "no-number"},
		{"size", schema.Schema{Format: "int32", Minimum: &five, Further: &schema.Further{AllOf: []*schema.Schema{{Maximum: &four}}}}, "no-number"},
		{"name", schema.Schema{Type: "string", Further: &schema.Further{OneOf: []*schema.Schema{{Pattern: "a"}, {Pattern: "a", Title: "A"}}}}, "branch-twice"},
		{"name", schema.Schema{Type: "string", Further: &schema.Further{OneOf: []*schema.Schema{{Pattern: "a"}, {Pattern: "b"}}}}, ""},
		{"replicas", schema.Schema{Format: "int32"}, "optional-zero"},
		{"replicas", schema.Schema{Format: "int32", Presence: "explicit"}, "bounds"},
		{"replicas", schema.Schema{Format: "int32", Presence: "explicit", Minimum: new(float64)}, ""},
		{"replicas", schema.Schema{Format: "int32", Default: []byte("1"), Minimum: new(float64)}, ""},
	} {
		gv := &model.GroupVersion{Dir: "fleet/v1", Group: "fleet.example.com"}
		gv.Types = []*model.Type{{GV: gv, Name: "TruckSpec", Schema: &schema.Schema{Properties: []schema.Property{field(c.name, c.schema)}}}}
		var rules []string
		for _, f := range Check(&model.Model{GroupVersions: []*model.GroupVersion{gv}, Profile: model.Profile{GroupSuffix: "k8s.io"}}) {
			rules = append(rules, f.Rule)
		}
		if got := strings.Join(rules, " "); got != c.want {
			t.Errorf("%s %+v: %q, want %q", c.name, c.schema, got, c.want)
		}
	}
}

func TestCheckOfResources(t *testing.T) {
	gv := &model.GroupVersion{Dir: "fleet/v1", Group: "fleet.example.com"}
	truck := &model.Type{GV: gv, Name: "Trucks", Schema: &schema.Schema{Properties: []schema.Property{{Name: "status", Schema: &schema.Schema{Description: "A sentence."}}}}}
	gv.Resources = []*model.Resource{{Plural: "trucks", Kind: "Truck", Stored: true, Type: truck}, {Plural: "truck", Kind: "Truck", Type: truck}, {Plural: "lorrylists", Kind: "Lorries", Type: truck}}
	var rules []string
	m := &model.Model{GroupVersions: []*model.GroupVersion{gv}, Profile: model.Profile{GroupSuffix: "k8s.io"}}
	for _, f := range Check(m) {
		rules = append(rules, f.Rule)
	}
	if want := []string{"plural", "singular-kind", "status-endpoint"}; !slices.Equal(rules, want) {
		t.Errorf("%q, want %q", rules, want)
	}
	if gv.Group = "apps"; len(Check(m)) > 0 {
		t.Error("a group of the release is checked")
	}
}
