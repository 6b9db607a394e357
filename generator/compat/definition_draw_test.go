package compat

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// The extensions of schemas of custom resources.
const (
	anyMembers = "x-kubernetes-preserve-unknown-fields"
	embedded   = "x-kubernetes-embedded-resource"
	listType   = "x-kubernetes-list-type"
	listKeys   = "x-kubernetes-list-map-keys"
)

// foreignToDefinitions are the keywords that schemas of custom resources do not have.
var foreignToDefinitions = []string{"contains", "minContains", "maxContains", "propertyNames", "patternProperties", "if", "then", "else", "dependentRequired",
	"dependentSchemas", "exclusiveMinimum", "exclusiveMaximum"}

// definition is a custom resource definition.
type definition struct {
	Scope, Plural, Singular, Kind, ListKind string
	Short, Categories                       []string
	Webhook                                 bool
	Versions                                []definedVersion
}

type definedVersion struct {
	Name                        string
	Served, Storage, Deprecated bool
	Spec, ObjectName            node // Spec is that of the objects; ObjectName that of metadata.name, nil for none
}

// definition draws one, whose versions have equal schemas.
func (d *drawing) definition() *definition {
	def := &definition{Scope: "Namespaced", Plural: "ships", Singular: "ship", Kind: "Ship", ListKind: "ShipList", Short: []string{"sh"}, Categories: []string{"all"}}
	spec := node{"type": "object", "properties": node{"a": d.schema(1), "b": d.schema(1), "c": d.schema(0)}}
	structural(spec)
	for _, at := range places(spec)[1:] {
		if d.chance(3) {
			d.dress(at)
		}
	}
	structural(spec)
	d.defaults(spec)
	spec["properties"].(node)["e"] = node{"type": "object", anyMembers: true}
	name := node(nil)
	if d.chance(3) {
		name = node{"type": "string"}
		d.restrict(name, name, 3)
		delete(name, "enum")
	}
	for i, version := range []string{"v1", "v1beta1"}[:1+d.IntN(2)] {
		def.Versions = append(def.Versions, definedVersion{Name: version, Served: true, Storage: i == 0, Spec: clone(spec), ObjectName: clone(name)})
	}
	if def.Webhook = d.chance(3); def.Webhook && len(def.Versions) > 1 && d.chance(2) {
		def.Versions[0].Spec["properties"].(node)["f"] = node{"type": "string"} // which the webhook knows where to put
	}
	return def
}

// unlike reports whether two versions have different schemas.
func (def *definition) unlike() bool {
	return len(def.Versions) > 1 && !reflect.DeepEqual(def.Versions[0].Spec, def.Versions[1].Spec)
}

// structural takes keywords out of a schema that those of custom resources do not have.
func structural(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			structural(e)
		}
	case node:
		for _, key := range foreignToDefinitions {
			delete(v, key)
		}
		for _, key := range sorted(v) {
			structural(v[key])
		}
		items, _ := v["items"].(node)
		switch v[listType] {
		case "map": // its keys are required
			key := v[listKeys].([]any)[0].(string)
			items["required"] = []any{key}
			delete(items["properties"].(node)[key].(node), "nullable")
			fallthrough
		case "set":
			delete(items, "nullable")
		}
	}
}

// dress adds or changes an extension of a schema, or takes it away.
func (d *drawing) dress(at node) (what string, safe, broken bool) {
	had := at["nullable"] == true
	properties, _ := at["properties"].(node)
	items, _ := at["items"].(node)
	switch {
	case at["type"] == "array" && d.chance(2):
		return d.listType(at, items)
	case properties != nil && d.chance(2):
		if at[anyMembers] == true {
			delete(at, anyMembers)
			return "unknown members are dropped", false, false
		}
		at[anyMembers] = true
		return "unknown members are kept", true, false
	case had:
		delete(at, "nullable")
		return "null is refused", false, false
	}
	at["nullable"] = true
	if values, is := at["enum"].([]any); is && d.chance(2) {
		at["enum"] = append(slices.Clone(values), nil)
	}
	return "null is allowed", at["default"] == nil, false
}

