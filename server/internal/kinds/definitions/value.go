package definitions

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// mostMatching bounds the work of patterns: the bytes of the texts times those of their
// pattern.
const mostMatching = 1 << 26

// valueChecker checks the defaults of one schema. It reads a part of the schema once,
// however many values are checked by it.
type valueChecker struct {
	*causes
	parts   map[document.Value]*schemaPart
	matched int    // of mostMatching
	budget  uint64 // for the evaluation of rules
}

// schemaPart is the part of a schema that checks of values use.
type schemaPart struct {
	enum     map[string]bool // canonical JSON; nil for any value
	required []string        // members without a default, each once
	pattern  *regexp.Regexp
}

func (c *valueChecker) part(s document.Value) *schemaPart {
	if p := c.parts[s]; p != nil {
		return p
	}
	p := new(schemaPart)
	if enum := s.Get("enum"); enum.Len() > 0 {
		p.enum = map[string]bool{}
		for _, one := range enum.Elements() {
			p.enum[string(one.AppendJSON(nil))] = true
		}
	}
	properties := s.Get("properties")
	var seen document.Texts
	for _, v := range s.Get("required").Elements() {
		if name := v.Text(); seen.Add(name) && !isSet(properties.Get(name).Get("default")) {
			p.required = append(p.required, name)
		}
	}
	if pattern := s.Get("pattern").Text(); pattern != "" {
		p.pattern, _ = regexp.Compile(pattern) // a wrong pattern is reported elsewhere
	}
	c.parts[s] = p
	return p
}

// defaults checks that every default below a schema is a value that the schema allows.
// Formats and schemas below allOf, anyOf, oneOf and not are not applied. The
// structure is valid.
func (c *valueChecker) defaults(s document.Value, rules *ruleset, at *fieldPath, root bool) {
	if v, embedded := s.Get("default"), root || s.Get(extEmbeddedResource).Bool(); isSet(v) {
		if hasUnknown(v, s, embedded) {
			c.InvalidAt(at.member("default").text(), v, "must not have unknown fields")
		}
		before := len(c.Causes)
		c.embedded(v, s, at.member("default"), embedded)
		if len(c.Causes) == before {
			c.value(v, s, at.member("default"))
		}
		if rules != nil && len(c.Causes) == before {
			c.rules(v, rules, at.member("default"))
		}
	}
	for name, property := range s.Get("properties").Members() {
		c.defaults(property, rules.field(name), at.member("properties").key(name), false)
	}
	for _, name := range [...]string{"items", "additionalProperties"} {
		if below := s.Get(name); below.Kind() == document.Object {
			c.defaults(below, rules.element(), at.member(name), false)
		}
	}
}

// rules evaluates the rules for a default: as it is, and as a new value.
func (c *valueChecker) rules(v document.Value, rules *ruleset, at *fieldPath) {
	for _, old := range [...]document.Value{v, {}} {
		run := &ruleRun{ctx: context.Background(), base: at, counting: true, left: c.budget}
		run.check(rules, v, old, nil, nil)
		if len(run.causes) > 0 || !old.Exists() {
			c.Causes = append(c.Causes, run.causes...)
			c.budget = run.left
			return
		}
	}
}

// hasUnknown reports whether a value has members that the schema does not have. embedded
// marks a whole object, which has the members of every object.
func hasUnknown(v, s document.Value, embedded bool) bool {
	items, properties, additional := s.Get("items"), s.Get("properties"), s.Get("additionalProperties")
	for _, element := range v.Elements() {
		if isSet(items) && hasUnknown(element, items, items.Get(extEmbeddedResource).Bool()) {
			return true
		}
	}
	open := additional.Bool() || s.Get(extPreserveUnknownFields).Bool()
	for name, member := range v.Members() {
		below := properties.Get(name)
		if !below.Exists() && additional.Kind() == document.Object {
			below = additional
		}
		switch {
		case embedded && (name == "kind" || name == "apiVersion" || name == "metadata"):
		case below.Exists():
			if hasUnknown(member, below, below.Get(extEmbeddedResource).Bool()) {
				return true
			}
		case !open:
			return true
		}
	}
	return false
}

