package imports

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

// mostDeep bounds the nesting of schemas, and mostNodes the size of all of a kind.
const (
	mostDeep  = 200
	mostNodes = 200_000
)

// schema is the schema of a field or an element, with the rules that only an object around
// it can have. The words are those of the way to it.
func (k *kind) schema(at foreign.Place, words []string) (mapping, []rule) {
	out := newMapping(foreign.LineOf(at))
	if k.nodes++; len(words) > mostDeep || k.nodes > mostNodes {
		k.once.Do(func() {
			k.file.Fail(at, "split the kind, or give inner types less", "the schema of %s is nested more than %d deep, or has more than %d parts",
				k.name, mostDeep, mostNodes)
		})
		out.yes("x-cluster-preserve-unknown-fields", out.Line)
		return out, nil
	}
	if at.Node != nil && at.Kind != yaml.MappingNode {
		k.file.Fail(at, "write keys and values", "a schema is not a mapping")
		return out, nil
	}
	if ref, ok := k.reference(at); ok {
		k.refer(ref, out)
		k.words(at, out, "any")
		return out, nil
	}
	form := k.form(at)
	switch form {
	case "object":
		return k.objectField(at, words), nil
	case "any":
		if at.At("type").Text() != "" && at.At("type").Text() != "object" || k.embedded(at, out) {
			break
		}
	case "list", "map", "int-or-string":
	default:
		out.text("type", form, out.Line)
	}
	if form == "integer" || form == "number" || form == "string" {
		k.format(at, out, form)
	}
	k.words(at, out, form)
	k.keywords(at, out, form)
	rules := k.rulesOf(at)
	switch form {
	case "any":
		out.yes("x-cluster-preserve-unknown-fields", out.Line)
	case "int-or-string":
		out.text("format", form, out.Line)
	case "list", "map":
		rules = append(rules, k.parts(at, out, form, words)...)
	}
	return out, rules
}

// parts describes the elements of a list, or the values of a map.
func (k *kind) parts(at foreign.Place, out mapping, form string, words []string) (rules []rule) {
	key, kind, word := "items", "array", "Item"
	if form == "map" {
		key, kind, word = "additionalProperties", "object", "Value"
	}
	out.text("type", kind, out.Line)
	inner, below := k.schema(at.At(key), append(slices.Clone(words), word))
	if d := inner.get("default"); d != nil {
		k.note(foreign.Place{Node: d}, "give the list a default, or write a hook", "elements have no default")
		inner.remove("default")
	}
	if out.set(key, inner.Node); form == "list" {
		k.listType(at, out, inner)
	}
	for _, r := range below {
		if r, ok := r.ofElements(form == "map"); ok {
			rules = append(rules, r)
		} else {
			k.note(foreign.Place{Node: &yaml.Node{Line: r.line}}, "write a hook", "a rule compares elements with those before an update, or computes its message of one")
		}
	}
	return rules
}

// reference is the $ref of a schema, also as the only schema of allOf.
func (k *kind) reference(at foreign.Place) (foreign.Place, bool) {
	if ref := at.At("$ref"); ref.Here() {
		return ref, true
	}
	if all := at.At("allOf").Items(); len(all) == 1 && !at.At("properties").Here() && !at.At("type").Here() && all[0].At("$ref").Here() {
		return all[0].At("$ref"), true
	}
	return foreign.Place{}, false
}

