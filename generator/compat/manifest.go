package compat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// mostBytes bounds a file or an answer, since it becomes a tree in memory.
const mostBytes = 32 << 20

// manifest is a file with schemas in JSON or YAML: custom resource definitions or OpenAPI.
type manifest struct {
	file       string
	components place             // of references in OpenAPI
	done       map[string]*shape // of references
	depth      int
	structural bool // schemas of custom resources
	errs       []error
}

func (m *manifest) fail(at place, fix, format string, args ...any) {
	line := 1
	if at.Node != nil {
		line = max(at.Line, 1)
	}
	m.errs = append(m.errs, fmt.Errorf("%s:%d: %s; %s", m.file, line, fmt.Sprintf(format, args...), fix))
}

// readFile is the surface of a file: all custom resource definitions in it, or an OpenAPI 3
// document.
func readFile(name string) (*Surface, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("%s:1: the file has %d MiB, more than %d; split it, or remove what is not compared", name, info.Size()>>20, mostBytes>>20)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseFile(name, text)
}

func parseFile(name string, text []byte) (*Surface, error) {
	var roots []place
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: not YAML or JSON: %s; fix it", name, lineOf(err), strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(doc.Content) > 0 && doc.Content[0].Kind == yaml.MappingNode {
			roots = append(roots, place{doc.Content[0]})
		}
	}
	m := &manifest{file: name, done: map[string]*shape{}}
	switch {
	case len(roots) == 0:
		m.fail(place{}, "name a file with custom resource definitions, or an OpenAPI 3 document", "the file is empty")
	case roots[0].at("swagger").here():
		m.fail(roots[0].at("swagger"), "convert it to OpenAPI 3; a server has one below /openapi/v3", "the document is OpenAPI %s", roots[0].at("swagger").text())
	case roots[0].at("openapi").here():
		if v := roots[0].at("openapi"); !strings.HasPrefix(v.text(), "3.") {
			m.fail(v, "write OpenAPI 3.0 or 3.1", "the document is OpenAPI %s", v.text())
			break
		}
		s := newSurface(name, 0)
		m.openAPI(s, roots[0])
		s.mark()
		return s, errors.Join(m.errs...)
	default:
		m.structural = true
		s := newSurface(name, facetNames|facetColumns|facetSelectors|facetStorage)
		m.definitions(s, roots)
		s.mark()
		return s, errors.Join(m.errs...)
	}
	return nil, errors.Join(m.errs...)
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
		m.fail(at, "give inner types names", "schemas are nested more than 200 deep")
		m.depth--
		return &shape{kind: "any"}
	}
	defer func() { m.depth-- }()
	if at, ok := m.reference(at); ok {
		return m.referred(at)
	}
	t := &shape{pos: schema.Position{File: m.file, Line: max(1, lineAt(at))}}
	m.fill(t, at)
	return t
}

// reference is the $ref of a schema, also as the only schema of allOf.
func (m *manifest) reference(at place) (place, bool) {
	if ref := at.at("$ref"); ref.here() {
		return ref, true
	}
	if all := at.at("allOf").items(); len(all) == 1 && !at.at("properties").here() && all[0].at("$ref").here() {
		return all[0].at("$ref"), true
	}
	return place{}, false
}

// referred is the shape that a reference names. Shapes are made before they are filled, so
// they may be in circles.
func (m *manifest) referred(ref place) *shape {
	name, ok := strings.CutPrefix(ref.text(), "#/components/schemas/")
	switch {
	case m.structural:
		m.fail(ref, "write the schema in place", "a schema of a custom resource refers to %q", ref.text())
	case !ok:
		m.fail(ref, "write #/components/schemas/Name of the same file", "$ref %q leads out of the document; nothing is fetched", ref.text())
	}
	if t := m.done[name]; t != nil {
		return t
	}
	t := &shape{kind: "any"}
	m.done[name] = t
	to := m.components.at(name)
	if !ok || m.structural {
		return t
	}
	if !to.here() {
		m.fail(ref, "add the schema", "$ref %q leads nowhere", ref.text())
		return t
	}
	for seen, next := []string{name}, to; ; {
		again, is := m.reference(next)
		if !is {
			t.pos = schema.Position{File: m.file, Line: lineAt(to)}
			m.fill(t, next)
			return t
		}
		if name = strings.TrimPrefix(again.text(), "#/components/schemas/"); slices.Contains(seen, name) {
			m.fail(again, "write the type", "%s refers to itself and nothing else", name)
			return t
		}
		seen, next = append(seen, name), m.components.at(name)
	}
}

