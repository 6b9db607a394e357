package definitions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Meta holds the types of metadata, which the tables of all custom resources share at the
// same indices: after the type of the kind, which is at 0.
type Meta struct {
	types    []schema.Type
	text     schema.Ref
	object   schema.Ref // metadata of the resource
	embedded schema.Ref // metadata of objects in it, which are never stored by themselves
}

// NewMeta takes the types of metadata from a table.
func NewMeta(table *schema.Table) (*Meta, error) {
	root := table.Root("ObjectMeta")
	if root == schema.None {
		return nil, fmt.Errorf("the table of %s has no ObjectMeta", table.Version)
	}
	m := &Meta{text: 1, object: 2}
	m.types = []schema.Type{{}, {Kind: schema.String, Elem: schema.None}}
	place := map[schema.Ref]schema.Ref{schema.None: schema.None}
	var take func(ref schema.Ref) schema.Ref
	take = func(ref schema.Ref) schema.Ref {
		if at, ok := place[ref]; ok {
			return at
		}
		at := schema.Ref(len(m.types))
		place[ref] = at
		m.types = append(m.types, table.Types[ref])
		t := table.Types[ref]
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = take(t.Fields[i].Type)
		}
		t.Elem = take(t.Elem)
		m.types[at] = t
		return at
	}
	take(root)
	m.embedded = schema.Ref(len(m.types))
	inner := m.types[m.object]
	inner.Fields = slices.Clone(inner.Fields)
	for i := range inner.Fields {
		if inner.Fields[i].Presence == schema.Always {
			inner.Fields[i].Presence = schema.Explicit
		}
	}
	m.types = append(m.types, inner)
	return m, nil
}

// compiler makes the table of one version of a custom resource from its structural
// schema.
type compiler struct {
	meta   *Meta
	table  *schema.Table
	plain  map[plainType]schema.Ref // types without rules
	values map[plainType]*schema.Values
	keep   bool // nothing is pruned: spec.preserveUnknownFields
	below  int  // objects around the present schema that keep unknown members
}

// plainType is a type without further rules.
type plainType struct {
	kind     schema.Kind
	types    schema.JSONTypes
	nullable bool
}

// mostFields bounds the fields of one object; further ones are not known to the schema.
const mostFields = 1 << 14

// Compile makes the table of a version of a custom resource, whose kind is at 0. s is the
// schema, absent for none; keep turns pruning off.
func (m *Meta) Compile(group, version string, s document.Value, keep bool) *schema.Table {
	c := &compiler{meta: m, keep: keep, plain: map[plainType]schema.Ref{}, values: map[plainType]*schema.Values{}}
	c.table = &schema.Table{Group: group, Version: version, Custom: true, Types: slices.Clone(m.types)}
	root := c.object(s, true)
	root.Values = c.rules(s, true)
	c.table.Types[0] = root
	c.table.Roots = []schema.Root{{Name: "", Type: 0}}
	c.table.MakeIndex()
	return c.table
}

// add adds a type to the table.
func (c *compiler) add(t schema.Type) schema.Ref {
	c.table.Types = append(c.table.Types, t)
	return schema.Ref(len(c.table.Types) - 1)
}

// typeOf compiles a schema.
func (c *compiler) typeOf(s document.Value) schema.Ref {
	t := schema.Type{Kind: c.kindOf(s), Elem: schema.None, Values: c.rules(s, false)}
	if v := t.Values; t.Kind != schema.Object && t.Kind != schema.List && t.Kind != schema.Map {
		key := plainType{t.Kind, v.Types, v.Nullable}
		if v != c.values[key] {
			t.Bits = 64
			return c.add(t)
		}
		ref, known := c.plain[key]
		if !known {
			t.Bits = 64
			ref = c.add(t)
			c.plain[key] = ref
		}
		return ref
	}
	at := c.add(t) // before its members, so that types precede those that they use
	switch values := t.Values; t.Kind {
	case schema.Object:
		t = c.object(s, false)
		t.Values = values
	case schema.Map:
		if additional := s.Get("additionalProperties"); additional.Kind() == document.Object {
			t.Elem = c.typeOf(additional)
		} else {
			t.Elem = c.bare(s)
		}
		t.AtomicMap = s.Get(extMapType).Equals("atomic")
	case schema.List:
		t.Elem = schema.None
		if items := s.Get("items"); isSet(items) {
			t.Elem = c.typeOf(items)
		}
		c.listType(&t, s)
	}
	c.table.Types[at] = t
	return at
}

