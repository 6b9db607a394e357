package compat

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/internal/schema"
)

// place is a node of a file.
type place = foreign.Place

// manifest is a file with schemas of others on their way into a surface.
type manifest struct {
	*foreign.File
	components place             // of references in OpenAPI
	done       map[string]*shape // of references
	depth      int
	structural bool // schemas of custom resources
}

// fileSurface is the surface of a file: all custom resource definitions in it, or an OpenAPI 3
// document.
func fileSurface(f *foreign.File, err error) (*Surface, error) {
	if err != nil {
		return nil, err
	}
	m := &manifest{File: f, done: map[string]*shape{}}
	var s *Surface
	if f.OpenAPI() {
		s = newSurface(f.Name, 0)
		m.openAPI(s, f.Roots[0])
	} else {
		m.structural = true
		s = newSurface(f.Name, facetNames|facetColumns|facetSelectors|facetStorage)
		m.definitions(s)
	}
	s.mark()
	return s, f.Err()
}

func newSurface(name string, knows facets) *Surface {
	return &Surface{Name: name, kinds: map[string]*kind{}, knows: knows}
}

// understood are the keywords that a shape has; others are compared as texts.
var understood = []string{"type", "format", "properties", "required", "items", "additionalProperties", "default", "enum", "pattern", "nullable",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
	"multipleOf", "$ref", "description", "title", "example", "examples", "externalDocs", "deprecated", "xml", "discriminator", "$comment", "readOnly", "writeOnly"}

// shape reads a schema.
func (m *manifest) shape(at place) *shape {
	if m.depth++; m.depth > 200 {
		m.Fail(at, "give inner types names", "schemas are nested more than 200 deep")
		m.depth--
		return &shape{kind: "any"}
	}
	defer func() { m.depth-- }()
	if at, ok := m.reference(at); ok {
		return m.referred(at)
	}
	t := &shape{pos: schema.Position{File: m.Name, Line: max(1, foreign.LineOf(at))}}
	m.fill(t, at)
	return t
}

// reference is the $ref of a schema, also as the only schema of allOf.
func (m *manifest) reference(at place) (place, bool) {
	if ref := at.At("$ref"); ref.Here() {
		return ref, true
	}
	if all := at.At("allOf").Items(); len(all) == 1 && !at.At("properties").Here() && all[0].At("$ref").Here() {
		return all[0].At("$ref"), true
	}
	return place{}, false
}

// referred is the shape that a reference names. Shapes are made before they are filled, so
// they may be in circles.
func (m *manifest) referred(ref place) *shape {
	name, ok := strings.CutPrefix(ref.Text(), "#/components/schemas/")
	switch {
	case m.structural:
		m.Fail(ref, "write the schema in place", "a schema of a custom resource refers to %q", ref.Text())
	case !ok:
		m.Fail(ref, "write #/components/schemas/Name of the same file", "$ref %q leads out of the document; nothing is fetched", ref.Text())
	}
	if t := m.done[name]; t != nil {
		return t
	}
	t := &shape{kind: "any"}
	m.done[name] = t
	to := m.components.At(name)
	if !ok || m.structural {
		return t
	}
	if !to.Here() {
		m.Fail(ref, "add the schema", "$ref %q leads nowhere", ref.Text())
		return t
	}
	for seen, next := []string{name}, to; ; {
		again, is := m.reference(next)
		if !is {
			t.pos = schema.Position{File: m.Name, Line: foreign.LineOf(to)}
			m.fill(t, next)
			return t
		}
		if name = strings.TrimPrefix(again.Text(), "#/components/schemas/"); slices.Contains(seen, name) {
			m.Fail(again, "write the type", "%s refers to itself and nothing else", name)
			return t
		}
		seen, next = append(seen, name), m.components.At(name)
	}
}