// fill reads the keywords of a schema.
func (m *manifest) fill(t *shape, at place) {
	if at.Node != nil && at.Kind != yaml.MappingNode {
		m.fail(at, "write keys and values", "a schema is not a mapping")
		t.kind = "any"
		return
	}
	m.kind(t, at)
	m.rules(t, at)
	required := at.at("required").texts()
	if t.kind == "object" {
		at.at("properties").each(func(name string, key, value place) {
			t.members = append(t.members, m.memberOf(name, key, value, slices.Contains(required, name)))
		})
		t.open = at.extension("preserve-unknown-fields").yes()
	}
	switch t.kind {
	case "list":
		t.list, t.keys = at.extension("list-type").text(), slices.Sorted(slices.Values(at.extension("list-map-keys").texts()))
		if t.list == "" {
			t.list = "atomic"
		}
		t.elem = &usage{shape: m.shape(at.at("items"))}
	case "map":
		t.elem = &usage{shape: m.shape(at.at("additionalProperties"))}
	}
	t.atomic = at.extension("map-type").text() == "atomic"
	t.more.nullable = at.at("nullable").yes() || slices.Contains(at.at("type").texts(), "null")
	at.each(func(name string, _, value place) {
		switch {
		case strings.HasPrefix(name, "x-") && strings.HasSuffix(name, "-validations"):
			for _, rule := range value.items() {
				t.more.all = append(t.more.all, "rule "+spaceless(rule.at("rule").text()))
			}
		case strings.HasPrefix(name, "x-"), slices.Contains(understood, name):
		case name == "anyOf" && t.kind == "int-or-string":
		case name == "anyOf" || name == "oneOf":
			for _, s := range value.items() {
				list := map[string]*[]string{"anyOf": &t.more.any, "oneOf": &t.more.one}[name]
				*list = append(*list, s.json())
			}
		case name == "allOf":
			for _, s := range value.items() {
				t.more.all = append(t.more.all, name+" "+s.json())
			}
		default:
			t.more.all = append(t.more.all, name+" "+value.json())
		}
	})
}

func (m *manifest) memberOf(name string, key, value place, required bool) *member {
	t := m.shape(value)
	u := &member{usage: usage{shape: t, atomic: t.atomic}, name: name, pos: schema.Position{File: m.file, Line: lineAt(key)}, required: required, published: required}
	if d := value.at("default"); d.here() {
		u.def, u.defaulted = d.json(), true
	}
	u.mergeKey = value.extension("patch-merge-key").text()
	if strategies := value.extension("patch-strategy").text(); strategies != "" {
		u.patch = slices.Sorted(strings.SplitSeq(strategies, ","))
	}
	u.readOnly, u.writeOnly = value.at("readOnly").yes(), value.at("writeOnly").yes()
	u.immutable = slices.ContainsFunc(value.extension("validations").items(), func(r place) bool { return spaceless(r.at("rule").text()) == "self==oldSelf" })
	return u
}

// kind finds the form of values.
func (m *manifest) kind(t *shape, at place) {
	words := at.at("type").texts()
	if word := at.at("type").text(); word != "" {
		words = []string{word}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "null" })
	format := at.at("format").text()
	extra := at.at("additionalProperties")
	switch {
	case at.extension("int-or-string").yes() || format == "int-or-string":
		t.kind = "int-or-string"
	case len(words) == 0 && at.at("properties").here(), slices.Equal(words, []string{"object"}):
		t.kind = "object"
		if extra.Node != nil && extra.Kind == yaml.MappingNode && !at.at("properties").here() {
			t.kind = "map"
		} else if extra.yes() || !m.structural && !at.at("properties").here() {
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
	if m.structural && t.kind == "any" && !at.extension("preserve-unknown-fields").yes() {
		m.fail(at, "write type, or the extension preserve-unknown-fields: true", "the schema is not structural: a value has no type")
	}
	if m.structural && at.at("properties").here() && extra.here() {
		m.fail(extra, "keep one of them", "the schema is not structural: it has properties and additionalProperties")
	}
}

// rules reads the keywords about values.
func (m *manifest) rules(t *shape, at place) {
	s := &schema.Schema{Type: map[string]string{"int32": "integer", "int64": "integer"}[t.kind], Pattern: at.at("pattern").text(),
		Minimum: at.at("minimum").number(), Maximum: at.at("maximum").number(), ExclusiveMinimum: at.at("exclusiveMinimum").number(), ExclusiveMaximum: at.at("exclusiveMaximum").number()}
	if t.kind == "int32" {
		s.Format = t.kind
	}
	if at.at("exclusiveMinimum").yes() {
		s.Minimum, s.ExclusiveMinimum = nil, s.Minimum
	}
	if at.at("exclusiveMaximum").yes() {
		s.Maximum, s.ExclusiveMaximum = nil, s.Maximum
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		s.Pattern = ""
		t.more.all = append(t.more.all, "pattern "+at.at("pattern").text()) // of another dialect
	}
	t.rules = rulesOf(s)
	t.text.least, t.text.most = at.at("minLength").count(0), at.at("maxLength").count(math.MaxInt)
	t.least, t.most = at.at("minItems").count(0), at.at("maxItems").count(math.MaxInt)
	if t.more.least, t.more.most = at.at("minProperties").count(0), at.at("maxProperties").count(math.MaxInt); t.kind == "map" {
		t.least, t.most, t.more.least, t.more.most = t.more.least, t.more.most, 0, math.MaxInt
	}
	if f := at.at("format").text(); t.kind == "string" && f != "" && f != "password" {
		t.text.checks = []string{f}
	}
	if v := at.at("multipleOf").number(); v != nil {
		t.more.multiple = *v
	}
	for _, v := range at.at("enum").items() {
		if t.kind == "string" && v.Tag != "!!null" {
			t.enum = append(t.enum, v.text())
		} else if v.Tag != "!!null" {
			t.more.values = append(t.more.values, v.json())
		}
	}
	slices.Sort(t.enum)
}

// parseRoot is the only document of a text.
func parseRoot(name string, text []byte) (place, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return place{}, fmt.Errorf("%s:1: not a document in JSON; is it a server of this kind?", name)
	}
	return place{doc.Content[0]}, nil
}
