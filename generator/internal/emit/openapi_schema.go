package emit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// object is a JSON object of a published document. Its members are written
// sorted by name.
type object = map[string]any

// dialect is a version of OpenAPI. Versions differ in the targets of references and in the
// members that may accompany them.
type dialect struct {
	v3       bool
	standard bool   // the words of JSON Schema, as from version 3.1 on
	draft7   bool   // of its draft that editors know, in which nothing may accompany a reference
	prefix   string // of references
}

var (
	version2 = dialect{prefix: "#/definitions/"}
	version3 = dialect{v3: true, prefix: "#/components/schemas/"}
	// version31 is OpenAPI 3.1, editors the JSON Schema of files for editors.
	version31 = dialect{v3: true, standard: true, prefix: "#/components/schemas/"}
	editors   = dialect{v3: true, standard: true, draft7: true, prefix: "#/definitions/"}
)

// components collects the schemas that one document needs. A reference to a type adds it, so
// a document holds exactly the types that its paths reach.
//
// Invariant: after flush every name that ref has handed out is a key of done.
type components struct {
	dialect
	names    componentNames
	ext      string // prefix of extensions, "x-kubernetes-"
	types    typeIndex
	releases model.Releases
	served   []*model.GroupVersion
	done     object
	pending  map[string]func() (object, error)
}

func newComponents(m *model.Model, d dialect) *components {
	c := &components{
		dialect: d, names: newComponentNames(m), ext: m.Profile.ExtensionPrefix, types: indexTypes(m), releases: m.Releases,
		done: object{}, pending: map[string]func() (object, error){},
	}
	for _, gv := range m.GroupVersions {
		if gv.Served {
			c.served = append(c.served, gv)
		}
	}
	return c
}

// add registers a component, once, and returns a reference to it.
func (c *components) add(name string, build func() (object, error)) object {
	if _, ok := c.done[name]; !ok && c.pending[name] == nil {
		c.pending[name] = build
	}
	return object{"$ref": c.prefix + name}
}

// flush builds all components that were referred to, and those that they refer
// to in turn.
func (c *components) flush() error {
	for len(c.pending) > 0 {
		for _, name := range slices.Sorted(maps.Keys(c.pending)) {
			build := c.pending[name]
			c.done[name] = nil
			delete(c.pending, name)
			o, err := build()
			if err != nil {
				return err
			}
			c.done[name] = o
		}
	}
	return nil
}

// ref returns a reference to a type of the documents.
func (c *components) ref(t *model.Type) object {
	return c.add(c.names.of(t.GV.Dir, t.Name), func() (object, error) { return c.typeSchema(t) })
}

// metaRef returns a reference to a type that every server needs: one of
// schemas/meta/v1, or one of those that have no document.
func (c *components) metaRef(name string) (object, error) {
	if t := c.types.id("meta/v1." + name); t != nil {
		return c.ref(t), nil
	}
	if o, ok := c.builtin(name); ok {
		return o, nil
	}
	return nil, fmt.Errorf("type %s is not declared: add schemas/meta/v1/%s.yaml", name, name)
}

// typeSchema is the component of a named type.
func (c *components) typeSchema(t *model.Type) (object, error) {
	o, err := c.schema(t, t.Schema, true)
	if err != nil {
		return nil, err
	}
	if t.Kind {
		properties, _ := o["properties"].(object)
		if properties == nil {
			properties = object{}
			o["properties"] = properties
		}
		addTypeMeta(properties)
	}
	if t.Kind || t.ID == "meta/v1.WatchEvent" {
		o[c.ext+"group-version-kind"] = c.kindsOf(t)
	}
	return o, nil
}

func addTypeMeta(properties object) {
	properties["apiVersion"] = object{"type": "string", "description": "APIVersion defines the group and version of this representation; servers refuse one that they do not know."}
	properties["kind"] = object{"type": "string", "description": "Name of the type of this object, in CamelCase; cannot be changed."}
}