// fill reads the keywords of a schema.
func (m *manifest) fill(t *shape, at place) {
	if at.Node != nil && at.Kind != yaml.MappingNode {
		m.Fail(at, "write keys and values", "a schema is not a mapping")
		t.kind = "any"
		return
	}
	m.kind(t, at)
	m.rules(t, at)
	required := at.At("required").Texts()
	var keys []string // that only mean something together: if, then
	if t.kind == "object" {
		at.At("properties").Each(func(name string, key, value place) {
			t.members = append(t.members, m.memberOf(name, key, value, slices.Contains(required, name)))
		})
		t.open = at.Extension("preserve-unknown-fields").Yes()
		keys = append(keys, t.missing(required)...)
	}
	switch t.kind {
	case "list":
		t.list, t.keys = at.Extension("list-type").Text(), slices.Sorted(slices.Values(at.Extension("list-map-keys").Texts()))
		if t.list == "" {
			t.list = "atomic"
		}
		t.elem = &usage{shape: m.shape(at.At("items"))}
	case "map":
		t.elem = &usage{shape: m.shape(at.At("additionalProperties"))}
		if at.At("patternProperties").Here() { // the rules are for the other names
			keys = append(keys, `"additionalProperties":`+at.At("additionalProperties").JSON())
			t.elem.shape = t.elem.bare()
		}
	}
	t.atomic = at.Extension("map-type").Text() == "atomic"
	t.more.keepsNull = at.At("nullable").Yes() || slices.Contains(at.At("type").Texts(), "null")
	t.more.nullable = t.more.keepsNull && listsNull(at.At("enum"))
	if at.Extension("embedded-resource").Yes() {
		t.more.others = append(t.more.others, "embedded-resource true")
	}
	keys = append(keys, t.keywords(at)...)
	if keys != nil {
		text := "{" + strings.Join(keys, ",") + "}"
		if t.more.logic = readLogic(text); t.more.logic == nil {
			t.more.others = append(t.more.others, "schema "+text)
		}
	}
}

// listsNull reports whether a list of values, if there is one, has null: without it null is refused, whatever nullable says.
func listsNull(enum place) bool {
	return !enum.Here() || slices.ContainsFunc(enum.Items(), func(v place) bool { return v.Tag == "!!null" })
}

// keywords reads the rules and further keys of a schema. It returns those whose logic is understood, as members of
// JSON.
func (t *shape) keywords(at place) (keys []string) {
	at.Each(func(name string, _, value place) {
		switch {
		case strings.HasPrefix(name, "x-") && strings.HasSuffix(name, "-validations"):
			for _, rule := range value.Items() {
				t.more.claims = append(t.more.claims, canonical(rule.At("rule").Text()))
			}
		case strings.HasPrefix(name, "x-"), slices.Contains(understood, name):
		case name == "anyOf" && t.kind == "int-or-string":
		default:
			if key := `"` + name + `":` + value.JSON(); readLogic("{"+key+"}") == nil {
				t.more.others = append(t.more.others, name+" "+value.JSON())
			} else {
				keys = append(keys, key)
			}
		}
	})
	return keys
}

// missing are the required members that the shape does not describe, as keywords.
func (t *shape) missing(required []string) []string {
	names := slices.DeleteFunc(slices.Clone(required), func(name string) bool { return t.property(name) != nil })
	text, err := json.Marshal(names)
	if err != nil || len(names) == 0 || t.open {
		return nil
	}
	return []string{`"required":` + string(text)}
}

// bare is a shape of the same kind without rules.
func (t *shape) bare() *shape {
	b := &shape{pos: t.pos, kind: t.kind, rules: rulesOf(emptySchema()), more: furtherOf(emptySchema())}
	if t.kind == "object" || t.kind == "list" || t.kind == "map" {
		b.kind = "any"
	}
	return b
}

func (m *manifest) memberOf(name string, key, value place, required bool) *member {
	t := m.shape(value)
	u := &member{usage: usage{shape: t, atomic: t.atomic}, name: name, pos: schema.Position{File: m.Name, Line: foreign.LineOf(key)},
		required: required, published: required}
	if d := value.At("default"); d.Here() {
		u.def, u.defaulted = d.JSON(), true
	}
	u.mergeKey = value.Extension("patch-merge-key").Text()
	if strategies := value.Extension("patch-strategy").Text(); strategies != "" {
		u.patch = slices.Sorted(strings.SplitSeq(strategies, ","))
	}
	u.readOnly, u.writeOnly = value.At("readOnly").Yes(), value.At("writeOnly").Yes()
	u.immutable = slices.ContainsFunc(value.Extension("validations").Items(), func(r place) bool { return canonical(r.At("rule").Text()) == "self == oldSelf" })
	return u
}

