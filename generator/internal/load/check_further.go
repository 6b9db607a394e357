package load

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// checkExamples checks that the examples of a schema are right.
func (d *documents) checkExamples(t *schema.Table, ref schema.Ref, s *schema.Schema) {
	for _, example := range s.Examples {
		if why := unfit(t, ref, []byte(example)); why != "" {
			d.fail(d.at(s, "examples"), "change the example or the rule", "the example %s does not fit: %s", example, why)
		}
	}
}

// checkConstants checks that a schema allows the values that it compares with, and that the
// schemas in it name members that there are.
func (d *documents) checkConstants(t *schema.Table, ref schema.Ref, s *schema.Schema) {
	f := s.Further
	if f == nil {
		return
	}
	for _, c := range []struct {
		key    string
		values []string
	}{{"const", []string{f.Const}}, {"enum", f.Enum}} {
		for _, value := range c.values {
			if value == "" || value == "null" {
				continue
			}
			if why := unfit(t, ref, []byte(value)); why != "" {
				d.fail(d.at(s, c.key), "change one of them", "no value can be %s: %s", value, why)
			}
		}
	}
	d.checkMembers(t, ref, s)
	f.Schemas(func(keyword string, below *schema.Schema) { d.checkRestriction(t, ref, keyword, below) })
}

// checkRestriction checks a schema that restricts values of a type: it must be able to
// hold, and name members that there are.
func (d *documents) checkRestriction(t *schema.Table, ref schema.Ref, keyword string, s *schema.Schema) {
	typ := &t.Types[ref]
	switch keyword {
	case "contains", "patternProperties", "items", "additionalProperties":
		if ref = typ.Elem; ref < 0 {
			return
		}
		typ = &t.Types[ref]
	case "propertyNames":
		return
	}
	if types := jsonTypesOf(typ); types != nil {
		wanted := []string{s.Type}
		if s.Type == "" {
			wanted = []string{}
			if s.Further != nil {
				wanted = s.Further.Types
			}
		}
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(types, name) }) {
			d.fail(d.at(s, "type"), "write one of "+strings.Join(types, ", ")+", or drop it", "a value of this field is never of type %s", strings.Join(wanted, ", "))
		}
	}
	d.checkMembers(t, ref, s)
	for _, p := range s.Properties {
		if i := typ.Field(p.Name); i >= 0 {
			d.checkRestriction(t, typ.Fields[i].Type, "properties", p.Schema)
		} else if typ.Kind == schema.Map {
			d.checkRestriction(t, typ.Elem, "properties", p.Schema)
		}
	}
	for keyword, below := range map[string]*schema.Schema{"items": s.Items, "additionalProperties": s.Additional} {
		if below != nil && (keyword == "items") == (typ.Kind == schema.List) {
			d.checkRestriction(t, ref, keyword, below)
		}
	}
	if s.Further != nil {
		s.Further.Schemas(func(keyword string, below *schema.Schema) { d.checkRestriction(t, ref, keyword, below) })
	}
}

// jsonTypesOf are the types that values can have in JSON; nil for any.
func jsonTypesOf(t *schema.Type) []string {
	switch t.Kind {
	case schema.Object, schema.Map:
		return []string{"object", "null"}
	case schema.List:
		return []string{"array", "null"}
	case schema.Boolean:
		return []string{"boolean", "null"}
	case schema.Integer, schema.Number:
		return []string{"integer", "number", "null"}
	case schema.IntOrString:
		return []string{"integer", "number", "string", "null"}
	case schema.Any:
		return nil
	}
	return []string{"string", "null"}
}

// checkMembers checks the names of members in the keywords of a schema for an object.
func (d *documents) checkMembers(t *schema.Table, ref schema.Ref, s *schema.Schema) {
	typ := &t.Types[ref]
	if typ.Kind != schema.Object {
		return
	}
	check := func(key, name string) {
		if typ.Field(name) >= 0 {
			return
		}
		known := make([]string, len(typ.Fields))
		for i := range typ.Fields {
			known[i] = typ.Fields[i].Name
		}
		d.fail(d.at(s, key), remedyFor(name, known), "%s names %q, which is not a property", key, name)
	}
	f := s.Further
	if f == nil {
		f = &schema.Further{}
	}
	for _, needs := range f.DependentRequired {
		for _, name := range append([]string{needs.Name}, needs.Members...) {
			check("dependentRequired", name)
		}
	}
	for _, p := range f.DependentSchemas {
		check("dependentSchemas", p.Name)
	}
	for _, p := range s.Properties {
		check("properties", p.Name)
	}
	for _, name := range s.Required {
		check("required", name)
	}
}
