package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// member is a field of a type in the form in which facts and documents are
// compared.
type member struct {
	name, shape, presence        string
	required                     bool
	number, outer                string
	listType, listKeys, mapType  string
	patchStrategy, patchMergeKey string
	enum                         string
	verbs                        string // binary form of a list
}

// factTypes are the facts of types, by ID ("core/v1.PodSpec"): rows of their
// fields in order.
func factTypes(t *testing.T, suffix string) map[string][]row {
	types := map[string][]row{}
	for _, r := range table(t, "typeinfo") {
		types[dir(r["gv"], suffix)+"."+r["type"]] = nil
	}
	for _, r := range table(t, "types") {
		id := dir(r["gv"], suffix) + "." + r["type"]
		types[id] = append(types[id], r)
	}
	return types
}

// factMembers gives the fields of a type with those of embedded types in
// their place, as JSON has them.
func factMembers(types map[string][]row, id, suffix string) []member {
	var members []member
	for _, r := range types[id] {
		if r["jsonName"] != "inline" {
			members = append(members, factMember(r, suffix))
			continue
		}
		for _, e := range factMembers(types, dir(r["type_expr"], suffix), suffix) {
			e.outer = r["proto_num"]
			members = append(members, e)
		}
	}
	return members
}

func factMember(r row, suffix string) member {
	expr, pointer := strings.CutPrefix(r["type_expr"], "*")
	f := member{
		name: r["jsonName"], required: r["required"] == "y", number: r["proto_num"], outer: "-",
		listType: r["list_type"], listKeys: r["list_map_keys"], mapType: r["map_type"],
		patchStrategy: r["patch_strategy"], patchMergeKey: r["patch_merge_key"], enum: sorted(r.list("enum")),
	}
	prefix, elem := "", expr
	for again := true; again; {
		again = false
		for _, p := range []string{"[]", "map[string]"} {
			if rest, ok := strings.CutPrefix(elem, p); ok {
				prefix, elem, again = prefix+p, rest, true
			}
		}
	}
	switch {
	case elem == "meta/v1.FieldsV1":
		elem = "raw"
	case strings.HasSuffix(elem, ".JSON"):
		elem = "json"
	}
	named := strings.Contains(elem, ".")
	f.shape = prefix + dir(elem, suffix)
	// The presence follows from how Go encodes a zero value.
	structure := prefix == "" && (named || slices.Contains([]string{"time", "microtime", "quantity", "intorstring", "raw", "json"}, elem))
	switch {
	case pointer && prefix == "":
		f.presence = "explicit"
	case structure || r["omitempty"] == "n":
		f.presence = "always"
	default:
		f.presence = "implicit"
	}
	if r["named_type"] == "meta/v1.Verbs" {
		f.verbs = "string-list"
	}
	return f
}

var presences = map[schema.Presence]string{schema.Implicit: "implicit", schema.Explicit: "explicit", schema.Always: "always"}

func documentMember(t *model.Type, p schema.Property) member {
	s := p.Schema
	f := member{
		name: p.Name, shape: shape(t, s), required: t.Schema.Publishes(p.Name),
		number: number(s.Binary), outer: number(s.BinaryOuter),
		listType: word(s.ListType), listKeys: list(s.ListMapKeys), mapType: word(s.MapType),
		patchStrategy: list(s.PatchStrategy), patchMergeKey: word(s.PatchMergeKey),
	}
	enum := s.Enum
	if s.Items != nil {
		enum = s.Items.Enum
	}
	f.enum = sorted(enum)
	if s.Type == "array" {
		f.verbs = s.BinaryForm
	}
	if tab := t.GV.Table; tab != nil {
		if ref := tab.Root(t.Name); ref != schema.None {
			typ := &tab.Types[ref]
			if i := typ.Field(p.Name); i >= 0 {
				f.presence = presences[typ.Fields[i].Presence]
			}
		}
	}
	return f
}