// form is the form of values: object, list, map, any, int-or-string, or a scalar type.
func (k *kind) form(at foreign.Place) string {
	words := slices.DeleteFunc(append(at.At("type").Texts(), at.At("type").Text()), func(w string) bool { return w == "null" || w == "" })
	extra := at.At("additionalProperties")
	open := at.Extension("preserve-unknown-fields").Yes() && (len(words) == 0 || words[0] == "object") && (extra.Node == nil || extra.Kind != yaml.MappingNode)
	if k.structural && len(words) != 1 && !at.Extension("int-or-string").Yes() && !at.Extension("preserve-unknown-fields").Yes() {
		k.file.Fail(at, "write one type, or the extension preserve-unknown-fields: true", "the schema is not structural: a value has no type")
	}
	if k.structural && at.At("properties").Here() && extra.Here() {
		k.file.Fail(extra, "keep one of them", "the schema is not structural: it has properties and additionalProperties")
	}
	switch {
	case at.Extension("int-or-string").Yes() || at.At("format").Text() == "int-or-string" || at.At("format").Text() == "quantity" && len(words) == 0:
		return "int-or-string"
	case at.At("properties").Here() && (len(words) == 0 || words[0] == "object"):
		if open || at.Extension("embedded-resource").Yes() || !k.structural && extra.Here() && extra.Text() != "false" {
			k.note(at, "name all members and drop the extension; or leave it, and check the value in a hook",
				"members that are named, next to any others: the value becomes any JSON, without their rules and defaults")
			return "any"
		}
		return "object"
	case open || at.Extension("embedded-resource").Yes() || len(words) != 1 || extra.Text() == "true":
		if len(words) > 1 {
			k.note(at.At("type"), "choose one of the types", "a value of the types %s becomes any JSON", strings.Join(words, ", "))
		}
		return "any"
	case words[0] == "array":
		if !at.At("items").Here() {
			k.note(at, "write items", "elements without a schema become any JSON")
		}
		return "list"
	case words[0] != "object":
		return words[0]
	case extra.Node != nil && extra.Kind == yaml.MappingNode:
		return "map"
	case k.structural:
		return "object" // without members: nothing is kept in it
	}
	return "any"
}

// embedded restricts any JSON to objects, also to whole ones.
func (k *kind) embedded(at foreign.Place, out mapping) bool {
	if !at.At("type").Here() && !at.Extension("embedded-resource").Yes() {
		return false
	}
	only := newMapping(out.Line)
	only.text("type", "object", out.Line)
	if at.Extension("embedded-resource").Yes() {
		only.texts("required", []string{"apiVersion", "kind"}, out.Line)
		members := newMapping(out.Line)
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			member := newMapping(out.Line)
			member.text("type", map[string]string{"metadata": "object"}[name], out.Line)
			if name != "metadata" {
				member.text("type", "string", out.Line)
				member.number("minLength", 1, out.Line)
			}
			members.set(name, member.Node)
		}
		only.set("properties", members.Node)
	}
	out.add("allOf", only.Node)
	return true
}

// objectField is a reference to the type of an object, which gets a name, with what the
// field says.
func (k *kind) objectField(at foreign.Place, words []string) mapping {
	out, line := newMapping(foreign.LineOf(at)), foreign.LineOf(at)
	def := newMapping(line)
	def.text("type", "object", line)
	k.members(at, def, words)
	k.keywords(at, def, "object")
	for _, r := range k.rulesOf(at) {
		def.add("x-cluster-rules", r.node())
	}
	out.text("$ref", "#/$defs/"+k.define(words, def), line)
	k.words(at, out, "object")
	if at.Extension("map-type").Text() == "atomic" {
		out.text("x-cluster-map-type", "atomic", line)
	}
	return out
}

// members describes the members of an object.
func (k *kind) members(at foreign.Place, def mapping, words []string) {
	properties := newMapping(def.Line)
	required := at.At("required").Texts()
	at.At("properties").Each(func(name string, key, value foreign.Place) {
		if k.head && len(words) == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			k.headMember(name, value, properties)
			return
		}
		field, rules := k.schema(value, append(slices.Clone(words), name))
		immutable := false
		for _, r := range rules {
			if r.tests == "self == oldSelf" && strings.HasPrefix(r.why, `"failed rule`) {
				immutable = true
				continue
			}
			r, ok := r.ofMember(name)
			if !ok {
				k.note(value, "rename the field, or write a hook", "expressions have no name for %q, so its rule is not taken over", name)
				continue
			}
			def.add("x-cluster-rules", r.node())
		}
		if immutable {
			field.yes("x-cluster-immutable", field.Line)
		}
		if field.Line = foreign.LineOf(key); strings.ContainsAny(name, "-.$") || k.renamed[k.file.Position(key)] {
			field.text("x-cluster-go-name", goName(name), field.Line)
		}
		properties.set(name, field.Node)
	})
	if required = slices.DeleteFunc(slices.Compact(required), func(name string) bool {
		if properties.get(name) == nil && (!k.head || len(words) > 0 || name != "apiVersion" && name != "kind") {
			k.note(at.At("required"), "describe it in properties", "%q is required and not described", name)
		}
		return properties.get(name) == nil || k.head && len(words) == 0 && name == "metadata"
	}); len(required) > 0 {
		def.texts("required", required, foreign.LineOf(at.At("required")))
	}
	if len(properties.Content) > 0 {
		def.yes("x-cluster-as-sent", def.Line)
		def.set("properties", properties.Node)
	}
}

