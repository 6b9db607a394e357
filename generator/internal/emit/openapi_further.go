package emit

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// further adds the keywords of JSON Schema that restrict values further, in the words of
// OpenAPI 3.0: const is an enum of one, conditions are alternatives. It has none for
// propertyNames, patternProperties and contains. OpenAPI 2 knows multiples and numbers of
// properties only.
func (c *components) further(f *schema.Further, o object) {
	if f == nil {
		return
	}
	if f.MultipleOf != nil {
		o["multipleOf"] = *f.MultipleOf
	}
	for name, n := range map[string]*int{"minProperties": f.MinProperties, "maxProperties": f.MaxProperties} {
		if n != nil {
			o[name] = *n
		}
	}
	if f.Const != "" && c.standard {
		o["const"] = json.RawMessage(f.Const)
	} else if f.Const != "" {
		o["enum"] = rawValues([]string{f.Const})
	}
	if f.Enum != nil {
		o["enum"] = rawValues(f.Enum)
	}
	if !c.v3 {
		return
	}
	for name, list := range map[string][]*schema.Schema{"anyOf": f.AnyOf, "oneOf": f.OneOf} {
		if list != nil {
			o[name] = c.restrictions(list)
		}
	}
	all := c.restrictions(f.AllOf)
	if f.Not != nil {
		o["not"] = c.restriction(f.Not)
	}
	if c.standard {
		if all != nil {
			o["allOf"] = all
		}
		c.standardWords(f, o)
		return
	}
	if f.If != nil {
		all = append(all, c.conditions(f)...)
	}
	for _, needs := range f.DependentRequired {
		all = append(all, either(absent(needs.Name), object{"required": needs.Members}))
	}
	for _, p := range f.DependentSchemas {
		all = append(all, either(absent(p.Name), c.restriction(p.Schema)))
	}
	if all != nil {
		o["allOf"] = all
	}
}

// standardWords adds the keywords that OpenAPI 3.0 has no words for.
func (c *components) standardWords(f *schema.Further, o object) {
	for name, s := range map[string]*schema.Schema{"if": f.If, "then": f.Then, "else": f.Else, "contains": f.Contains, "propertyNames": f.PropertyNames} {
		if s != nil {
			o[name] = c.restriction(s)
		}
	}
	for name, n := range map[string]*int{"minContains": f.MinContains, "maxContains": f.MaxContains} {
		if n != nil && !c.draft7 {
			o[name] = *n
		}
	}
	required, schemas := object{}, object{}
	for _, needs := range f.DependentRequired {
		required[needs.Name] = needs.Members
	}
	for _, p := range f.DependentSchemas {
		schemas[p.Name] = c.restriction(p.Schema)
	}
	patterns := object{}
	for _, p := range f.PatternProperties {
		patterns[p.Name] = c.restriction(p.Schema)
	}
	names := map[string]object{"dependentRequired": required, "dependentSchemas": schemas, "patternProperties": patterns}
	if c.draft7 {
		maps.Copy(schemas, required)
		names = map[string]object{"dependencies": schemas, "patternProperties": patterns}
	}
	for name, members := range names {
		if len(members) > 0 {
			o[name] = members
		}
	}
}

// orNull is a schema that allows null too.
func orNull(o object) object {
	null := json.RawMessage("null")
	switch enum := o["enum"].(type) {
	case []string:
		all := []any{}
		for _, v := range enum {
			all = append(all, v)
		}
		o["enum"] = append(all, null)
	case []json.RawMessage:
		if !slices.ContainsFunc(enum, func(v json.RawMessage) bool { return string(v) == "null" }) {
			o["enum"] = append(slices.Clone(enum), null)
		}
	}
	if word, ok := o["type"].(string); ok {
		o["type"] = []string{word, "null"}
		return o
	}
	inner := object{}
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf", "not"} {
		if v := o[name]; v != nil {
			inner[name] = v
			delete(o, name)
		}
	}
	if len(inner) > 0 {
		o["anyOf"] = []object{inner, {"type": "null"}}
	}
	return o
}

func either(schemas ...object) object { return object{"anyOf": schemas} }

func absent(name string) object { return object{"not": object{"required": []string{name}}} }

// conditions are if, then and else as alternatives.
func (c *components) conditions(f *schema.Further) (all []object) {
	condition := c.restriction(f.If)
	if f.Then != nil {
		all = append(all, either(object{"not": condition}, c.restriction(f.Then)))
	}
	if f.Else != nil {
		all = append(all, either(condition, c.restriction(f.Else)))
	}
	return all
}

func rawValues(texts []string) (values []json.RawMessage) {
	for _, text := range texts {
		values = append(values, json.RawMessage(text))
	}
	return values
}

func (c *components) restrictions(list []*schema.Schema) (all []object) {
	for _, s := range list {
		all = append(all, c.restriction(s))
	}
	return all
}

// restriction is a schema that restricts values whose shape another one describes.
func (c *components) restriction(s *schema.Schema) object {
	o := object{}
	if s.Description != "" {
		o["description"] = s.Description
	}
	items := *s
	items.Additional = nil // bounds of a map are those of its properties
	c.bounds(&items, o)
	switch {
	case s.Type == "null" && !c.standard:
		o["enum"] = rawValues([]string{"null"})
	case s.Type != "":
		o["type"] = s.Type
	case s.Further != nil && len(s.Further.Types) > 0 && c.standard:
		o["type"] = s.Further.Types
	case s.Further != nil && len(s.Further.Types) > 0:
		return c.ofTypes(s)
	}
	if s.Format != "" {
		o["format"] = s.Format
	}
	if len(s.Required) > 0 {
		o["required"] = s.Required
	}
	if s.Items != nil {
		o["items"] = c.restriction(s.Items)
	}
	if s.Additional != nil {
		o["additionalProperties"] = c.restriction(s.Additional)
	}
	if len(s.Properties) > 0 {
		properties := object{}
		for _, p := range s.Properties {
			properties[p.Name] = c.restriction(p.Schema)
		}
		o["properties"] = properties
	}
	c.further(s.Further, o)
	return o
}

// ofTypes is a restriction to values of several types: an alternative for each.
func (c *components) ofTypes(s *schema.Schema) object {
	rest, more := *s, *s.Further
	rest.Further, more.Types = &more, nil
	o := c.restriction(&rest)
	var types []object
	for _, name := range s.Further.Types {
		types = append(types, c.restriction(&schema.Schema{Type: name}))
	}
	if len(o) == 0 {
		return object{"anyOf": types}
	}
	return object{"allOf": []object{o, {"anyOf": types}}}
}
