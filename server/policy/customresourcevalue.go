package policy

import (
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// defaults checks that every default below a schema is a value that the schema
// allows. Formats, expressions and what is below allOf, anyOf, oneOf and not are
// not looked at. The structure has been found to be in order.
func (c *causes) defaults(s document.Value, at *place) {
	if v := s.Get("default"); isSet(v) {
		c.value(v, s, at.member("default"), at.member("default"))
	}
	for name, property := range s.Get("properties").Members() {
		c.defaults(property, at.member("properties").key(name))
	}
	for _, name := range [...]string{"items", "additionalProperties"} {
		if below := s.Get(name); below.Kind() == document.Object {
			c.defaults(below, at.member(name))
		}
	}
}

// value checks a value by a schema. root is where unknown members are reported.
func (c *causes) value(v, s document.Value, at, root *place) {
	if v.IsNull() && s.Get("nullable").Bool() {
		return
	}
	if want := expectedType(s); want != "" && !hasType(v, want) {
		c.add(schema.CauseTypeInvalid, at.text(), "Invalid value: "+show(v)+": must be of type "+want)
		return
	}
	if enum := s.Get("enum"); enum.Len() > 0 && !hasValue(enum, v) {
		c.add(schema.CauseNotSupported, at.text(), "Unsupported value: "+show(v)+": supported values: "+show(enum))
	}
	switch v.Kind() {
	case document.String:
		c.textValue(v, s, at)
	case document.Number:
		c.numberValue(v, s, at)
	case document.Array:
		c.counted(v, s, at, "minItems", "maxItems", "items")
		for i, element := range v.Elements() {
			if items := s.Get("items"); isSet(items) {
				c.value(element, items, at.index(i), root)
			}
		}
	case document.Object:
		c.counted(v, s, at, "minProperties", "maxProperties", "properties")
		c.objectValue(v, s, at, root)
	}
}

// expectedType is what a schema says of the type, "" where it leaves it open.
func expectedType(s document.Value) string {
	if kind := s.Get("type").Text(); kind != "" {
		return kind
	}
	if s.Get(extIntOrString).Bool() {
		return "integer or string"
	}
	return ""
}

func hasType(v document.Value, want string) bool {
	switch kind := v.Kind(); want {
	case "object":
		return kind == document.Object
	case "array":
		return kind == document.Array
	case "string":
		return kind == document.String
	case "boolean":
		return kind == document.Bool
	case "number":
		return kind == document.Number
	case "integer":
		f, _ := v.Float()
		return kind == document.Number && f == math.Trunc(f)
	case "integer or string":
		return kind == document.String || hasType(v, "integer")
	}
	return true // a type that does not exist has been reported
}

func hasValue(list, v document.Value) bool {
	for _, one := range list.Elements() {
		if string(one.AppendJSON(nil)) == string(v.AppendJSON(nil)) {
			return true
		}
	}
	return false
}

func (c *causes) textValue(v, s document.Value, at *place) {
	size := int64(utf8.RuneCountInString(v.Text()))
	if least, ok := s.Get("minLength").Int(); ok && size < least {
		c.invalidAt(at.text(), v, "should be at least "+strconv.FormatInt(least, 10)+" chars long")
	}
	if most, ok := s.Get("maxLength").Int(); ok && size > most {
		c.add(schema.CauseTooLong, at.text(), "Too long: may not be longer than "+strconv.FormatInt(most, 10))
	}
	if pattern := s.Get("pattern").Text(); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(v.Text()) {
			c.invalidAt(at.text(), v, "should match '"+pattern+"'")
		}
	}
}

func (c *causes) numberValue(v, s document.Value, at *place) {
	n, _ := v.Float()
	if least, ok := s.Get("minimum").Float(); ok && (n < least || n == least && s.Get("exclusiveMinimum").Bool()) {
		c.invalidAt(at.text(), v, "should be greater than or equal to "+show(s.Get("minimum")))
	}
	if most, ok := s.Get("maximum").Float(); ok && (n > most || n == most && s.Get("exclusiveMaximum").Bool()) {
		c.invalidAt(at.text(), v, "should be less than or equal to "+show(s.Get("maximum")))
	}
	if step, ok := s.Get("multipleOf").Float(); ok && step > 0 && math.Abs(math.Remainder(n, step)) > 1e-9*step {
		c.invalidAt(at.text(), v, "should be a multiple of "+show(s.Get("multipleOf")))
	}
}

func (c *causes) counted(v, s document.Value, at *place, least, most, what string) {
	if n, ok := s.Get(least).Int(); ok && int64(v.Len()) < n {
		c.invalidAt(at.text(), v, "should have at least "+strconv.FormatInt(n, 10)+" "+what)
	}
	if n, ok := s.Get(most).Int(); ok && int64(v.Len()) > n {
		c.add(schema.CauseTooMany, at.text(), "Too many: "+strconv.Itoa(v.Len())+": must have at most "+strconv.FormatInt(n, 10)+" "+what)
	}
}

func (c *causes) objectValue(v, s document.Value, at, root *place) {
	for _, name := range s.Get("required").Elements() {
		hasDefault := isSet(s.Get("properties").Get(name.Text()).Get("default"))
		if !v.Get(name.Text()).Exists() && !hasDefault {
			c.required(at.member(name.Text()).text(), "")
		}
	}
	properties, additional := s.Get("properties"), s.Get("additionalProperties")
	open := additional.Bool() || s.Get(extPreserveUnknownFields).Bool()
	embedded := s.Get(extEmbeddedResource).Bool()
	for name, member := range v.Members() {
		switch property := properties.Get(name); {
		case property.Exists():
			c.value(member, property, at.member(name), root)
		case additional.Kind() == document.Object:
			c.value(member, additional, at.member(name), root)
		case open, embedded && (name == "kind" || name == "apiVersion" || name == "metadata"):
		default:
			c.invalidAt(root.text(), v, "must not have unknown fields: "+strconv.Quote(name)+" is no field of the schema")
		}
	}
}