// kindsOf lists under which group versions a kind is sent.
func (c *components) kindsOf(t *model.Type) []object {
	if t.GV.Dir == "meta/v1" {
		if t.Name != "DeleteOptions" && t.Name != "WatchEvent" {
			return []object{kindRow("", "v1", t.Name)}
		}
		return c.kindsEverywhere(t.Name)
	}
	return []object{kindRow(t.GV.Group, t.GV.Version, t.Name)}
}

func (c *components) kindsEverywhere(kind string) []object {
	var rows []object
	for _, gv := range c.served {
		rows = append(rows, kindRow(gv.Group, gv.Version, kind))
	}
	return rows
}

func kindRow(group, version, kind string) object {
	return object{"group": group, "version": version, "kind": kind}
}

// listRef returns a reference to the list kind of a resource.
func (c *components) listRef(r *model.Resource) object {
	return c.add(c.names.of(r.Type.GV.Dir, r.ListKind), func() (object, error) {
		meta, err := c.metaRef("ListMeta")
		if err != nil {
			return nil, err
		}
		properties := object{
			"metadata": c.withRef(meta, object{"description": "Metadata of the list."}),
			"items":    object{"type": "array", "items": c.ref(r.Type), "description": "The objects of the list."},
		}
		addTypeMeta(properties)
		return object{
			"description": r.ListKind + " is a list of objects of kind " + r.Kind + ".",
			"type":        "object", "required": []string{"items"}, "properties": properties,
			c.ext + "group-version-kind": []object{kindRow(r.GV.Group, r.GV.Version, r.ListKind)},
		}, nil
	})
}

// withRef puts members next to a reference. OpenAPI 3.0 ignores the members next to $ref,
// so there the reference moves into an allOf.
func (c *components) withRef(ref, members object) object {
	if _, ok := ref["$ref"]; !ok || !c.v3 || c.standard && !c.draft7 {
		maps.Copy(members, ref)
		return members
	}
	if len(members) > 0 {
		all, _ := members["allOf"].([]object)
		members["allOf"] = append([]object{ref}, all...)
		return members
	}
	return ref
}

// schema translates one schema of a document that declares t. Names that only
// a root may have are handled by the caller.
func (c *components) schema(t *model.Type, s *schema.Schema, root bool) (object, error) {
	o, err := c.present(t, s, root)
	if err == nil && s.Nullable && c.standard {
		o = orNull(o)
	}
	return o, err
}

// present is the schema of a value that is not null.
func (c *components) present(t *model.Type, s *schema.Schema, root bool) (object, error) {
	o := c.annotations(s)
	if s.Ref != "" {
		target, err := c.types.resolve(t, s)
		if err != nil {
			return nil, err
		}
		return c.withRef(c.ref(target), o), nil
	}
	if name := builtinOf(s); name != "" {
		if root {
			maps.Copy(o, c.builtinShape(name))
			return o, nil
		}
		b, _ := c.builtin(name)
		c.further(s.Further, o)
		return c.withRef(b, o), nil
	}
	if s.Objects != "" {
		ref, err := c.alternative(t, s)
		return c.withRef(ref, o), err
	}
	c.bounds(s, o)
	c.further(s.Further, o)
	if s.Type != "" {
		o["type"] = s.Type
	}
	if s.Format != "" {
		o["format"] = s.Format
	}
	if s.PreserveAny {
		o[c.ext+"preserve-unknown-fields"] = true
	}
	// A member that the server fills in need not be sent, even if it is always there.
	names := s.Published()
	if c.draft7 { // which is there to tell what the server refuses
		names = slices.Concat(s.Required, s.RequiredEnforced)
	}
	required := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(s.Properties, func(p schema.Property) bool {
			return p.Name == name && p.Schema.Default != nil && p.Schema.DefaultWhen == ""
		})
	})
	if len(required) > 0 {
		o["required"] = required
	}
	return o, c.parts(t, s, o)
}

