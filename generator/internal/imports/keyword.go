package imports

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/internal/document"
)

// stringFormats are the formats of texts that documents know, by those of others.
var stringFormats = func() map[string]string {
	all := map[string]string{"date-time": "date-time", "datetime": "date-time", "byte": "byte", "duration": "duration",
		"micro-time": "micro-time", "quantity": "quantity"}
	for _, name := range document.TextFormats() {
		all[name] = name
	}
	return all
}()

// format reads the format of a scalar.
func (k *kind) format(at foreign.Place, out mapping, form string) {
	f := at.At("format")
	name := f.Text()
	switch {
	case name == "":
	case form == "integer" && (name == "int32" || name == "int64"), form == "number" && name == "double":
		out.text("format", name, foreign.LineOf(f))
	case form == "string" && stringFormats[name] != "":
		out.text("format", stringFormats[name], foreign.LineOf(f))
	case form == "string" && name == "cidr":
		out.text("x-cluster-format", "cidr", foreign.LineOf(f))
	default:
		k.note(f, "write bounds, a pattern or a named check", "the format %s of a value of type %s is not taken over", name, form)
	}
}

// kept are the keywords of rules that documents have too, with the forms that can have them.
var kept = map[string][]string{
	"pattern": {"string", "int-or-string"}, "minLength": {"string", "int-or-string"}, "maxLength": {"string", "int-or-string"},
	"multipleOf": {"integer", "number"},
	"minimum":    {"integer", "number", "int-or-string"}, "maximum": {"integer", "number", "int-or-string"}, "minItems": {"list"}, "maxItems": {"list"},
	"minProperties": {"object", "map"}, "maxProperties": {"object", "map"}, "enum": nil, "const": nil,
	"exclusiveMinimum": {"integer", "number"}, "exclusiveMaximum": {"integer", "number"},
	"contains": {"list"}, "minContains": {"list"}, "maxContains": {"list"}, "dependentRequired": {"object"}, "propertyNames": {"map", "any"},
}

// elsewhere are the keywords that other functions read, and those that restrict nothing.
var elsewhere = []string{"type", "format", "properties", "required", "items", "additionalProperties", "default", "description", "title", "nullable",
	"deprecated", "readOnly", "writeOnly",
	"example", "examples", "$ref", "$schema", "$comment", "$id"}

// extensions are those that other functions read, without their prefixes, and some that
// only repeat something known.
var extensions = regexp.MustCompile(`^x-[a-z]+(-cluster)?-(int-or-string|preserve-unknown-fields|embedded-resource|list-type|list-map-keys|map-type|validations|patch-strategy|patch-merge-key|group-version-kind|unions|action)$`)

// keywords reads the keywords that restrict values, and reports those that nobody reads.
func (k *kind) keywords(at foreign.Place, out mapping, form string) {
	at.Each(func(name string, key, value foreign.Place) {
		forms, is := kept[name]
		switch {
		case slices.Contains(elsewhere, name) || extensions.MatchString(name):
		case strings.HasPrefix(name, "exclusiveM") && (value.Text() == "true" || value.Text() == "false"):
			k.exclusive(at, out, name, value)
		case strings.HasPrefix(name, "m") && is && at.At("exclusive"+strings.ToUpper(name[:1])+name[1:]).Text() == "true":
		case name == "pattern" && !compiles(value.Text()):
			k.note(key, "write it in RE2, without looking around", "the pattern %s has another syntax", value.Text())
		case is && form == "integer" && out.get("format") != nil && out.get("format").Value == "int32" && !narrow(value):
			k.note(key, "write a bound within int32", "the %s is beyond int32, so the value has 64 bits", name)
			out.text("format", "int64", value.Line)
			out.set(name, clone(value.Node))
		case is && (forms == nil || slices.Contains(forms, form)):
			k.keyword(name, value, out, form)
		case is:
			k.note(key, "drop it", "%s restricts nothing in a value of the form %s", name, form)
		case name == "uniqueItems":
			if value.Yes() {
				out.texts("x-cluster-unique", []string{"."}, foreign.LineOf(value))
			}
		case name == "allOf" || name == "anyOf" || name == "oneOf":
			k.alternatives(name, value, out, form)
		case slices.Contains([]string{"not", "if", "then", "else"}, name):
			if s := k.restriction(value); s != nil {
				out.set(name, s)
			}
		default:
			k.note(key, "say it in the description, a rule or a hook", "documents have no %s", name)
		}
	})
}

