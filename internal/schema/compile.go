package schema

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Named is a type that has a name: the root of a document or one of its $defs.
type Named struct {
	ID     string // "core/v1.PodSpec"
	Dir    string // "core/v1": where "#/$defs/X" of its document is looked for
	Kind   bool   // has kind and apiVersion
	Schema *Schema
}

// Source is what Compile makes a table of.
type Source struct {
	Group, Version string
	Roots          []RootName        // sorted by Name
	Types          map[string]*Named // by ID, everything that the roots may reach
}

// RootName says under which name a type can be asked for.
type RootName struct{ Name, ID string }

// Error is a mistake in a document.
type Error struct {
	Pos        Position
	What, Mend string
}

func (e *Error) Error() string {
	text := e.Pos.String() + ": " + e.What
	if e.Mend != "" {
		text += "; " + e.Mend
	}
	return text
}

// Compile turns parsed schemas into the table of one group version. It reports
// every mistake it meets, joined (errors.Join of *Error).
//
// The same documents give the same table, wherever it runs: the generator
// writes its result as Go source, the server compiles custom resources with it.
func Compile(src Source) (*Table, error) {
	c := &compiler{types: src.Types, table: &Table{Group: src.Group, Version: src.Version}, named: map[string]Ref{}, anonymous: map[string]Ref{}}
	for _, root := range src.Roots {
		n := src.Types[root.ID]
		if n == nil {
			c.fail(Position{}, fmt.Sprintf("root %s names the type %s, which does not exist", root.Name, root.ID), "declare it")
			continue
		}
		c.table.Roots = append(c.table.Roots, Root{Name: root.Name, Type: c.typeOf(n)})
	}
	c.numberHooks()
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return c.table, nil
}

type compiler struct {
	types     map[string]*Named
	table     *Table
	named     map[string]Ref
	anonymous map[string]Ref
	hooks     []Ref
	errs      []error
}

func (c *compiler) fail(pos Position, what, mend string) {
	c.errs = append(c.errs, &Error{Pos: pos, What: what, Mend: mend})
}

// typeOf compiles a named type once. It has its place in the table before its
// members are looked at, so that types may refer to each other in circles.
func (c *compiler) typeOf(n *Named) Ref {
	if ref, ok := c.named[n.ID]; ok {
		return ref
	}
	if n.Schema.Type != "object" || n.Schema.Additional != nil {
		ref := c.anonymousType(n.Schema, n, n.ID)
		c.named[n.ID] = ref
		return ref
	}
	ref := Ref(len(c.table.Types))
	c.table.Types = append(c.table.Types, Type{})
	c.named[n.ID] = ref
	t := c.object(n.Schema, n, n.ID)
	if n.Kind {
		str := c.intern(Type{Kind: String, Elem: None})
		t.Fields = append([]Field{{Name: "kind", Type: str}, {Name: "apiVersion", Type: str}}, t.Fields...)
		t.Sorted = sortedFields(t.Fields)
	}
	if n.Schema.DefaultHook {
		c.hooks = append(c.hooks, ref)
	}
	c.table.Types[ref] = t
	return ref
}

// refTo compiles whatever a schema describes.
func (c *compiler) refTo(s *Schema, in *Named) Ref {
	if s.Ref == "" {
		if s.Type == "object" && s.Additional == nil && !s.PreserveAny && len(s.Properties) > 0 {
			return c.intern(c.object(s, in, ""))
		}
		return c.anonymousType(s, in, "")
	}
	id, ok := ResolveRef(in.Dir, s.Ref)
	if !ok {
		c.fail(s.Pos, fmt.Sprintf("$ref %q has a form that is not understood", s.Ref), `write "#/$defs/Name" or "/group/version/Name"`)
		return 0
	}
	n := c.types[id]
	if n == nil {
		c.fail(s.Pos, fmt.Sprintf("$ref %q points at nothing", s.Ref), "declare the type "+id+" or mend the reference")
		return 0
	}
	return c.typeOf(n)
}

// ResolveRef gives the ID that a $ref means in a document of a directory.
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

// intern gives equal anonymous types one place.
func (c *compiler) intern(t Type) Ref {
	bare, rules := t, Rules{}
	if bare.Rules = nil; t.Rules != nil {
		rules = *t.Rules
	}
	key := fmt.Sprintf("%#v %#v", bare, rules)
	if ref, ok := c.anonymous[key]; ok {
		return ref
	}
	ref := Ref(len(c.table.Types))
	c.table.Types = append(c.table.Types, t)
	c.anonymous[key] = ref
	return ref
}

// anonymousType compiles a scalar, a list, a map, or a value of any kind.
func (c *compiler) anonymousType(s *Schema, in *Named, name string) Ref {
	t := Type{Name: name, Elem: None, Rules: rulesOf(s)}
	switch s.BinaryForm {
	case "":
	case "raw":
		t.Binary = BinaryRaw
	case "string-list":
		t.Binary = BinaryStringList
	default:
		c.fail(s.Pos, fmt.Sprintf("unknown x-cluster-binary-form %q", s.BinaryForm), "write raw or string-list")
	}
	switch {
	case s.PreserveAny && len(s.Properties) == 0:
		t.Kind, t.Rules = Any, nil
	case s.Format == "quantity":
		t.Kind = Quantity
	case s.Format == "int-or-string":
		t.Kind = IntOrString
	case s.Type == "array":
		c.list(&t, s, in)
	case s.Type == "object":
		t.Kind, t.AtomicMap = Map, s.MapType == "atomic"
		if s.Additional == nil {
			t.Kind = Object
			t.Fields, t.Sorted = nil, nil
			break
		}
		t.Elem = c.refTo(s.Additional, in)
	case s.Type == "boolean":
		t.Kind = Boolean
	case s.Type == "integer":
		t.Kind, t.Bits = Integer, 64
		if s.Format == "int32" {
			t.Bits = 32
		}
	case s.Type == "number":
		t.Kind = Number
	case s.Type == "string":
		t.Kind = stringKind(s.Format)
	case s.Type == "" && len(s.Properties) == 0:
		t.Kind, t.Rules = Any, nil
	default:
		c.fail(s.Pos, fmt.Sprintf("unknown type %q", s.Type), "write object, array, string, integer, number or boolean")
	}
	return c.intern(t)
}