// kindOf is the kind by which values of a schema are read.
func (c *compiler) kindOf(s document.Value) schema.Kind {
	hasFields := s.Get("properties").Len() > 0 || s.Get(extEmbeddedResource).Bool()
	switch additional := s.Get("additionalProperties"); s.Get("type").Text() {
	case "object":
		if !hasFields && (additional.Kind() == document.Object || additional.Bool()) {
			return schema.Map
		}
		return schema.Object
	case "array":
		return schema.List
	case "string":
		return schema.String
	case "boolean":
		return schema.Boolean
	case "integer":
		return schema.Integer
	case "number":
		return schema.Number
	default:
		switch {
		case s.Get(extIntOrString).Bool():
			return schema.Any
		case hasFields:
			return schema.Object
		case isSet(s.Get("items")):
			return schema.List
		case additional.Kind() == document.Object:
			return schema.Map
		}
		return schema.Any
	}
}

// bare is the type of members that a schema allows without a schema of their own: their
// members are pruned unless it keeps unknown fields.
func (c *compiler) bare(s document.Value) schema.Ref {
	values := &schema.Values{Nullable: true}
	if c.keep || s.Get(extPreserveUnknownFields).Bool() {
		return c.add(schema.Type{Kind: schema.Any, Elem: schema.None, Values: values})
	}
	return c.add(schema.Type{Kind: schema.Object, Elem: schema.None, Values: values, Loose: true})
}

// listType sets the list type and its keys.
func (c *compiler) listType(t *schema.Type, s document.Value) {
	switch s.Get(extListType).Text() {
	case "set":
		t.ListType = schema.ListSet
	case "map":
		t.ListType = schema.ListMap
		for _, key := range s.Get(extListMapKeys).Elements() {
			t.ListKeys = append(t.ListKeys, key.Text())
		}
	default:
		return
	}
	c.table.Keyed = true
}

// object compiles the members of an object. A whole object has metadata, even if its
// schema has none.
func (c *compiler) object(s document.Value, root bool) schema.Type {
	t := schema.Type{Kind: schema.Object, Elem: schema.None}
	t.Open = c.keep || s.Get(extPreserveUnknownFields).Bool() || s.Get("additionalProperties").Bool()
	t.AtomicMap = s.Get(extMapType).Equals("atomic")
	whole := root || s.Get(extEmbeddedResource).Bool()
	// Members of a loose object are refused by no applied configuration, as in 1.25: where the
	// schema names none, and everywhere below an object that keeps unknown ones.
	t.Loose = !t.Open && (c.below > 0 || !whole && s.Get("properties").Len() == 0)
	if t.Open {
		c.below++
		defer func() { c.below-- }()
	}
	for name, property := range s.Get("properties").Members() {
		if whole && isHead(name) {
			continue
		}
		if len(t.Fields) == mostFields || !plain(name) {
			t.Open = true
			continue
		}
		f := schema.Field{Name: name, Type: c.typeOf(property), Presence: schema.Sent}
		if fallback := property.Get("default"); isSet(fallback) {
			f.Default = string(canonical(fallback))
		}
		t.Fields = append(t.Fields, f)
	}
	slices.SortFunc(t.Fields, func(a, b schema.Field) int { return cmp.Compare(a.Name, b.Name) })
	if !whole {
		return t
	}
	meta, presence := c.meta.object, schema.Explicit
	if !root {
		meta, c.table.Wholes = c.meta.embedded, true
	}
	t.Fields = append([]schema.Field{{Name: "kind", Type: c.meta.text, Presence: presence}, {Name: "apiVersion", Type: c.meta.text, Presence: presence},
		{Name: "metadata", Type: meta, Presence: presence}}, t.Fields...)
	return t
}

// plain reports whether a name is the same in JSON: fields are found by their text.
func plain(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool {
		return c < ' ' || strings.ContainsRune("\"\\<>&\u2028\u2029\x7f", c)
	})
}

// isHead reports whether a member is a common one of whole objects.
func isHead(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// canonical is a value in the form of custom resources: members by name, numbers in one
// spelling.
func canonical(v document.Value) []byte {
	text := v.AppendJSON(nil)
	doc, err := document.ReadTyped(anything, 0, text)
	if err != nil {
		return text // it cannot be read as a value of a custom resource either
	}
	defer doc.Release()
	return doc.Root().AppendJSON(nil)
}

// anything is a table for any value of a custom resource.
var anything = &schema.Table{Custom: true, Types: []schema.Type{{Kind: schema.Any, Elem: schema.None, Values: &schema.Values{Nullable: true}}}}
