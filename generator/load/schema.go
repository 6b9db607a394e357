package load

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// document is one file below schemas/.
type document struct {
	root  *schema.Schema
	kind  *bool  // x-cluster-kind
	group string // x-cluster-group, where no group version document says it
}

// schemaDocument reads the root of a file below schemas/.
func (r *reader) schemaDocument(n node) document {
	d := document{root: &schema.Schema{}}
	fields := r.schemaFields(n, d.root)
	fields["$id"] = r.text(&d.root.ID)
	fields["$schema"] = func(node) {}
	fields["$defs"] = func(n node) { d.root.Defs = r.properties(n) }
	fields["x-cluster-kind"] = r.optionalBool(&d.kind)
	fields["x-cluster-group"] = r.text(&d.group)
	r.object(n, "a schema document", fields)
	r.finish(n, d.root)
	return d
}

// schema reads a schema that is a part of a document.
func (r *reader) schema(n node) *schema.Schema {
	s := &schema.Schema{}
	r.object(n, "a schema", r.schemaFields(n, s))
	r.finish(n, s)
	return s
}

func (r *reader) properties(n node) []schema.Property {
	var out []schema.Property
	for _, e := range r.entries(n) {
		out = append(out, schema.Property{Name: e.key, Pos: e.at.pos(), Schema: r.schema(e.value)})
	}
	return out
}

// schemaFields says how each key of a schema is read.
func (r *reader) schemaFields(n node, s *schema.Schema) map[string]func(node) {
	s.Pos = n.pos()
	return map[string]func(node){
		"$ref":                 r.text(&s.Ref),
		"description":          r.text(&s.Description),
		"type":                 r.text(&s.Type),
		"format":               r.text(&s.Format),
		"properties":           func(n node) { s.Properties = r.properties(n) },
		"required":             r.texts(&s.Required),
		"items":                func(n node) { s.Items = r.schema(n) },
		"additionalProperties": func(n node) { s.Additional = r.schema(n) },
		"enum":                 r.texts(&s.Enum),
		"default":              r.json(&s.Default),
		"pattern":              r.text(&s.Pattern),
		"minimum":              r.number(&s.Minimum),
		"maximum":              r.number(&s.Maximum),
		"exclusiveMinimum":     r.number(&s.ExclusiveMinimum),
		"exclusiveMaximum":     r.number(&s.ExclusiveMaximum),
		"minLength":            r.optionalInt(&s.MinLength),
		"maxLength":            r.optionalInt(&s.MaxLength),
		"minItems":             r.optionalInt(&s.MinItems),
		"maxItems":             r.optionalInt(&s.MaxItems),
		"uniqueItems":          r.boolean(&s.UniqueItems),

		"x-cluster-binary":                  r.integer(&s.Binary),
		"x-cluster-binary-outer":            r.integer(&s.BinaryOuter),
		"x-cluster-presence":                r.text(&s.Presence),
		"x-cluster-list-type":               r.text(&s.ListType),
		"x-cluster-list-map-keys":           r.texts(&s.ListMapKeys),
		"x-cluster-map-type":                r.text(&s.MapType),
		"x-cluster-patch-strategy":          r.texts(&s.PatchStrategy),
		"x-cluster-patch-merge-key":         r.text(&s.PatchMergeKey),
		"x-cluster-immutable":               r.boolean(&s.Immutable),
		"x-cluster-preserve-unknown-fields": r.boolean(&s.PreserveAny),
		"x-cluster-hooks":                   func(n node) { r.hooks(n, s) },
		"x-cluster-go-name":                 r.text(&s.Goname),
		"x-cluster-binary-form":             r.text(&s.BinaryForm),
		"x-cluster-format":                  r.text(&s.FormatCheck),
		"x-cluster-validate-required":       r.optionalBool(&s.EnforceRequired),
	}
}

func (r *reader) hooks(n node, s *schema.Schema) {
	var names []string
	r.texts(&names)(n)
	for _, name := range names {
		if name != "default" {
			r.fail(n.pos(), "types know the hook default; create, update and validate belong to a resource", "unknown hook %q", name)
			continue
		}
		s.DefaultHook = true
	}
}

// formats are the values of format, by type.
var formats = map[string][]string{
	"integer": {"int32", "int64"},
	"number":  {"double"},
	"string":  {"byte", "date-time", "micro-time", "duration", "int-or-string", "quantity"},
	"":        {"int-or-string", "quantity"},
}

// finish checks what can be seen in one schema alone.
func (r *reader) finish(n node, s *schema.Schema) {
	if s.Format != "" && !slices.Contains(formats[s.Type], s.Format) {
		r.fail(n.pos(), "see the formats in CONTRIBUTING.md", "unknown format %q for the type %q", s.Format, s.Type)
	}
	if s.Minimum != nil && s.Maximum != nil && *s.Minimum > *s.Maximum {
		r.fail(n.pos(), "swap them", "minimum %v is above maximum %v", *s.Minimum, *s.Maximum)
	}
	if len(s.Enum) > 0 && s.Type != "string" && s.Ref == "" {
		r.fail(n.pos(), "give it type: string, or drop enum", "enum on something that is not a string")
	}
}