// listType gives a list another type.
func (d *drawing) listType(at, items node) (what string, safe, broken bool) {
	was := at[listType]
	delete(at, listType)
	delete(at, listKeys)
	properties, _ := items["properties"].(node)
	switch scalar := items["properties"] == nil && items["additionalProperties"] == nil && items["items"] == nil; {
	case was != nil && was != "atomic" && d.chance(2):
	case scalar && items["nullable"] == nil:
		at[listType] = pick(d.Rand, "set", "set", "atomic")
	case properties != nil:
		for _, name := range sorted(properties) {
			if key := properties[name].(node); key["type"] == "string" && key["default"] == nil {
				delete(key, "nullable")
				at[listType], at[listKeys] = "map", []any{name}
				items["required"] = []any{name}
			}
		}
	}
	now := at[listType]
	plain := func(v any) bool { return v == nil || v == "atomic" }
	return "the list type changes", now == was || plain(now) && plain(was), now != was && !(plain(now) && plain(was))
}

// defaults gives some members defaults that fit.
func (d *drawing) defaults(s node) {
	for _, at := range places(s) {
		properties, _ := at["properties"].(node)
		for _, name := range sorted(properties) {
			if d.chance(4) {
				d.setDefault(properties[name].(node))
			}
		}
	}
}

// setDefault gives a schema a default that fits, if one is drawn soon.
func (d *drawing) setDefault(s node) bool {
	bare := clone(s)
	delete(bare, "default")
	one := &drawing{Rand: d.Rand, numbers: []any{0.0, 1.0, 2.0, 3.0, 6.0}, texts: []string{"a", "b", "ab", "x1", "abcde", "a1"}}
	a := newAdmission(bare)
	for range 10 {
		if v := one.value(bare); v != nil && a != nil {
			if filled, ok := a.admit(v); ok {
				s["default"] = filled
				return true
			}
		}
	}
	return false
}

// manifest is the definition as a file.
func (def *definition) manifest() []byte {
	var versions []any
	for _, v := range def.Versions {
		root := node{"type": "object", "properties": node{"spec": v.Spec}}
		if v.ObjectName != nil {
			root["properties"].(node)["metadata"] = node{"type": "object", "properties": node{"name": v.ObjectName}}
		}
		versions = append(versions, node{"name": v.Name, "served": v.Served, "storage": v.Storage, "deprecated": v.Deprecated, "schema": node{"openAPIV3Schema": root}})
	}
	names := node{"plural": def.Plural, "singular": def.Singular, "kind": def.Kind, "listKind": def.ListKind, "shortNames": def.Short, "categories": def.Categories}
	conversion := node{"strategy": "None"}
	if def.Webhook {
		conversion = node{"strategy": "Webhook", "webhook": node{"conversionReviewVersions": []string{"v1"}}}
	}
	text, _ := json.Marshal(node{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": node{"name": def.Plural + ".sea.example.org"},
		"spec": node{"group": "sea.example.org", "scope": def.Scope, "names": names, "conversion": conversion, "versions": versions}})
	return text
}

func (def *definition) clone() *definition {
	c := *def
	c.Short, c.Categories, c.Versions = slices.Clone(def.Short), slices.Clone(def.Categories), slices.Clone(def.Versions)
	for i, v := range c.Versions {
		if c.Versions[i].Spec = clone(v.Spec); v.ObjectName != nil {
			c.Versions[i].ObjectName = clone(v.ObjectName)
		}
	}
	return &c
}

