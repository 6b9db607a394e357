package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Named is a type that has a name: the root of a document or one of its $defs.
type Named struct {
	ID     string // "core/v1.PodSpec"
	Dir    string // "core/v1": the directory of "#/$defs/X" in its document
	Kind   bool   // has kind and apiVersion
	Schema *Schema
	// Distinct says that the elements of its sets and keyed lists differ, as those of custom resources do. Those of built-in
	// kinds say so by themselves.
	Distinct bool
}

// Source is the input of Compile.
type Source struct {
	Group, Version string
	Roots          []RootName        // sorted by Name
	Types          map[string]*Named // by ID, all types that the roots may reach
}

// RootName is the name under which a table offers a type.
type RootName struct{ Name, ID string }

// Error is a mistake in a document.
type Error struct {
	Pos       Position
	What, Fix string
	Of        any // the wrong part, for programs that can do without it; mostly nil
}

func (e *Error) Error() string {
	text := e.Pos.String() + ": " + e.What
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// Compile turns parsed schemas into the table of one group version, or of one custom
// resource. It reports every mistake it meets, joined (errors.Join of *Error), and never
// panics, whatever the schemas.
//
// The same documents give the same table everywhere: the generator writes the result as
// Go source, the server compiles custom resources with it.
func Compile(src Source) (*Table, error) {
	c := &compiler{types: src.Types, named: map[string]Ref{}, anonymous: map[string]Ref{}}
	roots := make([]Root, 0, len(src.Roots))
	for _, root := range src.Roots {
		n := src.Types[root.ID]
		if n == nil {
			c.fail(Position{}, "declare it", "root %s names the type %s, which does not exist", root.Name, root.ID)
			continue
		}
		roots = append(roots, Root{Name: root.Name, Type: c.namedType(n, n.Schema.MapType)})
	}
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	t, _ := ordered(&Table{Group: src.Group, Version: src.Version, Types: c.out, Roots: roots})
	NumberHooks(t)
	c.checkDemands(t)
	if c.causeOrders(t); len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	t.MakeIndex()
	return t, nil
}

// maxDepth bounds the nesting of anonymous schemas, which documents from the
// network may choose.
const maxDepth = 1000

// compiler holds the types in the order in which they were finished; ordered sorts them
// into the order of the table.
type compiler struct {
	types     map[string]*Named
	out       []Type
	named     map[string]Ref // by ID and map type
	anonymous map[string]Ref // by content
	depth     int
	errs      []error
}

func (c *compiler) fail(pos Position, fix, format string, args ...any) {
	c.errs = append(c.errs, &Error{Pos: pos, What: fmt.Sprintf(format, args...), Fix: fix})
}

// namedType compiles a named type once for every map type that its users require (nearly
// always one). It gets its Ref before its members are compiled, so that types may refer
// to each other in circles.
func (c *compiler) namedType(n *Named, mapType string) Ref {
	key := n.ID
	if (mapType == "atomic") != (n.Schema.MapType == "atomic") {
		key += " " + mapType
	}
	if ref, ok := c.named[key]; ok {
		return ref
	}
	if n.Schema.Ref != "" {
		c.fail(n.Schema.Pos, "refer to that type where this one is used", "the type %s is nothing but a $ref", n.ID)
		return 0
	}
	ref := Ref(len(c.out))
	c.out = append(c.out, Type{Name: n.ID, Elem: None})
	c.named[key] = ref
	t := c.shape(n.Schema, n)
	t.Name = n.ID
	t.AtomicMap = mapType == "atomic" && (t.Kind == Object || t.Kind == Map)
	if n.Schema.DefaultHook {
		t.HookRevision = uint16(min(max(n.Schema.HookRevision, 0), 1<<16-1))
		if t.Hook = 1; t.Kind != Object {
			c.fail(n.Schema.Pos, "move the hook to the object that holds it", "a default hook on %s, which is not an object", n.ID)
		}
	}
	t.Check, t.Skip = numberOf(n.Schema.ValidateHook), numberOf(n.Schema.SkipHook)
	if t.Check+t.Skip > 0 && t.Kind != Object {
		c.fail(n.Schema.Pos, "move the hook to the object that holds it", "a validation hook on %s, which is not an object", n.ID)
	}
	if !n.Schema.DefaultHook && n.Schema.HookRevision > 0 {
		c.fail(n.Schema.Pos, "remove it, or name the hook", "a hook revision on %s, which has no default hook", n.ID)
	}
	if n.Kind {
		if t.Kind != Object {
			c.fail(n.Schema.Pos, "write type: object", "the kind %s is not an object", n.ID)
		}
		text := c.intern(Type{Kind: String, Elem: None})
		t.Fields = append([]Field{{Name: "kind", Type: text}, {Name: "apiVersion", Type: text}}, t.Fields...)
	}
	c.out[ref] = t
	return ref
}

// numberOf stands for a hook until NumberHooks numbers it.
func numberOf(hook bool) uint16 {
	if hook {
		return 1
	}
	return 0
}

// refTo compiles the type that a schema inside a named type describes.
func (c *compiler) refTo(s *Schema, in *Named) Ref {
	if s.Ref == "" {
		if s.DefaultHook || s.ValidateHook || s.SkipHook {
			c.fail(s.Pos, "give the type a name in $defs", "a hook on a type without a name")
		}
		if s.CauseOrder != nil {
			c.fail(s.Pos, "give the type a name in $defs", "an order of causes on a type without a name")
		}
		if s.Rules != nil {
			c.fail(s.Pos, "give the type a name in $defs", "rules across members on a type without a name")
		}
		if c.depth++; c.depth > maxDepth {
			c.fail(s.Pos, "give inner types names in $defs", "schemas are nested more than %d deep", maxDepth)
			return 0
		}
		defer func() { c.depth-- }()
		return c.intern(c.shape(s, in))
	}
	id, ok := ResolveRef(in.Dir, s.Ref)
	if !ok {
		c.fail(s.Pos, `write "#/$defs/Name" or "/group/version/Name"`, "$ref %q has a form that is not understood", s.Ref)
		return 0
	}
	n := c.types[id]
	if n == nil {
		c.fail(s.Pos, "declare the type "+id+" or fix the reference", "$ref %q points at nothing", s.Ref)
		return 0
	}
	if rulesOf(s) != nil {
		c.fail(s.Pos, "write them in the type "+id, "rules beside $ref have no effect")
	}
	if s.MapType != "" {
		c.atomicMap(s)
		return c.namedType(n, s.MapType)
	}
	return c.namedType(n, n.Schema.MapType)
}

// ResolveRef returns the ID that a $ref refers to in a document of a directory.
func ResolveRef(dir, ref string) (id string, ok bool) {
	if name, local := strings.CutPrefix(ref, "#/$defs/"); local {
		return dir + "." + name, name != ""
	}
	if rest, global := strings.CutPrefix(ref, "/"); global {
		i := strings.LastIndexByte(rest, '/')
		if i > 0 && i < len(rest)-1 {
			return rest[:i] + "." + rest[i+1:], true
		}
	}
	return "", false
}

// intern gives equal anonymous types one Ref.
func (c *compiler) intern(t Type) Ref {
	bare, rules, further := t, Rules{}, []byte(nil)
	if bare.Rules = nil; t.Rules != nil {
		rules = *t.Rules
		further, _ = json.Marshal(rules.Further) // with what its pointers hold
		rules.Further = nil
	}
	bare.Fields = slices.Clone(t.Fields)
	rest := map[int]More{}
	for i := range bare.Fields {
		if more := bare.Fields[i].More; more != nil {
			rest[i], bare.Fields[i].More = *more, nil
		}
	}
	key := fmt.Sprintf("%#v %#v %#v %s", bare, rules, rest, further)
	if ref, ok := c.anonymous[key]; ok {
		return ref
	}
	ref := Ref(len(c.out))
	c.out = append(c.out, t)
	c.anonymous[key] = ref
	return ref
}

// object compiles the members of an object.
func (c *compiler) object(t *Type, s *Schema, in *Named) {
	if len(s.Properties) > 1<<15 {
		c.fail(s.Pos, "split the type", "an object with %d fields", len(s.Properties))
		return
	}
	for _, p := range s.Properties {
		t.Fields = append(t.Fields, c.field(p, s, in))
	}
	t.OneOf, t.Demands = c.oneOf(t, s), c.demandsOf(s)
}

// oneOf compiles the members of an object of which only one may be set.
func (c *compiler) oneOf(t *Type, s *Schema) *OneOf {
	if len(s.OneOf) == 0 {
		return nil
	}
	one := &OneOf{What: s.OneOfAs, Required: s.OneNeeded}
	for _, text := range s.OneOf {
		name, as, found := strings.Cut(text, ":")
		if !found {
			as = name
		}
		i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			c.fail(s.Pos, "name a property", "x-cluster-one-of names %s, which is none of the properties", name)
			continue
		}
		one.Fields, one.Names = append(one.Fields, uint16(i)), append(one.Names, as)
	}
	return one
}

