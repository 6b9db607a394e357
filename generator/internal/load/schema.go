package load

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// schemaDoc is one file below schemas/.
type schemaDoc struct {
	root *schema.Schema
	kind *bool // x-cluster-kind
}

// schemaDocument reads the root of a file below schemas/.
func (r *reader) schemaDocument(n node) schemaDoc {
	d := schemaDoc{root: &schema.Schema{}}
	r.object(n, r.documentFields(n, &d))
	r.finish(d.root)
	return d
}

// documentFields has the reader of each key of a document.
func (r *reader) documentFields(n node, d *schemaDoc) map[string]func(node) {
	fields := r.schemaFields(n, d.root)
	fields["$schema"] = func(node) {} // the form allows one
	fields["$id"] = r.text(&d.root.ID)
	fields["$defs"] = func(n node) { d.root.Defs = r.properties(n) }
	fields["x-cluster-kind"] = r.optionalBool(&d.kind)
	return fields
}

// schema reads a schema that is a part of a document.
func (r *reader) schema(n node) *schema.Schema {
	s := &schema.Schema{}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		return s
	}
	r.object(n, r.schemaFields(n, s))
	r.finish(s)
	return s
}

func (r *reader) properties(n node) []schema.Property {
	var out []schema.Property
	for _, e := range r.entries(n) {
		if isAbsent(e.value) {
			continue
		}
		out = append(out, schema.Property{Name: e.key, Pos: e.at.pos(), Schema: r.schema(e.value)})
	}
	return out
}

// schemaFields has the reader of each key of a schema, and notes the lines of the keys.
func (r *reader) schemaFields(n node, s *schema.Schema) map[string]func(node) {
	s.Pos = n.pos()
	places := map[string]schema.Position{}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			places[n.Content[i].Value] = n.with(n.Content[i]).pos()
		}
	}
	r.places[s] = places
	fields := map[string]func(node){
		"$ref":                 r.text(&s.Ref),
		"description":          r.text(&s.Description),
		"type":                 func(n node) { r.types(n, s, false) },
		"format":               r.text(&s.Format),
		"properties":           func(n node) { s.Properties, s.Absent = r.properties(n), r.absentFields(n) },
		"required":             r.texts(&s.Required),
		"items":                func(n node) { s.Items = r.schema(n) },
		"additionalProperties": r.additional(s),
		"default":              r.json(&s.Default),
		"pattern":              r.pattern(&s.Pattern), "x-cluster-default-when": r.defaultWhen(s),

		"x-cluster-binary":                  r.binaryNumber(&s.Binary),
		"x-cluster-binary-outer":            r.innerMessages(s),
		"x-cluster-binary-reserved":         r.reservedNumbers(&s.Reserved),
		"x-cluster-presence":                r.text(&s.Presence),
		"x-cluster-list-type":               r.text(&s.ListType),
		"x-cluster-list-map-keys":           r.texts(&s.ListMapKeys),
		"x-cluster-map-type":                r.text(&s.MapType),
		"x-cluster-patch-strategy":          r.texts(&s.PatchStrategy),
		"x-cluster-patch-merge-key":         r.text(&s.PatchMergeKey),
		"x-cluster-immutable":               r.boolean(&s.Immutable),
		"x-cluster-references":              r.references(s),
		"x-cluster-preserve-unknown-fields": r.boolean(&s.PreserveAny),
		"x-cluster-hooks":                   func(n node) { r.typeHooks(n, s) },
		"x-cluster-hook-revision":           r.integer(&s.HookRevision),
		"x-cluster-go-name":                 r.text(&s.Goname),
		"x-cluster-binary-form":             r.text(&s.BinaryForm),
		"x-cluster-objects":                 r.text(&s.Objects),
		"x-cluster-lifecycle":               r.readLifecycle(&s.Lifecycle),
		"x-cluster-validate":                r.optionalBool(&s.Validate),
		"x-cluster-feature-gate":            r.text(&s.FeatureGate),
		"x-cluster-gate-value":              r.text(&s.GateValue), "x-cluster-feature-gates": r.not(&s.Ungated), "x-cluster-gate-holder": r.boolean(&s.GateHolder),
		"x-cluster-required-published": r.texts(&s.RequiredPublished), "x-cluster-required-enforced": r.texts(&s.RequiredEnforced),
		"x-cluster-missing": r.text(&s.Missing),
		"x-cluster-null":    r.boolean(&s.Null), "x-cluster-as-sent": r.boolean(&s.AsSent),
		"x-cluster-cause-name": r.text(&s.CauseName), "x-cluster-cause-index": r.not(&s.CauseList), "x-cluster-cause-order": r.texts(&s.CauseOrder),
	}
	for _, more := range []map[string]func(node){r.ruleFields(s), r.noteFields(s), r.furtherFields(s)} {
		maps.Copy(fields, more)
	}
	return fields
}

