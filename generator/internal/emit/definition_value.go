package emit

import (
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// definedFormats are the formats of texts that servers check in custom resources.
var definedFormats = []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "byte", "duration"}

const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// value adds what a schema says of its values.
func (d *definitions) value(t *model.Type, s *schema.Schema, o object, below []celRule) error {
	bare := *s
	if s.ListType == "set" || len(s.Unique) > 0 {
		bare.Unique = nil
		if s.ListType != "set" {
			d.lose(s.Pos, "make it a set or a map", "a definition has no x-cluster-unique")
		}
	}
	d.bounds(&bare, o)
	d.furtherOf(s, o)
	if s.Type != "" {
		o["type"] = s.Type
	}
	switch {
	case s.PreserveAny:
		d.any(s, o)
	case s.Format == "int-or-string" || s.Format == "quantity":
		delete(o, "type")
		o[d.ext+"int-or-string"] = true
		if o["anyOf"] == nil {
			o["anyOf"] = []object{{"type": "integer"}, {"type": "string"}}
		}
		if s.Format == "quantity" {
			o["pattern"] = quantityPattern
		}
	case s.Format == "micro-time":
		o["format"] = "date-time"
	case s.Format == "" || s.Type == "integer" || s.Type == "number" || slices.Contains(definedFormats, s.Format):
		if s.Format != "" {
			o["format"] = s.Format
		}
	default:
		d.lose(s.Pos, "write a pattern", "a definition has no format %s", s.Format)
	}
	if s.FormatCheck == "cidr" {
		o["format"] = "cidr"
	}
	d.loseRest(s)
	return d.inner(t, s, o, below)
}

// any describes any JSON; objects, and whole ones, where nothing else is allowed.
func (d *definitions) any(s *schema.Schema, o object) {
	o[d.ext+"preserve-unknown-fields"] = true
	if s.BinaryForm == "raw" {
		o["type"] = "object"
	}
	if s.Further == nil || len(s.Further.AllOf) != 1 || s.Further.AllOf[0].Type != "object" {
		return
	}
	delete(o, "allOf")
	if o["type"] = "object"; slices.Equal(s.Further.AllOf[0].Required, []string{"apiVersion", "kind"}) {
		o[d.ext+"embedded-resource"] = true
	}
}

// loseRest notes the keys of documents that definitions have no words for.
func (d *definitions) loseRest(s *schema.Schema) {
	for _, k := range []struct {
		key  string
		said bool
	}{{"x-cluster-format: " + s.FormatCheck, s.FormatCheck != "" && s.FormatCheck != "cidr"}, {"x-cluster-keys", s.KeyCheck != ""}, {"x-cluster-max-bytes",
		s.MaxBytes != nil}, {"x-cluster-one-of", len(s.OneOf) > 0},
		{"x-cluster-hooks", s.DefaultHook || s.ValidateHook || s.SkipHook}, {"x-cluster-default-when", s.DefaultWhen != ""},
		{"x-cluster-feature-gate", s.FeatureGate != ""}, {"x-cluster-references", s.References != nil},
		{"x-cluster-objects", s.Objects != ""}, {"x-cluster-why", s.Why != ""}} {
		if k.said {
			d.lose(s.Pos, "write a rule in CEL, or check it in a webhook", "a definition has no %s", k.key)
		}
	}
}

// furtherOf adds the keywords of JSON Schema. Schemas that only restrict values do not
// repeat their type.
func (d *definitions) furtherOf(s *schema.Schema, o object) {
	f := s.Further
	if f == nil {
		return
	}
	for _, k := range []struct {
		key  string
		said bool
	}{{"contains", f.Contains != nil}, {"propertyNames", f.PropertyNames != nil}, {"patternProperties", len(f.PatternProperties) > 0}} {
		if k.said {
			d.lose(s.Pos, "write a rule in CEL", "a definition has no %s", k.key)
		}
	}
	d.further(f, o)
	for _, key := range []string{"allOf", "anyOf", "oneOf", "not"} {
		if o[key] != nil {
			o[key] = d.untyped(o[key], s.Pos, s.Format == "int-or-string")
		}
	}
}

// untyped is a restriction without the words that only the schema around it may say.
func (d *definitions) untyped(v any, pos schema.Position, typed bool) any {
	switch v := v.(type) {
	case []object:
		for i := range v {
			v[i] = d.untyped(v[i], pos, typed).(object)
		}
	case object:
		for key, inner := range v {
			switch key {
			case "type", "description", "title":
				if !typed {
					delete(v, key)
				}
			case "properties":
				for name, member := range inner.(object) {
					inner.(object)[name] = d.untyped(member, pos, false)
				}
			case "additionalProperties":
				delete(v, key)
				d.lose(pos, "write a rule in CEL", "a schema that only restricts values has no additionalProperties in a definition")
			case "allOf", "anyOf", "oneOf", "not", "items":
				v[key] = d.untyped(inner, pos, typed)
			}
		}
	}
	return v
}
