package load

import (
	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// entriesOf lists the keys of a mapping, also repeated ones.
func entriesOf(n node) (all []entry) {
	for i := 0; n.Node != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		all = append(all, entry{n.Content[i].Value, n.with(n.Content[i]), n.with(n.Content[i+1])})
	}
	return all
}

// noteFields are the readers of keywords that restrict nothing.
func (r *reader) noteFields(s *schema.Schema) map[string]func(node) {
	return map[string]func(node){
		"title": r.text(&s.Title), "$comment": r.text(new(string)), "$anchor": r.text(&s.Anchor), "nullable": r.boolean(&s.Nullable),
		"deprecated": r.boolean(&s.Deprecated), "readOnly": r.boolean(&s.ReadOnly), "writeOnly": r.boolean(&s.WriteOnly),
		"x-cluster-renamed-from": func(n node) {
			if n.Kind == yaml.SequenceNode {
				r.texts(&s.RenamedFrom)(n)
				return
			}
			var name string
			r.text(&name)(n)
			s.RenamedFrom = []string{name}
		},
		"examples": func(n node) {
			for _, item := range r.items(n) {
				var text []byte
				r.json(&text)(item)
				s.Examples = append(s.Examples, string(text))
			}
		},
	}
}

// furtherFields are the readers of the keywords that restrict values further.
func (r *reader) furtherFields(s *schema.Schema) map[string]func(node) {
	return map[string]func(node){
		"const": func(n node) { further(s).Const = r.constant(n) }, "enum": r.enum(s),
		"multipleOf":    func(n node) { r.number(&further(s).MultipleOf)(n) },
		"minProperties": func(n node) { r.count(&further(s).MinProperties)(n) },
		"maxProperties": func(n node) { r.count(&further(s).MaxProperties)(n) },
		"allOf":         func(n node) { further(s).AllOf = r.restrictions(n) },
		"anyOf":         func(n node) { further(s).AnyOf = r.restrictions(n) },
		"oneOf":         func(n node) { further(s).OneOf = r.restrictions(n) },
		"not":           func(n node) { further(s).Not = r.restriction(n) },
		"if":            func(n node) { further(s).If = r.restriction(n) },
		"then":          func(n node) { further(s).Then = r.restriction(n) },
		"else":          func(n node) { further(s).Else = r.restriction(n) },
		"contains":      func(n node) { further(s).Contains = r.restriction(n) },
		"minContains":   func(n node) { r.count(&further(s).MinContains)(n) },
		"maxContains":   func(n node) { r.count(&further(s).MaxContains)(n) },
		"propertyNames": func(n node) { further(s).PropertyNames = r.restriction(n) },
		"patternProperties": func(n node) {
			for _, p := range r.named(n) {
				var pattern string
				r.pattern(&pattern)(n.with(&yaml.Node{Kind: yaml.ScalarNode, Value: p.Name, Line: p.Pos.Line}))
				further(s).PatternProperties = append(further(s).PatternProperties, p)
			}
		},
		"dependentSchemas": func(n node) { further(s).DependentSchemas = r.named(n) },
		"dependentRequired": func(n node) {
			for _, e := range r.entries(n) {
				needs := schema.Needs{Name: e.key}
				r.texts(&needs.Members)(e.value)
				further(s).DependentRequired = append(further(s).DependentRequired, needs)
			}
		},
	}
}

// further is the part of a schema that restricts values further, made on first use.
func further(s *schema.Schema) *schema.Further {
	if s.Further == nil {
		s.Further = &schema.Further{}
	}
	return s.Further
}

// constant reads a scalar as JSON.
func (r *reader) constant(n node) string {
	text := []byte("null")
	if n.Kind == yaml.ScalarNode {
		r.json(&text)(n)
	}
	return string(text)
}

// enum reads the allowed values: texts, or scalars of any kind.
func (r *reader) enum(s *schema.Schema) func(node) {
	return func(n node) {
		var texts, all []string
		for _, item := range r.items(n) {
			text := r.constant(item)
			for _, other := range all {
				if other == text {
					r.fail(item.pos(), "write it once", "the enum has %s twice", text)
				}
			}
			if all = append(all, text); item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" {
				texts = append(texts, item.Value)
			}
		}
		if len(texts) == len(all) {
			s.Enum = texts
			return
		}
		further(s).Enum = all
	}
}

// restrictions reads a list of schemas that restrict a value.
func (r *reader) restrictions(n node) (all []*schema.Schema) {
	for _, item := range r.items(n) {
		all = append(all, r.restriction(item))
	}
	return all
}

// named reads schemas by names.
func (r *reader) named(n node) (all []schema.Property) {
	for _, e := range r.entries(n) {
		all = append(all, schema.Property{Name: e.key, Pos: e.at.pos(), Schema: r.restriction(e.value)})
	}
	return all
}

// restriction reads a schema that allows or refuses values whose shape another schema
// describes: true allows all, false none.
func (r *reader) restriction(n node) *schema.Schema {
	s := &schema.Schema{}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		if s.Pos = n.pos(); n.Value == "false" {
			further(s).Not = &schema.Schema{Pos: n.pos()}
		}
		return s
	}
	r.object(n, r.restrictionFields(n, s))
	if r.checkBounds(s); s.Type != "" {
		r.checkKeywords(s, s.Type)
	}
	return s
}

// restrictionFields has the reader of each key of a schema that only restricts. The form
// refuses those of them that describe a value.
func (r *reader) restrictionFields(n node, s *schema.Schema) map[string]func(node) {
	fields := r.schemaFields(n, s)
	fields["type"] = func(n node) { r.types(n, s, true) }
	fields["properties"] = func(n node) { s.Properties = r.named(n) }
	fields["items"] = func(n node) { s.Items = r.restriction(n) }
	fields["additionalProperties"] = func(n node) { s.Additional = r.restriction(n) }
	return fields
}

// types reads type: a name, or a list of names. A schema that describes a field has one
// type, and null.
func (r *reader) types(n node, s *schema.Schema, restricts bool) {
	if n.Kind != yaml.SequenceNode {
		r.text(&s.Type)(n)
		return
	}
	var list []string
	r.texts(&list)(n)
	if restricts {
		further(s).Types = list
		return
	}
	for _, name := range list {
		switch {
		case name == "null":
			s.Nullable = true
		case s.Type != "" && s.Type != name:
			r.fail(n.pos(), "write one type, and null; format: int-or-string; or x-cluster-preserve-unknown-fields: true with anyOf",
				"a field of the types %s and %s: it has one type in Go and in the binary form", s.Type, name)
			return
		default:
			s.Type = name
		}
	}
	if s.Type == "" && len(list) > 0 {
		r.fail(n.pos(), "add the type that a value has", "a field that is always null")
	}
}
