package compat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// shape is the meaning of a schema: references are resolved, keys that are not said have
// their effective values, and defaults are complete.
type shape struct {
	rules
	pos     schema.Position
	rulesAt []schema.Position // of the rules across the members, if they are known
	name    string            // ID of a named type, "core/v1.PodSpec"
	goName  string            // x-cluster-go-name
	kind    string            // object, map, list, any, boolean, string, or the format of a scalar
	form    string            // binary form, where it is not that of the kind
	members []*member
	elem    *usage // of lists, maps, and values that may be objects
	atomic  bool   // objects and maps: one owner
	list    string // list type: atomic, set, map, or merged as patches do
	keys    []string
	roundUp bool
	hook    bool // fills in defaults
	hookRev int
	check   bool // a hook validates values
	skip    bool // a hook leaves members out of validation
	more    further

	reserved []schema.WireNumber
	oneOf    []string
	oneNeed  bool
	open     bool // members without a schema are kept

	use      use
	defaults bool // the members have theirs
	filling  bool
	filled   bool // "" counts as absent
}

// usage is a shape in the place that refers to it.
type usage struct {
	*shape
	atomic bool // one owner in this place
}

// member is a member of an object.
type member struct {
	usage
	name       string
	pos        schema.Position
	number     int
	outer      int
	required   bool // objects without it are refused
	published  bool // as required
	nonzero    bool
	presence   string // implicit, explicit, always
	null       bool
	defaulted  bool
	def        string // canonical JSON with all inner defaults; "" for none
	when       string // the default's condition
	immutable  bool
	gate       string
	gateValue  string
	gateHolder bool // of an object that goes with the field
	ungated    bool
	unchecked  bool
	readOnly   bool
	writeOnly  bool
	patch      []string // sorted
	mergeKey   string
	renamed    []string // its names in other versions
}

// builder makes shapes of schemas in documents.
type builder struct {
	types map[string]*model.Type
	done  map[*schema.Schema]*shape
}

// wireForm is how the binary form wraps a value: raw objects and any JSON are wrapped alike.
func wireForm(s *schema.Schema) string {
	if s.BinaryForm == "json" {
		return "raw"
	}
	return s.BinaryForm
}

func (b *builder) shape(s *schema.Schema, in *model.Type) *shape {
	if t := b.done[s]; t != nil {
		return t
	}
	t := &shape{pos: s.Pos, kind: kindOf(s), form: wireForm(s), roundUp: s.RoundUp, atomic: s.MapType == "atomic",
		hook: s.DefaultHook, hookRev: s.HookRevision, check: s.ValidateHook, skip: s.SkipHook, reserved: s.Reserved, rules: rulesOf(s), more: furtherOf(s)}
	b.done[s] = t
	if in.Schema == s {
		t.name, t.goName, t.rulesAt = in.ID, s.Goname, in.Rules
	}
	for _, name := range s.OneOf {
		name, alias, found := strings.Cut(name, ":")
		if found && alias == "" {
			name += ":" // counts, and is never refused
		}
		t.oneOf = append(t.oneOf, name)
	}
	t.oneNeed = s.OneNeeded
	switch t.kind {
	case "object":
		for i := range s.Properties {
			t.members = append(t.members, b.member(s, &s.Properties[i], in))
		}
	case "list":
		t.list, t.keys = listOf(s), slices.Sorted(slices.Values(s.ListMapKeys))
		t.elem = b.usage(s.Items, in)
	case "map":
		t.elem = b.usage(s.Additional, in)
	case "any":
		if s.Objects != "" {
			t.elem = b.usage(&schema.Schema{Pos: s.Pos, Ref: s.Objects}, in)
		}
	}
	return t
}

// usage resolves the schema of a place in a type.
func (b *builder) usage(s *schema.Schema, in *model.Type) *usage {
	if s == nil {
		return nil
	}
	atomic := s.MapType == "atomic"
	if s.Ref != "" {
		id, _ := schema.ResolveRef(in.GV.Dir, s.Ref)
		if to := b.types[id]; to != nil {
			t := b.shape(to.Schema, to)
			return &usage{t, atomic || s.MapType == "" && t.atomic}
		}
	}
	return &usage{b.shape(s, in), atomic}
}