// parts adds the schemas inside a schema.
func (c *components) parts(t *model.Type, s *schema.Schema, o object) error {
	if s.Items != nil {
		items, err := c.schema(t, s.Items, false)
		if err != nil {
			return err
		}
		o["items"] = items
	}
	if s.Additional != nil {
		values, err := c.schema(t, s.Additional, false)
		if err != nil {
			return err
		}
		o["additionalProperties"] = values
	}
	if len(s.Properties) == 0 {
		return nil
	}
	properties := object{}
	for _, p := range s.Properties {
		ps, err := c.schema(t, p.Schema, false)
		if err != nil {
			return err
		}
		if p.Name == "fieldsV1" && builtinOf(p.Schema) == "RawExtension" { // the one raw value with a name of its own
			ps = c.withRef(c.mustBuiltin("FieldsV1"), c.annotations(p.Schema))
		}
		if c.draft7 && !s.Enforces(p.Name) && !p.Schema.Nullable && (ps["type"] != nil || builtinOf(p.Schema) != "") {
			ps = orNull(ps) // null counts as no value
		}
		properties[p.Name] = ps
	}
	o["properties"] = properties
	if c.draft7 {
		o["additionalProperties"] = false // they are dropped, or refused as kubectl asks for
	}
	return nil
}

// annotations are the members that may accompany a reference.
func (c *components) annotations(s *schema.Schema) object {
	o := object{}
	set := func(name string, value any, when bool) {
		if when {
			o[name] = value
		}
	}
	set("description", s.Description, s.Description != "")
	// Clients of the second version have trouble with defaults next to
	// references, so 1.25 publishes none there.
	set("default", json.RawMessage(s.Default), s.Default != nil && s.DefaultWhen == "" && c.v3)
	set("title", s.Title, s.Title != "")
	set("readOnly", true, s.ReadOnly)
	set("deprecated", true, s.Deprecated && c.v3)
	set("writeOnly", true, s.WriteOnly && c.v3)
	set("nullable", true, s.Nullable && c.v3 && !c.standard)
	if len(s.Examples) > 0 && c.standard {
		o["examples"] = rawValues(s.Examples)
	} else if len(s.Examples) > 0 {
		o["example"] = json.RawMessage(s.Examples[0])
	}
	set(c.ext+"list-type", s.ListType, s.ListType != "")
	set(c.ext+"list-map-keys", s.ListMapKeys, len(s.ListMapKeys) > 0)
	set(c.ext+"map-type", s.MapType, s.MapType != "")
	set(c.ext+"patch-merge-key", s.PatchMergeKey, s.PatchMergeKey != "")
	if len(s.PatchStrategy) > 0 {
		o[c.ext+"patch-strategy"] = strings.Join(s.PatchStrategy, ",")
	}
	return o
}

// bounds adds the rules for values.
func (c *components) bounds(s *schema.Schema, o object) {
	if len(s.Enum) > 0 {
		o["enum"] = s.Enum
	}
	if s.Pattern != "" {
		o["pattern"] = s.Pattern
	}
	number := func(name string, inclusive, exclusive *float64) {
		switch {
		case exclusive != nil && c.standard:
			o["exclusive"+upperFirst(name)] = *exclusive
		case exclusive != nil:
			o[name], o["exclusive"+upperFirst(name)] = *exclusive, true
		case inclusive != nil:
			o[name] = *inclusive
		}
	}
	number("minimum", s.Minimum, s.ExclusiveMinimum)
	number("maximum", s.Maximum, s.ExclusiveMaximum)
	count := func(name string, n *int) {
		if n != nil {
			o[name] = *n
		}
	}
	count("minLength", s.MinLength)
	count("maxLength", s.MaxLength)
	minItems, maxItems := "minItems", "maxItems"
	if s.Additional != nil {
		minItems, maxItems = "minProperties", "maxProperties"
	}
	count(minItems, s.MinItems)
	count(maxItems, s.MaxItems)
	if slices.Equal(s.Unique, []string{"."}) {
		o["uniqueItems"] = true
	}
}