func word(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// target is the ID of the type that a reference names.
func target(t *model.Type, ref string) string {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return t.GV.Dir + "." + name
	}
	i := strings.LastIndexByte(ref, '/')
	return strings.TrimPrefix(ref[:i], "/") + "." + ref[i+1:]
}

// shape is the kind of a schema's values, in the words of the facts.
func shape(t *model.Type, s *schema.Schema) string {
	switch {
	case s.Ref != "":
		return target(t, s.Ref)
	case s.Type == "array":
		return "[]" + shape(t, s.Items)
	case s.Additional != nil:
		return "map[string]" + shape(t, s.Additional)
	case s.PreserveAny && slices.Contains([]string{"raw", "json"}, s.BinaryForm):
		return s.BinaryForm
	case s.Objects != "": // the facts give the Go type, which is named after both
		return target(t, s.Objects) + "Or" + map[string]string{"object-or-list": "Array", "object-or-boolean": "Bool", "object-or-strings": "StringArray"}[s.BinaryForm]
	case s.PreserveAny:
		return "object"
	}
	switch s.Format {
	case "date-time":
		return "time"
	case "micro-time":
		return "microtime"
	case "byte":
		return "bytes"
	case "int-or-string":
		return "intorstring"
	case "double":
		return "float64"
	case "":
		if s.Type == "boolean" {
			return "bool"
		}
		return s.Type
	}
	return s.Format
}

func compareTypes(t *testing.T, m *model.Model, found differences) {
	facts := factTypes(t, m.Profile.GroupSuffix)
	types, all := typesByID(m), served(m)
	for id := range types {
		if _, ok := facts[id]; !ok {
			found.unexpected(id)
		}
	}
	for _, r := range table(t, "typeinfo") {
		id := dir(r["gv"], m.Profile.GroupSuffix) + "." + r["type"]
		doc := types[id]
		if doc == nil {
			if all[dir(r["gv"], m.Profile.GroupSuffix)] {
				found.missing(id)
			} else {
				found.skip("types", 1)
			}
			continue
		}
		if doc.Root { // those below a root are embedded without their envelope
			found.compare(id, "kind", yes(r["has_typemeta"] == "y"), yes(doc.Kind))
		}
		found.compare(id, "map type", r["map_type"], word(doc.Schema.MapType))
		compareMembers(id, factMembers(facts, id, m.Profile.GroupSuffix), doc, found)
	}
}

func compareMembers(id string, want []member, doc *model.Type, found differences) {
	have := map[string]member{}
	var wantOrder, haveOrder []string
	for _, p := range doc.Schema.Properties {
		have[p.Name] = documentMember(doc, p)
		haveOrder = append(haveOrder, p.Name)
	}
	for _, w := range want {
		wantOrder = append(wantOrder, w.name)
		subject := id + "." + w.name
		h, ok := have[w.name]
		if !ok {
			found.missing(subject)
			continue
		}
		delete(have, w.name)
		found.compare(subject, "type", w.shape, h.shape)
		found.compare(subject, "required", yes(w.required), yes(h.required))
		found.compare(subject, "presence", w.presence, h.presence)
		found.compare(subject, "binary number", fmt.Sprint(w.outer, "/", w.number), fmt.Sprint(h.outer, "/", h.number))
		found.compare(subject, "binary form", w.verbs, h.verbs)
		found.compare(subject, "list type", w.listType, h.listType)
		found.compare(subject, "list map keys", w.listKeys, h.listKeys)
		found.compare(subject, "map type", w.mapType, h.mapType)
		found.compare(subject, "patch strategy", w.patchStrategy, h.patchStrategy)
		found.compare(subject, "patch merge key", w.patchMergeKey, h.patchMergeKey)
		found.compare(subject, "enum", w.enum, h.enum)
	}
	for name := range have {
		found.unexpected(id + "." + name)
	}
	found.compare(id, "order", list(wantOrder), list(haveOrder))
}