// narrow reports whether a bound is one of a 32-bit integer.
func narrow(value foreign.Place) bool {
	n := value.Number()
	return n == nil || *n >= math.MinInt32 && *n <= math.MaxInt32
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// exclusive reads the bounds of OpenAPI 3.0, which are a number and a boolean.
func (k *kind) exclusive(at foreign.Place, out mapping, name string, value foreign.Place) {
	bound := at.At(strings.ToLower(name[9:10]) + name[10:])
	if value.Yes() && bound.Here() {
		out.set(name, clone(bound.Node))
	}
}

// keyword takes over a keyword.
func (k *kind) keyword(name string, value foreign.Place, out mapping, form string) {
	if name != "enum" {
		if n := value.Text(); (name == "maxLength" || name == "maxItems") && n == "0" {
			k.note(value, "drop the field", "%s: 0 allows nothing but an empty value", name)
			return
		}
		out.set(name, clone(value.Node))
		return
	}
	list, null := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: value.Line}, false
	for _, item := range value.Items() {
		if item.Kind != yaml.ScalarNode {
			k.note(item, "write oneOf with const for its members", "an enum of values that are not scalars")
			return
		}
		if v := clone(item.Node); !slices.ContainsFunc(list.Content, func(o *yaml.Node) bool { return sameNode(o, v) }) {
			list.Content = append(list.Content, v)
		}
		null = null || item.Tag == "!!null"
	}
	if nullable := out.get("nullable") != nil; nullable && !null {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: value.Line})
	} else if null && !nullable {
		out.yes("nullable", value.Line)
	}
	if len(list.Content) > 0 {
		out.set(name, list)
	}
}

// alternatives reads schemas that values have to keep besides their own.
func (k *kind) alternatives(name string, value foreign.Place, out mapping, form string) {
	for _, item := range value.Items() {
		if form == "int-or-string" && name != "allOf" && len(item.Content) == 2 && item.At("type").Here() {
			continue // an integer or a string, which the form says
		}
		if item.At("$ref").Here() {
			k.note(item, "write the members of the type, and x-cluster-one-of for alternatives", "%s of types that have names is not taken over", name)
			return
		}
		if s := k.restriction(item); s != nil {
			out.add(name, s)
		}
	}
}

// restricts are the keywords of schemas that only restrict values.
var restricts = strings.Fields("type enum const multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems " +
	"minProperties maxProperties required contains minContains maxContains dependentRequired description title")

// restriction is a schema that restricts values which another describes; nil for none.
func (k *kind) restriction(at foreign.Place) *yaml.Node {
	if at.Node == nil || at.Kind != yaml.MappingNode {
		return nil
	}
	out := newMapping(foreign.LineOf(at))
	at.Each(func(name string, key, value foreign.Place) {
		switch {
		case slices.Contains(restricts, name) && !(strings.HasPrefix(name, "exclusiveM") && value.Kind == yaml.ScalarNode && value.Tag == "!!bool"):
			out.set(name, clone(value.Node))
		case name == "properties":
			members := newMapping(value.Line)
			value.Each(func(member string, key, value foreign.Place) {
				if s := k.restriction(value); s != nil {
					members.set(member, s)
				}
			})
			out.set(name, members.Node)
		case name == "items" || name == "additionalProperties" || name == "not":
			if s := k.restriction(value); s != nil {
				out.set(name, s)
			}
		case name == "allOf" || name == "anyOf" || name == "oneOf":
			for _, item := range value.Items() {
				if s := k.restriction(item); s != nil {
					out.add(name, s)
				}
			}
		case name == "exclusiveMinimum" || name == "exclusiveMaximum":
			k.exclusive(at, out, name, value)
		case name == "format" && stringFormats[value.Text()] != "":
			out.set(name, clone(value.Node))
		default:
			k.note(key, "say it in another way", "%s of a schema that only restricts values is not taken over", name)
		}
	})
	return out.Node
}