// kind finds the form of values.
func (m *manifest) kind(t *shape, at place) {
	words := at.At("type").Texts()
	if word := at.At("type").Text(); word != "" {
		words = []string{word}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "null" })
	format := at.At("format").Text()
	extra := at.At("additionalProperties")
	switch {
	case at.Extension("int-or-string").Yes() || format == "int-or-string":
		t.kind = "int-or-string"
	case len(words) == 0 && at.At("properties").Here(), slices.Equal(words, []string{"object"}):
		t.kind = "object"
		if extra.Node != nil && extra.Kind == yaml.MappingNode && !at.At("properties").Here() {
			t.kind = "map"
		} else if extra.Yes() || !m.structural && !at.At("properties").Here() {
			t.open = true
		}
	case len(words) != 1:
		t.kind = "any"
	case words[0] == "array":
		t.kind = "list"
	case words[0] == "integer":
		if t.kind = "int64"; format == "int32" {
			t.kind = format
		}
	case words[0] == "string" && slices.Contains([]string{"date-time", "byte", "quantity", "micro-time", "duration"}, format):
		t.kind = format
	default:
		t.kind = words[0]
	}
	if m.structural && t.kind == "any" && !at.Extension("preserve-unknown-fields").Yes() {
		m.Fail(at, "write type, or the extension preserve-unknown-fields: true", "the schema is not structural: a value has no type")
	}
	if m.structural && at.At("properties").Here() && extra.Here() {
		m.Fail(extra, "keep one of them", "the schema is not structural: it has properties and additionalProperties")
	}
}

// rules reads the keywords about values.
func (m *manifest) rules(t *shape, at place) {
	s := &schema.Schema{Type: map[string]string{"int32": "integer", "int64": "integer"}[t.kind], Pattern: at.At("pattern").Text(),
		Minimum: at.At("minimum").Number(), Maximum: at.At("maximum").Number(), ExclusiveMinimum: at.At("exclusiveMinimum").Number(),
		ExclusiveMaximum: at.At("exclusiveMaximum").Number()}
	if t.kind == "int32" {
		s.Format = t.kind
	}
	if at.At("exclusiveMinimum").Yes() {
		s.Minimum, s.ExclusiveMinimum = nil, s.Minimum
	}
	if at.At("exclusiveMaximum").Yes() {
		s.Maximum, s.ExclusiveMaximum = nil, s.Maximum
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		s.Pattern = ""
		t.more.others = append(t.more.others, "pattern "+at.At("pattern").Text()) // of another dialect
	}
	t.rules = rulesOf(s)
	t.text.least, t.text.most = at.At("minLength").Count(0), at.At("maxLength").Count(math.MaxInt)
	t.least, t.most = at.At("minItems").Count(0), at.At("maxItems").Count(math.MaxInt)
	if t.more.least, t.more.most = at.At("minProperties").Count(0), at.At("maxProperties").Count(math.MaxInt); t.kind == "map" {
		t.least, t.most, t.more.least, t.more.most = t.more.least, t.more.most, 0, math.MaxInt
	}
	if f := at.At("format").Text(); t.kind == "string" && f != "" && f != "password" {
		t.text.checks = []string{f}
	}
	if v := at.At("multipleOf").Number(); v != nil {
		t.more.multiple = *v
	}
	for _, v := range at.At("enum").Items() {
		if t.kind == "string" && v.Tag != "!!null" {
			t.enum = append(t.enum, v.Text())
		} else if v.Tag != "!!null" {
			t.more.values = append(t.more.values, v.JSON())
		}
	}
	slices.Sort(t.enum)
}