// embedded checks the common members of whole objects in a value.
func (c *valueChecker) embedded(v, s document.Value, at *fieldPath, whole bool) {
	for i, element := range v.Elements() {
		if items := s.Get("items"); isSet(items) {
			c.embedded(element, items, at.index(i), items.Get(extEmbeddedResource).Bool())
		}
	}
	if whole && v.Kind() == document.Object {
		for _, name := range [...]string{"apiVersion", "kind"} {
			switch text := v.Get(name); {
			case !text.Exists():
				c.Required(at.member(name).text(), "must not be empty")
			case text.Kind() != document.String:
				c.InvalidAt(at.member(name).text(), text, "must be a string")
			case text.Text() == "":
				c.InvalidText(at.member(name).text(), "", "must not be empty")
			case name == "kind":
				c.wordText(at.member(name).text(), text.Text(), strings.ToLower(text.Text()), "may have mixed case, but should otherwise match: ")
			case strings.Count(text.Text(), "/") > 1:
				c.InvalidText(at.member(name).text(), text.Text(), "must be VERSION or GROUP/VERSION")
			}
		}
	}
	for name, member := range v.Members() {
		if below := s.Get("properties").Get(name); below.Exists() {
			c.embedded(member, below, at.member(name), below.Get(extEmbeddedResource).Bool())
		} else if below := s.Get("additionalProperties"); below.Kind() == document.Object {
			c.embedded(member, below, at.key(name), below.Get(extEmbeddedResource).Bool())
		}
	}
}

// value checks a value by a schema.
func (c *valueChecker) value(v, s document.Value, at *fieldPath) {
	if v.IsNull() && s.Get("nullable").Bool() {
		return
	}
	want := expectedType(s)
	wrong := want != "" && !hasType(v, want)
	if wrong {
		c.Add(schema.CauseTypeInvalid, at.text(), "Invalid value: "+document.Shown(v)+": must be of type "+want)
	}
	if enum := c.part(s).enum; enum != nil && !c.Full() && !enum[string(v.AppendJSON(nil))] {
		c.Add(schema.CauseNotSupported, at.text(), "Unsupported value: "+document.Shown(v)+": supported values: "+document.Shown(s.Get("enum")))
	}
	if wrong { // the bounds of its type do not apply
		return
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
				c.value(element, items, at.index(i))
			}
		}
	case document.Object:
		c.counted(v, s, at, "minProperties", "maxProperties", "properties")
		c.objectValue(v, s, at)
	}
}

// expectedType is the type in a schema, "" where it is open.
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
	return false // no value has an unknown type
}

func (c *valueChecker) textValue(v, s document.Value, at *fieldPath) {
	size := int64(utf8.RuneCountInString(v.Text()))
	if least, ok := s.Get("minLength").Int(); ok && size < least {
		c.InvalidAt(at.text(), v, "should be at least "+strconv.FormatInt(least, 10)+" chars long")
	}
	if most, ok := s.Get("maxLength").Int(); ok && size > most {
		c.Add(schema.CauseTooLong, at.text(), "Too long: may not be longer than "+strconv.FormatInt(most, 10))
	}
	if pattern := c.part(s).pattern; pattern != nil {
		text := v.Text()
		if c.matched += (len(text) + 1) * len(pattern.String()); c.matched > mostMatching {
			c.InvalidAt(at.text(), v, "is too long to be matched with the pattern")
		} else if !pattern.MatchString(text) {
			c.InvalidAt(at.text(), v, "should match '"+pattern.String()+"'")
		}
	}
}

func (c *valueChecker) numberValue(v, s document.Value, at *fieldPath) {
	n, _ := v.Float()
	if least, ok := s.Get("minimum").Float(); ok && (n < least || n == least && s.Get("exclusiveMinimum").Bool()) {
		c.InvalidAt(at.text(), v, "should be greater than or equal to "+document.Shown(s.Get("minimum")))
	}
	if most, ok := s.Get("maximum").Float(); ok && (n > most || n == most && s.Get("exclusiveMaximum").Bool()) {
		c.InvalidAt(at.text(), v, "should be less than or equal to "+document.Shown(s.Get("maximum")))
	}
	if step, ok := s.Get("multipleOf").Float(); ok && step > 0 && math.Abs(math.Remainder(n, step)) > 1e-9*step {
		c.InvalidAt(at.text(), v, "should be a multiple of "+document.Shown(s.Get("multipleOf")))
	}
}

func (c *valueChecker) counted(v, s document.Value, at *fieldPath, least, most, what string) {
	if n, ok := s.Get(least).Int(); ok && int64(v.Len()) < n {
		c.InvalidAt(at.text(), v, "should have at least "+strconv.FormatInt(n, 10)+" "+what)
	}
	if n, ok := s.Get(most).Int(); ok && int64(v.Len()) > n {
		c.Add(schema.CauseTooMany, at.text(), "Too many: "+strconv.Itoa(v.Len())+": must have at most "+strconv.FormatInt(n, 10)+" "+what)
	}
}

func (c *valueChecker) objectValue(v, s document.Value, at *fieldPath) {
	for _, name := range c.part(s).required {
		if c.Full() {
			return
		}
		if !v.Get(name).Exists() {
			c.Required(at.member(name).text(), "")
		}
	}
	properties, additional := s.Get("properties"), s.Get("additionalProperties")
	for name, member := range v.Members() {
		if property := properties.Get(name); property.Exists() {
			c.value(member, property, at.member(name))
		} else if additional.Kind() == document.Object {
			c.value(member, additional, at.member(name))
		}
	}
}
