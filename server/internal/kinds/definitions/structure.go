package definitions

import (
	"regexp"

	"github.com/capstan-dev/capstan/internal/document"
)

// level is the position of a schema in its structure.
type level uint8

const (
	rootLevel level = iota
	itemLevel
	fieldLevel
)

// untypedAt is the message for a missing type, by level.
var untypedAt = [...]string{"must not be empty at the root", "must not be empty for specified array items", "must not be empty for specified object fields"}

// structure checks that a schema and all below it have the type of every value, outside
// of allOf, anyOf, oneOf and not.
func (c *causes) structure(s document.Value, at *fieldPath, lvl level) {
	items, properties, additional := s.Get("items"), s.Get("properties"), s.Get("additionalProperties")
	if isSet(items) {
		c.structure(items, at.member("items"), itemLevel)
	} else if s.Get("type").Equals("array") {
		c.Required(at.member("items").text(), "must be specified")
	}
	for name, property := range properties.Members() {
		c.structure(property, at.member("properties").key(name), fieldLevel)
	}
	if isSet(additional) && lvl == rootLevel {
		c.Forbidden(at.member("additionalProperties").text(), "must not be used at the root")
	}
	if additional.Kind() == document.Object {
		c.structure(additional, at.member("additionalProperties"), fieldLevel)
	}
	c.structureType(s, at, lvl)
	if lvl == rootLevel || s.Get(extEmbeddedResource).Bool() {
		c.envelope(properties, at.member("properties"), lvl)
	}
	c.valueRules(s, at)
}

func (c *causes) structureType(s document.Value, at *fieldPath, lvl level) {
	kind, path := s.Get("type").Text(), at.member("type").text
	embedded, any := s.Get(extEmbeddedResource).Bool(), s.Get(extPreserveUnknownFields).Bool()
	either := s.Get(extIntOrString).Bool()
	switch {
	case embedded && kind == "":
		c.Required(path(), "must be object if "+extEmbeddedResource+" is true")
	case embedded && kind != "object":
		c.InvalidText(path(), kind, "must be object if "+extEmbeddedResource+" is true")
	case kind == "" && !either && !any:
		c.Required(path(), untypedAt[lvl])
	}
	if lvl == rootLevel && kind != "" && kind != "object" {
		c.InvalidText(path(), kind, "must be object at the root")
	}
	if either && any {
		c.InvalidAt(at.member(extPreserveUnknownFields).text(), s.Get(extPreserveUnknownFields), "must be false if "+extIntOrString+" is true")
	}
	if either && embedded {
		c.InvalidAt(at.member(extEmbeddedResource).text(), s.Get(extEmbeddedResource), "must be false if "+extIntOrString+" is true")
	}
	if embedded && isSet(s.Get("additionalProperties")) {
		c.Forbidden(at.member("additionalProperties").text(), "must not be used if "+extEmbeddedResource+" is set")
	}
	if embedded && !any && s.Get("properties").Len() == 0 {
		c.Required(at.member("properties").text(), "must not be empty if "+extEmbeddedResource+" is true without "+extPreserveUnknownFields)
	}
}

// envelope checks the schemas of kind, apiVersion and metadata, which every object has
// anyway.
func (c *causes) envelope(properties document.Value, at *fieldPath, lvl level) {
	for _, field := range [...]struct{ name, kind string }{{"kind", "string"}, {"apiVersion", "string"}, {"metadata", "object"}} {
		if s := properties.Get(field.name); s.Exists() && !s.Get("type").Equals(field.kind) {
			c.InvalidText(at.key(field.name).member("type").text(), s.Get("type").Text(), "must be "+field.kind)
		}
	}
	if lvl != rootLevel {
		return
	}
	for name, v := range properties.Get("metadata").Members() {
		switch name {
		case "type", "default", "externalDocs", "example", "$schema":
			continue
		case "properties":
			if known := count(v.Get("name")) + count(v.Get("generateName")); known == v.Len() {
				continue
			}
		}
		c.Forbidden(at.key("metadata").text(), "must not specify anything other than name and generateName, but metadata is implicitly specified")
		return
	}
}

