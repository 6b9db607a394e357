package definitions

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The extensions of JSON Schema in definitions.
const (
	extEmbeddedResource      = profile.ExtensionPrefix + "embedded-resource"
	extIntOrString           = profile.ExtensionPrefix + "int-or-string"
	extListMapKeys           = profile.ExtensionPrefix + "list-map-keys"
	extListType              = profile.ExtensionPrefix + "list-type"
	extMapType               = profile.ExtensionPrefix + "map-type"
	extPreserveUnknownFields = profile.ExtensionPrefix + "preserve-unknown-fields"
	extValidations           = profile.ExtensionPrefix + "validations"
)

// fieldPath is a path that is formatted only for a cause.
type fieldPath struct {
	above *fieldPath
	step  string // ".items", "[a]"
}

func (p *fieldPath) member(name string) *fieldPath { return &fieldPath{p, "." + name} }
func (p *fieldPath) key(name string) *fieldPath    { return &fieldPath{p, "[" + name + "]"} }
func (p *fieldPath) index(i int) *fieldPath        { return &fieldPath{p, index(i)} }

func (p *fieldPath) text() string {
	if p.above == nil {
		return p.step
	}
	return p.above.text() + p.step
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// schemaTypes are the types that a schema may name.
var schemaTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// rootMembers are the members that may stand at the root of a schema with status:
// otherwise the rules for status would not be those of its property alone.
var rootMembers = []string{"description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength",
	"pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties", "externalDocs", "example",
	extPreserveUnknownFields, extValidations}

// combinations are the members that hold lists of schemas.
var combinations = [...]string{"allOf", "oneOf", "anyOf"}

// definitionSchema checks the schema of a version. accepted reports whether the stored
// definition has it.
func (c *causes) definitionSchema(part document.Value, at *fieldPath, hasStatus bool, accepted func() bool) {
	s := part.Get("openAPIV3Schema")
	if !isSet(s) {
		return
	}
	at = at.member("openAPIV3Schema")
	before := len(c.Causes)
	if hasStatus {
		c.separable(s, at)
	}
	if s.Get("nullable").Bool() {
		c.Forbidden(at.member("nullable").text(), "nullable cannot be true at the root")
	}
	w := schemaWalk{causes: &causes{}}
	w.schema(s, at, schemaContext{root: true})
	if !w.unsupported && !w.dialect {
		var structure causes
		structure.structure(s, at, rootLevel)
		structure.complete(s, s, at, at)
		slices.SortStableFunc(structure.Causes, func(a, b schema.Cause) int { return strings.Compare(a.Field+": "+a.Message, b.Field+": "+b.Message) })
		if len(structure.Causes) == 0 {
			rules := newRuleset(s, c.allowed)
			(&valueChecker{causes: &structure, parts: map[document.Value]*schemaPart{}, budget: maxObjectCost}).defaults(s, rules, at, true)
			if len(structure.Causes) == 0 && rules != nil {
				j := ruleJudge{schemaCauses: w.Causes, accepted: accepted()}
				j.judge(rules, s, at)
				w.Causes = append(w.Causes, j.Causes...)
			}
		}
		c.Causes = append(c.Causes, structure.Causes...)
	}
	if c.Causes = append(c.Causes, w.Causes...); w.dialect && len(c.Causes) == before {
		c.InvalidText(at.text(), "", "OpenAPIV3Schema 'schema' is not supported")
	}
}

// separable checks that the rules for status are in its property.
func (c *causes) separable(s document.Value, at *fieldPath) {
	for name := range s.Members() {
		switch {
		case name == "type" && !s.Get(name).Equals("object"):
			c.InvalidText(at.member("type").text(), s.Get(name).Text(),
				`only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)
			return
		case !slices.Contains(rootMembers, name):
			c.InvalidAt(at.text(), s.Get(name), "only "+strings.Join(rootMembers, ", ")+" are allowed at the root of the schema if the status subresource is enabled")
			return
		}
	}
}

// schemaContext is the context of a schema.
type schemaContext struct {
	root       bool
	inMetadata bool   // of the resource, or of an embedded one
	noDefaults string // the reason why defaults are forbidden; "" where they are allowed
}

// schemaWalk checks the members allowed in every schema, in any context.
type schemaWalk struct {
	*causes
	unsupported bool // a part without structure was found
	dialect     bool // a schema names its dialect of JSON Schema; reported if there are no other mistakes
}

func (w *schemaWalk) schema(s document.Value, at *fieldPath, ctx schemaContext) {
	w.plain(s, at, ctx)
	inner := ctx
	inner.root = false
	if additional := s.Get("additionalProperties"); isSet(additional) {
		if s.Get("properties").Len() > 0 && !(additional.Kind() == document.Bool && additional.Bool()) {
			w.Forbidden(at.member("additionalProperties").text(), "additionalProperties and properties are mutual exclusive")
		}
		if additional.Kind() == document.Object {
			below := inner
			if ctx.inMetadata {
				below.noDefaults = "inside additionalProperties applying to object metadata"
			}
			w.schema(additional, at.member("additionalProperties"), below)
		}
	}
	for name, property := range s.Get("properties").Members() {
		below := inner
		if (ctx.root || s.Get(extEmbeddedResource).Bool()) && (name == "metadata" || name == "kind" || name == "apiVersion") {
			if below.inMetadata = true; ctx.root {
				below.noDefaults = "in top-level " + name
			}
		}
		w.schema(property, at.member("properties").key(name), below)
	}
	w.combined(s, at, inner)
	switch items := s.Get("items"); items.Kind() {
	case document.Object:
		w.schema(items, at.member("items"), inner)
	case document.Array:
		for i, item := range items.Elements() {
			w.schema(item, at.member("items").index(i), inner)
		}
	}
	w.named(s, at, inner, "dependencies")
	w.extensions(s, at)
	w.lists(s, at)
	w.validations(s, at)
}

func (w *schemaWalk) combined(s document.Value, at *fieldPath, inner schemaContext) {
	if not := s.Get("not"); isSet(not) {
		w.schema(not, at.member("not"), inner)
	}
	for _, name := range combinations {
		for i, below := range s.Get(name).Elements() {
			w.schema(below, at.member(name).index(i), inner)
		}
	}
	w.named(s, at, inner, "definitions")
}

// named checks the schemas in a member that is itself forbidden.
func (w *schemaWalk) named(s document.Value, at *fieldPath, inner schemaContext, name string) {
	for key, below := range s.Get(name).Members() {
		if below.Kind() == document.Object {
			w.schema(below, at.member(name).key(key), inner)
		}
	}
}

// plain checks the members of JSON Schema.
func (w *schemaWalk) plain(s document.Value, at *fieldPath, ctx schemaContext) {
	if kind := s.Get("type"); !isEmpty(kind) && !slices.Contains(schemaTypes, kind.Text()) {
		w.NotSupportedAt(at.member("type").text(), kind, schemaTypes...)
	}
	if isSet(s.Get("default")) && ctx.noDefaults != "" {
		w.Forbidden(at.member("default").text(), "must not be set "+ctx.noDefaults)
	}
	for _, name := range [...]string{"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"} {
		if isSet(s.Get(name)) {
			w.unsupported = true
			w.Forbidden(at.member(name).text(), name+" is not supported")
		}
	}
	w.dialect = w.dialect || !isEmpty(s.Get("$schema"))
	if s.Get("type").Equals("null") {
		w.Forbidden(at.member("type").text(), "type cannot be set to null, use nullable as an alternative")
	}
	if s.Get("items").Kind() == document.Array {
		w.unsupported = true
		w.Forbidden(at.member("items").text(), "items must be a schema object and not an array")
	}
	if ctx.inMetadata && s.Get(extEmbeddedResource).Bool() {
		w.Forbidden(at.member(extEmbeddedResource).text(), "must not be used inside of resource meta")
	}
	if s.Get("uniqueItems").Bool() {
		w.Forbidden(at.member("uniqueItems").text(), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	}
}

// extensions checks the members that JSON Schema does not have, except those of lists and
// rules.
func (w *schemaWalk) extensions(s document.Value, at *fieldPath) {
	if keep := s.Get(extPreserveUnknownFields); isSet(keep) && !keep.Bool() {
		w.unsupported = true
		w.InvalidAt(at.member(extPreserveUnknownFields).text(), keep, "must be true or undefined")
	}
	if kind := s.Get(extMapType); isSet(kind) {
		w.needsType(s, at, "object", extMapType)
		if !kind.Equals("granular") && !kind.Equals("atomic") {
			w.NotSupportedAt(at.member(extMapType).text(), kind, "atomic", "granular")
		}
	}
}

// validations checks the form of the rules of a schema.
func (w *schemaWalk) validations(s document.Value, at *fieldPath) {
	for i, rule := range s.Get(extValidations).Elements() {
		path := at.member(extValidations).index(i)
		text, sent := strings.TrimSpace(rule.Get("rule").Text()), rule.Get("message").Text()
		message := strings.TrimSpace(sent)
		switch {
		case text == "":
			w.Required(path.member("rule").text(), "rule is not specified")
		case sent != "" && message == "":
			w.InvalidText(path.member("message").text(), sent, "message must be non-empty if specified")
		case strings.ContainsAny(message, "\n\r"):
			w.InvalidText(path.member("message").text(), sent, "message must not contain line breaks")
		case strings.ContainsAny(text, "\n\r") && message == "":
			w.Required(path.member("message").text(), "message must be specified if rule contains line breaks")
		}
		w.ruleOptions(rule, s, path)
	}
}

// ruleReasons are the reasons that rules may give.
var ruleReasons = []string{schema.CauseDuplicate, schema.CauseForbidden, schema.CauseInvalid, schema.CauseRequired}

// ruleOptions checks the members of a rule that 1.25 does not have.
func (w *schemaWalk) ruleOptions(rule, s document.Value, at *fieldPath) {
	if text := rule.Get("messageExpression").Text(); text != "" && strings.TrimSpace(text) == "" {
		w.Required(at.member("messageExpression").text(), "messageExpression must be non-empty if specified")
	}
	if reason := rule.Get("reason"); isSet(reason) && !slices.Contains(ruleReasons, reason.Text()) {
		w.NotSupportedAt(at.member("reason").text(), reason, ruleReasons...)
	}
	path, text := at.member("fieldPath").text, rule.Get("fieldPath").Text()
	if text == "" {
		return
	}
	if strings.TrimSpace(text) == "" {
		w.InvalidText(path(), text, "must be non-empty if specified")
	}
	if strings.ContainsAny(text, "\n\r") {
		w.InvalidText(path(), text, "must not contain line breaks")
	}
	if _, _, err := memberPath(text, s); err != nil {
		w.InvalidText(path(), text, "must be a valid path")
	}
}

// needsType checks that an extension is in a schema of its type. It reports whether it
// is.
func (c *causes) needsType(s document.Value, at *fieldPath, want, extension string) bool {
	switch kind := s.Get("type").Text(); kind {
	case want:
		return true
	case "":
		c.Required(at.member("type").text(), "must be "+want+" if "+extension+" is specified")
	default:
		c.InvalidText(at.member("type").text(), kind, "must be "+want+" if "+extension+" is specified")
	}
	return false
}