// goName is a name in Go for a field whose usual one is wrong or taken.
func goName(name string) string {
	if strings.ContainsAny(name, "-.$") {
		return camel(name)
	}
	if upper := strings.ToUpper(name[:1]) + name[1:]; upper != camel(name) {
		return upper
	}
	return camel(name) + "Value"
}

// headMember reads the members that every kind has.
func (k *kind) headMember(name string, value foreign.Place, properties mapping) {
	value.Each(func(key string, at, _ foreign.Place) {
		if !slices.Contains([]string{"type", "description"}, key) && !strings.HasPrefix(key, "$") && key != "allOf" && key != "default" {
			k.note(at, "write a rule at the root, or a hook", "%s of %s is not taken over: every kind has the same", key, name)
		}
	})
	if name == "metadata" {
		properties.set(name, newMapping(foreign.LineOf(value)).Node)
	}
}

// words reads what may stand next to a reference.
func (k *kind) words(at foreign.Place, out mapping, form string) {
	line := foreign.LineOf
	if d := at.At("description"); d.Here() {
		out.text("description", strings.TrimSpace(d.Text()), line(d))
	}
	out.text("title", at.At("title").Text(), line(at.At("title")))
	if d := at.At("default"); d.Node != nil && d.Tag == "!!null" {
		k.note(d, "leave it out", "null is no default here")
	} else if d.Here() {
		out.set("default", clone(d.Node))
	}
	if at.At("nullable").Yes() || slices.Contains(at.At("type").Texts(), "null") {
		out.yes("nullable", out.Line)
	}
	for _, name := range []string{"deprecated", "readOnly", "writeOnly"} {
		if v := at.At(name); v.Yes() {
			out.yes(name, line(v))
		}
	}
	if v := at.At("example"); v.Here() {
		out.add("examples", clone(v.Node))
	} else if v := at.At("examples"); v.Here() && v.Kind == yaml.SequenceNode {
		out.set("examples", clone(v.Node))
	}
	for _, name := range []string{"patch-strategy", "patch-merge-key"} {
		if v := at.Extension(name); v.Here() && name == "patch-strategy" {
			out.texts("x-cluster-"+name, strings.Split(v.Text(), ","), line(v))
		} else if v.Here() {
			out.text("x-cluster-"+name, v.Text(), line(v))
		}
	}
	if atomic := at.Extension("map-type"); atomic.Text() == "atomic" && form == "map" {
		out.text("x-cluster-map-type", "atomic", line(atomic))
	} else if atomic.Text() == "atomic" && form == "any" {
		k.note(atomic, "describe its members, so that it can have one owner", "any JSON has an owner for each member")
	}
}

// listType reads how elements of a list are owned.
func (k *kind) listType(at foreign.Place, out, items mapping) {
	kind := at.Extension("list-type")
	scalar := items.get("$ref") == nil && items.get("x-cluster-preserve-unknown-fields") == nil && items.get("items") == nil &&
		items.get("additionalProperties") == nil
	if kind.Text() == "set" && !scalar {
		k.note(kind, "name the keys of the elements, list type map", "a set of objects has one owner here, and may repeat elements")
		return
	}
	if k.left(foreign.LineOf(kind)) {
		return
	}
	out.text("x-cluster-list-type", kind.Text(), foreign.LineOf(kind))
	out.texts("x-cluster-list-map-keys", at.Extension("list-map-keys").Texts(), foreign.LineOf(kind))
}