func (b *builder) member(of *schema.Schema, p *schema.Property, in *model.Type) *member {
	s := p.Schema
	m := &member{usage: *b.usage(s, in), name: p.Name, pos: p.Pos, number: s.Binary, outer: s.BinaryOuter,
		published: of.Publishes(p.Name), nonzero: s.Missing == "nonzero", presence: presenceOf(of, p), null: s.Null,
		readOnly: s.ReadOnly, writeOnly: s.WriteOnly, immutable: s.Immutable, gate: s.FeatureGate, gateValue: s.GateValue,
		gateHolder: s.GateHolder, ungated: s.Ungated,
		unchecked: s.Validate != nil && !*s.Validate,
		patch:     slices.Compact(slices.Sorted(slices.Values(s.PatchStrategy))), mergeKey: s.PatchMergeKey, def: string(s.Default), defaulted: s.Default != nil,
		renamed: s.RenamedFrom}
	m.required = of.Enforces(p.Name) && !m.unchecked || s.Missing == "by-rules" && m.refusesNone()
	if m.presence == "" {
		m.presence = "implicit"
		if m.kind == "object" {
			m.presence = "explicit"
		}
	}
	m.filled = m.filled || s.Ref == "" && m.presence == "implicit" && m.kind == "string" && !m.required
	if s.DefaultWhen != "" {
		m.when = s.DefaultWhen + " in " + strings.Join(slices.Sorted(slices.Values(s.DefaultWhenIs)), ", ")
	}
	return m
}

// presenceOf is the presence of a property, as far as its object says it.
func presenceOf(of *schema.Schema, p *schema.Property) string {
	if p.Schema.Presence == "" && of.Publishes(p.Name) {
		return "always"
	}
	return p.Schema.Presence
}

// kindOf is the form that values must have.
func kindOf(s *schema.Schema) string {
	switch {
	case s.PreserveAny:
		return "any"
	case s.Type == "object" && s.Additional != nil:
		return "map"
	case s.Type == "array":
		return "list"
	case s.Type == "integer" && s.Format == "":
		return "int64"
	case s.Type == "number":
		return "number"
	case s.Format != "" && !textual(s):
		return s.Format
	}
	return s.Type
}

// textual reports whether the format of a schema is a check of texts, rather than a form.
func textual(s *schema.Schema) bool {
	return s.Type == "string" && slices.Contains(document.TextFormats(), s.Format) && s.Format != "date-time"
}

// listOf is the list type that holds: without one a list is owned as patches merge it.
func listOf(s *schema.Schema) string {
	switch {
	case s.ListType != "":
		return s.ListType
	case slices.Contains(s.PatchStrategy, "merge"):
		return "merged as by patches"
	}
	return "atomic"
}

// fillDefaults completes the defaults of the members, as the server fills them in.
func (t *shape) fillDefaults() {
	if t.defaults || t.filling {
		return
	}
	t.filling = true
	for _, m := range t.members {
		m.shape.fillDefaults()
		var v any
		if m.def == "" || json.Unmarshal([]byte(m.def), &v) != nil {
			continue
		}
		text, _ := json.Marshal(m.fill(v))
		if m.def = string(text); m.when == "" && m.presence == "always" && m.zero(v) {
			m.def = "" // it has that value without a default too
		}
	}
	t.filling, t.defaults = false, true
}

// fill adds the defaults inside a value. It changes the value.
func (t *shape) fill(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, m := range t.members {
			in, has := v[m.name]
			var d any
			switch {
			case has && in != nil:
				v[m.name] = m.fill(in)
			case m.def != "" && m.when == "" && json.Unmarshal([]byte(m.def), &d) == nil:
				v[m.name] = d
			case m.presence == "always" && m.kind == "object":
				v[m.name] = m.fill(map[string]any{})
			}
		}
		for name := range v {
			if t.kind == "map" {
				v[name] = t.elem.fill(v[name])
			}
		}
	case []any:
		for i := range v {
			if t.elem != nil {
				v[i] = t.elem.fill(v[i])
			}
		}
	}
	return v
}

// zero reports whether a value is the one that a field of the shape has without any.
func (t *shape) zero(v any) bool {
	switch v := v.(type) {
	case string:
		return v == "" && t.kind == "string"
	case bool:
		return !v
	case float64:
		return v == 0
	}
	return false
}

// property finds a member, or nil.
func (t *shape) property(name string) *member {
	for _, m := range t.members {
		if m.name == name {
			return m
		}
	}
	return nil
}