func stringKind(format string) Kind {
	switch format {
	case "byte":
		return Bytes
	case "date-time":
		return Time
	case "micro-time":
		return MicroTime
	case "duration":
		return Duration
	}
	return String
}

func (c *compiler) list(t *Type, s *Schema, in *Named) {
	t.Kind = List
	switch s.ListType {
	case "", "atomic":
	case "set":
		t.ListType = ListSet
	case "map":
		t.ListType, t.ListKeys = ListMap, s.ListMapKeys
		if len(s.ListMapKeys) == 0 {
			c.fail(s.Pos, "a list of type map has no keys", "add x-cluster-list-map-keys")
		}
	default:
		c.fail(s.Pos, fmt.Sprintf("unknown x-cluster-list-type %q", s.ListType), "write atomic, set or map")
	}
	if s.Items == nil {
		c.fail(s.Pos, "an array does not say what it holds", "add items")
		return
	}
	t.Elem = c.refTo(s.Items, in)
}

// object compiles the members of an object.
func (c *compiler) object(s *Schema, in *Named, name string) Type {
	t := Type{Name: name, Kind: Object, Elem: None, AtomicMap: s.MapType == "atomic"}
	for _, p := range s.Properties {
		t.Fields = append(t.Fields, c.field(p, slices.Contains(s.Required, p.Name), in))
	}
	t.Sorted = sortedFields(t.Fields)
	return t
}

func sortedFields(fields []Field) []uint16 {
	if len(fields) == 0 {
		return nil
	}
	sorted := make([]uint16, len(fields))
	for i := range sorted {
		sorted[i] = uint16(i)
	}
	sort.Slice(sorted, func(a, b int) bool { return fields[sorted[a]].Name < fields[sorted[b]].Name })
	return sorted
}

func (c *compiler) field(p Property, required bool, in *Named) Field {
	s := p.Schema
	f := Field{Name: p.Name, Type: c.refTo(s, in), Number: uint32(s.Binary), Outer: uint32(s.BinaryOuter), Required: required, Immutable: s.Immutable, PatchKey: s.PatchMergeKey, Default: string(s.Default)}
	if s.EnforceRequired != nil {
		f.Required = *s.EnforceRequired
	}
	switch s.Presence {
	case "implicit":
		f.Presence = Implicit
	case "explicit":
		f.Presence = Explicit
	case "always":
		f.Presence = Always
	case "":
		f.Presence = c.defaultPresence(f.Type, required)
	default:
		c.fail(s.Pos, fmt.Sprintf("unknown x-cluster-presence %q", s.Presence), "write implicit, explicit or always")
	}
	for _, strategy := range s.PatchStrategy {
		switch strategy {
		case "merge":
			f.Patch |= PatchMerge
		case "retainKeys":
			f.Patch |= PatchRetainKeys
		case "replace":
		default:
			c.fail(s.Pos, fmt.Sprintf("unknown x-cluster-patch-strategy %q", strategy), "write merge, retainKeys or replace")
		}
	}
	return f
}

func (c *compiler) defaultPresence(ref Ref, required bool) Presence {
	switch {
	case required:
		return Always
	case int(ref) < len(c.table.Types) && c.isObject(ref):
		return Explicit
	}
	return Implicit
}

// isObject holds for objects still being compiled too: their place is empty.
func (c *compiler) isObject(ref Ref) bool {
	kind := c.table.Types[ref].Kind
	return kind == Object || kind == 0
}

// numberHooks gives the types with a default hook their numbers, in the order
// of their names.
func (c *compiler) numberHooks() {
	sort.Slice(c.hooks, func(i, j int) bool { return c.table.Types[c.hooks[i]].Name < c.table.Types[c.hooks[j]].Name })
	for i, ref := range c.hooks {
		c.table.Types[ref].Hook = uint16(i + 1)
	}
}

// rulesOf gathers the constraints of a schema; nil when it has none.
func rulesOf(s *Schema) *Rules {
	r := Rules{Enum: s.Enum, Pattern: s.Pattern, Format: s.FormatCheck, UniqueItems: s.UniqueItems}
	if s.Minimum != nil {
		r.HasMin, r.Min = true, *s.Minimum
	}
	if s.Maximum != nil {
		r.HasMax, r.Max = true, *s.Maximum
	}
	if s.ExclusiveMinimum != nil {
		r.HasMin, r.Min, r.ExclusiveMin = true, *s.ExclusiveMinimum, true
	}
	if s.ExclusiveMaximum != nil {
		r.HasMax, r.Max, r.ExclusiveMax = true, *s.ExclusiveMaximum, true
	}
	set := func(to *uint32, from *int) {
		if from != nil && *from >= 0 {
			*to = uint32(*from)
		}
	}
	set(&r.MinLength, s.MinLength)
	set(&r.MaxLength, s.MaxLength)
	set(&r.MinItems, s.MinItems)
	set(&r.MaxItems, s.MaxItems)
	if key := fmt.Sprintf("%#v", r); key == fmt.Sprintf("%#v", Rules{}) {
		return nil
	}
	return &r
}