func (c *compiler) field(p Property, of *Schema, in *Named) Field {
	s := p.Schema
	f := Field{Name: p.Name, Type: c.refTo(s, in), Number: uint32(s.Binary), Required: of.Enforces(p.Name) && s.Missing != "by-rules" && !s.Nullable,
		Immutable: s.Immutable, Default: string(s.Default), Null: s.Null}
	more := More{Outer: uint32(s.BinaryOuter), PatchKey: s.PatchMergeKey, Gate: s.FeatureGate, GateValue: s.GateValue, GateHolder: s.GateHolder,
		Ungated:  s.Ungated,
		Outdated: s.Deprecated, CauseName: s.CauseName, CauseList: s.CauseList, When: s.DefaultWhen, WhenIs: s.DefaultWhenIs}
	if !reflect.DeepEqual(more, More{}) {
		f.More = &more
	}
	f.ByRules, f.Nonzero, f.MayBeZero = s.Missing == "by-rules", s.Missing == "nonzero", s.Missing == "not-sent"
	if s.Validate != nil {
		f.Unchecked, f.Required = !*s.Validate, f.Required && *s.Validate
	}
	switch s.Presence {
	case "implicit":
		f.Presence = Implicit
	case "explicit":
		f.Presence = Explicit
	case "always":
		f.Presence = Always
	case "":
		f.Presence = c.defaultPresence(s, in, of.Publishes(p.Name))
	default:
		c.fail(s.Pos, "write implicit, explicit or always", "unknown x-cluster-presence %q", s.Presence)
	}
	if s.ListType == "atomic" && len(s.PatchStrategy) > 0 {
		f.Patch |= PatchAtomic
	}
	for _, strategy := range s.PatchStrategy {
		switch strategy {
		case "merge":
			f.Patch |= PatchMerge
		case "retainKeys":
			f.Patch |= PatchRetainKeys
		case "replace":
			f.Patch |= PatchReplace
		default:
			c.fail(s.Pos, "write merge, retainKeys or replace", "unknown x-cluster-patch-strategy %q", strategy)
		}
	}
	return f
}