func count(v document.Value) int {
	if v.Exists() {
		return 1
	}
	return 0
}

// valueRules checks the rules of a schema for values besides their structure.
func (c *causes) valueRules(s document.Value, at *fieldPath) {
	either := s.Get(extIntOrString).Bool()
	skipAny := either && bothTypes(s.Get("anyOf"))
	c.values(s, at, skipAny, either && !skipAny && bothTypes(s.Get("allOf").Index(0).Get("anyOf")))
}

// values checks the rules for values; skipAny leaves out anyOf, skipFirst that of
// the first schema below allOf.
func (c *causes) values(s document.Value, at *fieldPath, skipAny, skipFirst bool) {
	if pattern := s.Get("pattern").Text(); pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil {
			c.InvalidText(at.member("pattern").text(), pattern, "must be a valid regular expression, but isn't: "+err.Error())
		}
	}
	for _, name := range combinations {
		if name == "anyOf" && skipAny {
			continue
		}
		for i, below := range s.Get(name).Elements() {
			c.nested(below, at.member(name).index(i), skipFirst && name == "allOf" && i == 0)
		}
	}
	if not := s.Get("not"); isSet(not) {
		c.nested(not, at.member("not"), false)
	}
}

// bothTypes recognizes the only anyOf that may have types.
func bothTypes(anyOf document.Value) bool {
	return anyOf.Len() == 2 && anyOf.Index(0).Len() == 1 && anyOf.Index(0).Get("type").Equals("integer") &&
		anyOf.Index(1).Len() == 1 && anyOf.Index(1).Get("type").Equals("string")
}

// outside are the members that give values their structure, with their required values
// where only values are restricted.
var outside = [...]struct{ name, want string }{
	{"type", "empty"}, {"additionalProperties", "undefined"}, {"default", "undefined"}, {"title", "empty"}, {"description", "empty"}, {"nullable", "false"},
	{extPreserveUnknownFields, "false"}, {extEmbeddedResource, "false"}, {extIntOrString, "false"},
	{extListMapKeys, "empty"}, {extListType, "undefined"}, {extMapType, "undefined"},
	{extValidations, "empty"},
}

// nested checks a schema below allOf, anyOf, oneOf or not: it restricts values, but has
// no structure of its own.
func (c *causes) nested(s document.Value, at *fieldPath, skipAny bool) {
	for _, member := range outside {
		v := s.Get(member.name)
		if !isSet(v) || v.Kind() == document.Bool && !v.Bool() && member.want == "false" {
			continue
		}
		c.Forbidden(at.member(member.name).text(), "must be "+member.want+" to be structural")
	}
	for name, property := range s.Get("properties").Members() {
		path := at.member("properties").key(name)
		if name == "metadata" {
			c.Forbidden(path.text(), "must not be specified in a nested context")
		}
		c.nested(property, path, false)
	}
	if items := s.Get("items"); isSet(items) {
		c.nested(items, at.member("items"), false)
	}
	c.values(s, at, skipAny, false)
}

// complete checks that every field that rules below inner name is a field of s.
func (c *causes) complete(inner, s document.Value, at, innerAt *fieldPath) {
	for _, name := range combinations {
		for i, below := range inner.Get(name).Elements() {
			c.completeNested(below, s, at, innerAt.member(name).index(i))
		}
	}
	if not := inner.Get("not"); isSet(not) {
		c.completeNested(not, s, at, innerAt.member("not"))
	}
}

func (c *causes) completeNested(inner, s document.Value, at, innerAt *fieldPath) {
	if !isSet(s) {
		c.Required(at.text(), "because it is defined in "+innerAt.text())
		return
	}
	c.complete(inner, s, at, innerAt)
	if items := inner.Get("items"); isSet(items) {
		c.completeNested(items, s.Get("items"), at.member("items"), innerAt.member("items"))
	}
	for name, property := range inner.Get("properties").Members() {
		c.completeNested(property, s.Get("properties").Get(name), at.member("properties").key(name), innerAt.member("properties").key(name))
	}
}