// ruleFields are the readers of the keys about refused values.
func (r *reader) ruleFields(s *schema.Schema) map[string]func(node) {
	return map[string]func(node){
		"minimum":                 r.number(&s.Minimum),
		"maximum":                 r.number(&s.Maximum),
		"exclusiveMinimum":        r.number(&s.ExclusiveMinimum),
		"exclusiveMaximum":        r.number(&s.ExclusiveMaximum),
		"minLength":               r.count(&s.MinLength),
		"maxLength":               r.count(&s.MaxLength),
		"minItems":                r.count(&s.MinItems),
		"maxItems":                r.count(&s.MaxItems),
		"uniqueItems":             r.uniqueItems(s),
		"x-cluster-format":        r.text(&s.FormatCheck),
		"x-cluster-round-up":      r.boolean(&s.RoundUp),
		"x-cluster-cause":         r.texts(&s.Cause),
		"x-cluster-validate-enum": r.not(&s.OpenEnum),
		"x-cluster-one-of":        r.texts(&s.OneOf), "x-cluster-one-of-what": r.text(&s.OneOfAs),
		"x-cluster-one-of-required": r.boolean(&s.OneNeeded),
		"x-cluster-rules":           r.demands(s), "x-cluster-unique": r.texts(&s.Unique), "x-cluster-why": r.text(&s.Why),
		"x-cluster-max-bytes": r.count(&s.MaxBytes), "x-cluster-keys": r.text(&s.KeyCheck),
	}
}

func (r *reader) typeHooks(n node, s *schema.Schema) {
	for _, item := range r.items(n) {
		switch item.Value {
		case "default":
			s.DefaultHook = true
		case "validate":
			s.ValidateHook = true
		case "skip":
			s.SkipHook = true
		}
	}
}

func (r *reader) pattern(to *string) func(node) {
	return func(n node) {
		r.text(to)(n)
		if _, err := regexp.Compile(*to); err != nil {
			r.fail(n.pos(), "write RE2 syntax", "the pattern does not compile: %v", err)
		}
	}
}

// impliedType is the only type that can have the keys of a schema; "" when several can.
func impliedType(s *schema.Schema) string {
	switch {
	case s.Ref != "" || s.PreserveAny:
		return ""
	case s.Properties != nil || s.Additional != nil:
		return "object"
	case s.Items != nil:
		return "array"
	case s.Enum != nil || s.Pattern != "" || s.FormatCheck != "" || s.MinLength != nil || s.MaxLength != nil:
		return "string"
	case s.Format == "quantity" || s.Format == "int-or-string":
		return ""
	}
	for name, known := range formats {
		if slices.Contains(known, s.Format) {
			return name
		}
	}
	return ""
}