// defaultPresence uses the schema, not the compiled type, which may be unfinished.
func (c *compiler) defaultPresence(s *Schema, in *Named, required bool) Presence {
	if required {
		return Always
	}
	if s.Ref != "" {
		id, _ := ResolveRef(in.Dir, s.Ref)
		if n := c.types[id]; n != nil {
			s = n.Schema
		}
	}
	if s.Type == "object" && s.Additional == nil && !s.PreserveAny {
		return Explicit
	}
	return Implicit
}

// rulesOf gathers the constraints of a schema; nil when it has none.
func rulesOf(s *Schema) *Rules {
	enum, format := s.Enum, s.FormatCheck
	if s.OpenEnum {
		enum = nil
	}
	if kind, _ := scalarKind(s); kind == String && format == "" && s.Ref == "" {
		format = s.Format
	}
	r := Rules{Enum: enum, Pattern: s.Pattern, Format: format, Unique: s.Unique, Keys: s.KeyCheck, Why: s.Why,
		Invalid: slices.Contains(s.Cause, "invalid"), AtParent: slices.Contains(s.Cause, "parent"), Further: furtherValues(s)}
	limit := func(has, exclusive *bool, to *float64, inclusiveAt, exclusiveAt *float64) {
		if inclusiveAt != nil {
			*has, *to = true, *inclusiveAt
		}
		if exclusiveAt != nil {
			*has, *to, *exclusive = true, *exclusiveAt, true
		}
	}
	limit(&r.HasMin, &r.ExclusiveMin, &r.Min, s.Minimum, s.ExclusiveMinimum)
	limit(&r.HasMax, &r.ExclusiveMax, &r.Max, s.Maximum, s.ExclusiveMaximum)
	count := func(to *uint32, from *int) {
		if from != nil && *from > 0 {
			*to = uint32(min(*from, 1<<32-1))
		}
	}
	count(&r.MinLength, s.MinLength)
	count(&r.MaxLength, s.MaxLength)
	count(&r.MinItems, s.MinItems)
	count(&r.MaxItems, s.MaxItems)
	count(&r.MaxBytes, s.MaxBytes)
	if reflect.DeepEqual(r, Rules{}) {
		return nil
	}
	return &r
}