// editDefinition changes a definition in one place. safe edits break nothing, broken ones do by their making.
func (d *drawing) editDefinition(def *definition) (what string, safe, broken bool) {
	switch d.IntN(5) {
	case 0:
		return d.editEnvelope(def)
	case 1:
		return d.editMembers(def)
	}
	first := def.Versions[0].Spec
	before := clone(first)
	delete(before["properties"].(node), "d") // which clients do not know yet
	delete(before["properties"].(node), "e") // any JSON
	delete(before["properties"].(node), "f")
	known := len(places(before)) - 1
	all := places(first)[1 : 1+known] // members are in the order of their names
	switch at := all[d.IntN(len(all))]; d.IntN(4) {
	case 0:
		what, safe, broken = d.dress(at)
	case 1:
		was := at["default"]
		if was != nil && d.chance(2) {
			delete(at, "default")
		} else if !d.setDefault(at) {
			return "nothing", true, false
		}
		what = "another default"
	default:
		members := slices.DeleteFunc(sorted(first["properties"].(node)), func(name string) bool { return name > "c" })
		before = clone(first)
		what, safe = d.edit(first["properties"].(node)[pick(d.Rand, members...)].(node))
		for _, key := range []string{"nullable", "default", anyMembers, embedded, listType, listKeys} {
			if strings.HasPrefix(what, key+" ") {
				def.Versions[0].Spec = before
				return "nothing", true, false
			}
		}
	}
	structural(def.Versions[0].Spec)
	def.Versions[0].Spec = clone(def.Versions[0].Spec)
	for i := range def.Versions {
		def.Versions[i].Spec = clone(def.Versions[0].Spec)
	}
	return what, safe, broken
}

// editMembers adds a member, takes one away, or requires one, in all versions.
func (d *drawing) editMembers(def *definition) (what string, safe, broken bool) {
	spec := def.Versions[0].Spec
	properties := spec["properties"].(node)
	switch d.IntN(5) {
	case 4:
		e := properties["e"].(node)
		if e[embedded] == nil {
			e[embedded] = true
			what = "any object has to be a whole one"
		} else {
			delete(e, embedded)
			what, safe = "a whole object may be any", true
		}
	case 0:
		properties["d"] = d.schema(1)
		structural(properties["d"])
		what, safe = "a member is added", true
	case 1:
		m := d.schema(1)
		if structural(m); !d.setDefault(m) {
			return "nothing", true, false
		}
		properties["d"] = m
		what, safe = "a member with a default is added", true
	case 2:
		if len(properties) > 3 && spec["required"] == nil {
			delete(properties, "b")
			what, broken = "a member goes", true
		}
	default:
		spec["required"] = []any{"a"}
		what = "a member is required"
	}
	for i := range def.Versions {
		def.Versions[i].Spec = clone(spec)
	}
	return what, safe, broken
}

// editEnvelope changes what a definition says besides its schemas.
func (d *drawing) editEnvelope(def *definition) (what string, safe, broken bool) {
	last := &def.Versions[len(def.Versions)-1]
	switch d.IntN(12) {
	case 0:
		def.Scope = "Cluster"
		return "another scope", false, true
	case 1:
		def.Kind = "Vessel"
		return "another kind", false, true
	case 2:
		def.Plural = "vessels"
		return "another plural", false, true
	case 3:
		def.ListKind = "Ships"
		return "another list kind", false, true
	case 4:
		def.Short, def.Categories = append(def.Short, "shp"), append(def.Categories, "fleet")
		return "more names", true, false
	case 5:
		last.Deprecated = true
		return "a version is deprecated", len(def.Versions) > 1, false // one that has no successor yet has to stay
	case 6:
		v := def.Versions[0]
		v.Name, v.Storage, v.Spec = "v2", false, clone(v.Spec)
		def.Versions = append(def.Versions, v)
		return "a version is added", true, false
	case 7:
		if last.Served = false; last.Storage && len(def.Versions) > 1 {
			last.Storage, def.Versions[0].Storage = false, true
		}
		return "a version is no longer served", false, last.Name != "v2" // that was added before
	case 8:
		for i := range def.Versions {
			def.Versions[i].Storage = i == len(def.Versions)-1
		}
		return "objects are stored in another version", last.Name != "v2", false // the release before has to read it
	case 9:
		def.Webhook = !def.Webhook
		return "the conversion changes", !def.unlike(), false
	case 10:
		name := node{"type": "string"}
		if def.Versions[0].ObjectName != nil {
			name = clone(def.Versions[0].ObjectName)
		}
		d.restrict(name, name, 3)
		delete(name, "enum")
		for i := range def.Versions {
			def.Versions[i].ObjectName = clone(name)
		}
		return "names are bounded", false, false
	}
	for i := range def.Versions {
		def.Versions[i].ObjectName = nil
	}
	return "names are free", true, false
}
