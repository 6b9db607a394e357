package compat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// schemas compares two schemas that stand for each other, with all that they
// reach. path names them in messages.
func (c *comparison) schemas(s scope, oldType *model.Type, old *schema.Schema, nowType *model.Type, now *schema.Schema, path string) {
	oldType, old = c.before.resolve(oldType, old)
	nowType, now = c.now.resolve(nowType, now)
	if c.compared[pair{old, now}] {
		return
	}
	s = s.of(oldType.GV)
	c.compared[pair{old, now}] = true
	if before, after := shape(old), shape(now); before != after {
		c.find(s, "field-type-changed", now.Pos, "%s was %s and is %s", path, before, after)
		return
	}
	c.rules(s, old, now, path)
	if semantics(old) != semantics(now) {
		c.find(s, "list-semantics-changed", now.Pos, "the list %s was %s and is %s", path, semantics(old), semantics(now))
	}
	if (old.MapType == "atomic") != (now.MapType == "atomic") {
		c.find(s, "map-semantics-changed", now.Pos, "%s changes between atomic and granular", path)
	}
	for i := range old.Properties {
		c.field(s, oldType, old, &old.Properties[i], nowType, now, path)
	}
	c.newFields(s, old, now, path)
	if old.Items != nil && now.Items != nil {
		c.schemas(s, oldType, old.Items, nowType, now.Items, path+"[]")
	}
	if old.Additional != nil && now.Additional != nil {
		c.schemas(s, oldType, old.Additional, nowType, now.Additional, path+"[*]")
	}
}

// field compares one member of an object.
func (c *comparison) field(s scope, oldType *model.Type, old *schema.Schema, p *schema.Property, nowType *model.Type, now *schema.Schema, path string) {
	path += "." + p.Name
	q := property(now, p.Name)
	if q == nil {
		c.find(s, "field-removed", gone(p.Pos), "the field %s is gone", path)
		return
	}
	before, after := p.Schema, q.Schema
	if before.Binary != after.Binary || before.BinaryOuter != after.BinaryOuter {
		c.find(s, "field-binary-number-changed", q.Pos, "the binary number of %s was %d and is %d: write x-cluster-binary: %d", path, before.Binary, after.Binary, before.Binary)
	}
	if !required(old, p) && required(now, q) {
		c.find(s, "field-required", q.Pos, "%s becomes required", path)
	}
	if presence(old, p) != presence(now, q) {
		c.find(s, "field-presence-changed", q.Pos, "the presence of %s was %s and is %s", path, presence(old, p), presence(now, q))
	}
	if !bytes.Equal(before.Default, after.Default) || before.DefaultWhen != after.DefaultWhen || !slices.Equal(before.DefaultWhenIs, after.DefaultWhenIs) {
		c.find(s, "field-default-changed", q.Pos, "the default of %s was %s and is %s", path, defaultOf(before), defaultOf(after))
	}
	if !before.Immutable && after.Immutable {
		c.find(s, "field-immutable", q.Pos, "%s can no longer change", path)
	}
	if before.FeatureGate != after.FeatureGate && after.FeatureGate != "" {
		c.find(s, "field-gated", q.Pos, "%s is dropped unless the feature gate %s is on", path, after.FeatureGate)
	}
	if !slices.Equal(before.PatchStrategy, after.PatchStrategy) || before.PatchMergeKey != after.PatchMergeKey {
		c.find(s, "patch-semantics-changed", q.Pos, "strategic merge patches treat %s differently", path)
	}
	c.schemas(s, oldType, before, nowType, after, path)
}

// newFields checks the fields that the released type did not have.
func (c *comparison) newFields(s scope, old, now *schema.Schema, path string) {
	for i := range now.Properties {
		q := &now.Properties[i]
		if property(old, q.Name) != nil {
			continue
		}
		if required(now, q) && q.Schema.Default == nil {
			c.find(s, "field-required", q.Pos, "the new field %s.%s is required", path, q.Name)
		}
		for _, p := range old.Properties {
			if p.Schema.Binary != 0 && p.Schema.Binary == q.Schema.Binary && p.Schema.BinaryOuter == q.Schema.BinaryOuter && property(now, p.Name) == nil {
				c.find(s, "field-binary-number-reused", q.Pos, "%s.%s takes the binary number %d, which was that of %s", path, q.Name, q.Schema.Binary, p.Name)
			}
		}
	}
}

func property(s *schema.Schema, name string) *schema.Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// required reports whether the server refuses objects without the field.
func required(s *schema.Schema, p *schema.Property) bool {
	return s.Enforces(p.Name) || p.Schema.Missing == "by-rules"
}

// presence is that of the document, or "the usual one" where it has none.
func presence(s *schema.Schema, p *schema.Property) string {
	switch {
	case p.Schema.Presence != "":
		return p.Schema.Presence
	case s.Publishes(p.Name):
		return "always"
	}
	return "the usual one"
}

// shape is the part of a schema that values must have.
func shape(s *schema.Schema) string {
	switch {
	case s.PreserveAny:
		return "any JSON"
	case s.Type == "object" && s.Additional != nil:
		return "a map"
	case s.Format != "" && (s.Type == "string" || s.Type == ""):
		return s.Format
	case s.Type == "integer" && s.Format == "":
		return "int64"
	case s.Format != "":
		return s.Format
	}
	return s.Type
}

func semantics(s *schema.Schema) string {
	if s.Type != "array" {
		return ""
	}
	kind := s.ListType
	if kind == "" {
		kind = "atomic"
	}
	if len(s.ListMapKeys) > 0 {
		kind += " by " + strings.Join(s.ListMapKeys, ", ")
	}
	return kind
}

func defaultOf(s *schema.Schema) string {
	switch {
	case s.Default == nil:
		return "none"
	case s.DefaultWhen != "":
		return fmt.Sprintf("%s where %s is one of %v", s.Default, s.DefaultWhen, s.DefaultWhenIs)
	}
	return string(s.Default)
}
