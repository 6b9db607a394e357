package load

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// refusal is the fate of a keyword that documents cannot have.
type refusal struct{ why, fix string }

// refused are the keywords of JSON Schema 2020-12 and OpenAPI 3.1, and of the drafts
// before, that are not understood.
var refused = map[string]refusal{
	"$dynamicRef":           {"a type would depend on the way to it", "write $ref"},
	"$dynamicAnchor":        {"a type would depend on the way to it", "write $anchor"},
	"$recursiveRef":         {"it is of an older draft", "write $ref"},
	"$recursiveAnchor":      {"it is of an older draft", "write $anchor"},
	"$vocabulary":           {"documents do not define keywords", "remove it"},
	"definitions":           {"it is of an older draft", "write $defs"},
	"dependencies":          {"it is of an older draft", "write dependentRequired or dependentSchemas"},
	"id":                    {"it is of an older draft", "write $id, or drop it"},
	"prefixItems":           {"elements of a list have one type, in Go and in the binary form", "make it an object with a member for each position"},
	"additionalItems":       {"elements of a list have one type, in Go and in the binary form", "make it an object with a member for each position"},
	"unevaluatedItems":      {"elements of a list have one type", "describe it in items"},
	"unevaluatedProperties": {"members that properties does not name are dropped, or refused with fieldValidation=Strict", "remove it"},
	"contentEncoding":       {"bytes are a format here", "write format: byte for base64"},
	"contentMediaType":      {"the server does not look into texts", "name the media type in the description"},
	"contentSchema":         {"the server does not look into texts", "make it an object, or x-cluster-preserve-unknown-fields: true"},
	"discriminator":         {"it adds nothing to the schemas that it chooses between", "write oneOf with const, or x-cluster-one-of"},
	"xml":                   {"objects are never XML", "remove it"},
	"externalDocs":          {"OpenAPI shows it nowhere", "put the address into the description"},
	"example":               {"JSON Schema has a list of them", "write examples: [value]"},
}

// refuseKeywords adds readers that report the refused keywords.
func (r *reader) refuseKeywords(n node, fields map[string]func(node)) {
	for _, e := range entriesOf(n) {
		if no, is := refused[e.key]; is {
			fields[e.key] = func(node) { r.fail(e.at.pos(), no.fix, "the keyword %s is not understood: %s", e.key, no.why) }
		}
	}
}

// entriesOf lists the keys of a mapping, also repeated ones.
func entriesOf(n node) (all []entry) {
	for i := 0; n.Node != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		all = append(all, entry{n.Content[i].Value, n.with(n.Content[i]), n.with(n.Content[i+1])})
	}
	return all
}

const dialect = "https://json-schema.org/draft/2020-12/schema"

// dialectOf reads $schema.
func (r *reader) dialectOf(n node) {
	if strings.TrimSuffix(n.Value, "#") != dialect {
		r.fail(n.pos(), "write "+dialect+", or drop it", "documents are JSON Schema 2020-12, not %q", n.Value)
	}
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
		"multipleOf":    func(n node) { r.step(&further(s).MultipleOf)(n) },
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
	if n.Kind != yaml.ScalarNode {
		r.fail(n.pos(), "demand its members with properties and const", "only a text, a number, a boolean or null can be compared with")
		return "null"
	}
	var text []byte
	r.json(&text)(n)
	return string(text)
}

// step reads a number above 0.
func (r *reader) step(to **float64) func(node) {
	return func(n node) {
		if r.number(to)(n); *to != nil && **to <= 0 {
			r.fail(n.pos(), "write a number above 0", "nothing is a multiple of %s", n.Value)
		}
	}
}

// enum reads the allowed values: texts, or scalars of any kind.
func (r *reader) enum(s *schema.Schema) func(node) {
	return func(n node) {
		items := r.items(n)
		if n.Kind == yaml.SequenceNode && len(items) == 0 {
			r.fail(n.pos(), "list the values, or drop enum", "an enum without values allows nothing")
		}
		var texts, all []string
		for _, item := range items {
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
	if n.Kind == yaml.SequenceNode && len(all) == 0 {
		r.fail(n.pos(), "write schemas, or drop it", "the list of schemas is empty")
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
	all, fields := r.schemaFields(n, s), map[string]func(node){}
	for _, e := range entriesOf(n) {
		fields[e.key] = all[e.key]
		if read := all[e.key]; read != nil && !restricts[e.key] && refused[e.key] == (refusal{}) {
			fields[e.key] = func(node) {
				r.fail(e.at.pos(), "say it in the schema around", "%s where a schema only allows or refuses values that another describes", e.key)
			}
		}
	}
	for key, read := range map[string]func(node){
		"type": func(n node) { r.types(n, s, true) }, "properties": func(n node) { s.Properties = r.named(n) },
		"items": func(n node) { s.Items = r.restriction(n) }, "additionalProperties": func(n node) { s.Additional = r.restriction(n) },
	} {
		fields[key] = read
	}
	r.object(n, "a schema", fields)
	if r.checkBounds(s); s.Type != "" {
		r.checkKeywords(s, s.Type)
	}
	return s
}

// restricts are the keys that a schema which only restricts may have.
var restricts = wordSet("type enum const multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern format x-cluster-format " +
	"minItems maxItems minProperties maxProperties required properties items additionalProperties patternProperties propertyNames contains minContains " +
	"maxContains dependentRequired dependentSchemas allOf anyOf oneOf not if then else title description $comment")

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

var typeNames = []string{"object", "array", "string", "integer", "number", "boolean"}

// types reads type: a name, or a list of names. A schema that describes a field has one
// type, and null.
func (r *reader) types(n node, s *schema.Schema, restricts bool) {
	names := typeNames
	if restricts {
		names = append(names[:len(names):len(names)], "null")
	}
	if n.Kind != yaml.SequenceNode {
		r.word(&s.Type, "type", names...)(n)
		return
	}
	var list []string
	r.words(&list, "type", append(names, "null")...)(n)
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
	if s.Type == "" {
		r.fail(n.pos(), "add the type that a value has", "a field that is always null")
	}
}