// finish fills in the keys that follow from others, and finds the mistakes that one schema
// shows alone.
func (r *reader) finish(s *schema.Schema) {
	s.Type = cmp.Or(s.Type, impliedType(s))
	if s.PatchMergeKey != "" && s.PatchStrategy == nil {
		s.PatchStrategy = []string{"merge"}
	}
	if s.ListMapKeys != nil && s.ListType == "" {
		s.ListType = "map"
	}
	r.takeMapBounds(s)
	r.checkPairs(s)
	r.checkBounds(s)
	r.checkShape(s)
	r.checkRequired(s)
	r.placeInner(s)
	for _, p := range s.Properties {
		f := p.Schema
		if f.Nullable {
			f.Null, f.Presence = true, cmp.Or(f.Presence, "explicit")
		}
		if s.AsSent && f.Missing == "" && s.Enforces(p.Name) {
			f.Missing = "not-sent"
		}
		if f.Presence == "" && (s.AsSent && !describedLater(f) || !s.Publishes(p.Name) && zeroSaysMore(f)) {
			f.Presence = "explicit"
		}
	}
	r.checkDefaultWhen(s)
}

// describedLater reports whether a field says nothing of its value: it may be a usual member.
func describedLater(s *schema.Schema) bool {
	return s.Ref == "" && s.Type == "" && s.Format == "" && !s.PreserveAny
}

// zeroSaysMore reports whether zero differs from no value by default: zero is a quantity,
// or takes back a default.
func zeroSaysMore(s *schema.Schema) bool {
	switch s.Format {
	case "quantity", "int-or-string", "double":
		return true
	}
	return s.Default != nil && (s.Type == "integer" || s.Type == "number" || s.Type == "boolean")
}

// checkRequired checks that the lists of required properties name each once.
func (r *reader) checkRequired(s *schema.Schema) {
	said := map[string]string{}
	for _, list := range []struct {
		key   string
		names []string
	}{{"required", s.Required}, {"x-cluster-required-published", s.RequiredPublished}, {"x-cluster-required-enforced", s.RequiredEnforced}} {
		for _, name := range list.names {
			switch other := said[name]; {
			case !slices.ContainsFunc(s.Properties, func(p schema.Property) bool { return p.Name == name }):
				r.fail(r.at(s, list.key), "declare the property or drop it from "+list.key, "%s names %q, which is not a property", list.key, name)
			case other == list.key:
				r.fail(r.at(s, list.key), "write it once", "%s names %q twice", list.key, name)
			case other != "":
				r.fail(r.at(s, list.key), "write it in required alone if it is both published and enforced", "both %s and %s name %q", other, list.key, name)
			}
			said[name] = list.key
		}
	}
}

// defaultWhen reads the condition of a default: {member: [value, ...]}.
func (r *reader) defaultWhen(s *schema.Schema) func(node) {
	return func(n node) {
		if members := r.entries(n); len(members) == 1 {
			s.DefaultWhen = members[0].key
			r.texts(&s.DefaultWhenIs)(members[0].value)
		}
	}
}

// checkDefaultWhen checks that the member which a default depends on is decoded before it.
func (r *reader) checkDefaultWhen(s *schema.Schema) {
	for i, p := range s.Properties {
		if p.Schema.DefaultWhen == "" {
			continue
		}
		at := r.at(p.Schema, "x-cluster-default-when")
		j := slices.IndexFunc(s.Properties[:i], func(o schema.Property) bool { return o.Name == p.Schema.DefaultWhen })
		switch {
		case p.Schema.Default == nil:
			r.fail(at, "add default", "x-cluster-default-when on %s, which has no default", p.Name)
		case j < 0:
			r.fail(at, "name a member that stands before it", "the default of %s depends on %s, which is not a member before it", p.Name, p.Schema.DefaultWhen)
		case s.Properties[j].Schema.Type != "string":
			r.fail(at, "name a string", "the default of %s depends on %s, which is not a string", p.Name, p.Schema.DefaultWhen)
		default:
			for _, v := range p.Schema.DefaultWhenIs {
				if enum := s.Properties[j].Schema.Enum; enum != nil && !slices.Contains(enum, v) {
					r.fail(at, remedyFor(v, enum), "%s is never %q", p.Schema.DefaultWhen, v)
				}
			}
		}
	}
}
