package definitions

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxRequest bounds an object in the estimates of costs, in bytes. It is the number of
// 1.25, whatever this server accepts: it decides which rules are accepted.
const maxRequest = 3 << 20

// Lengths of JSON texts, with quotes.
const (
	minText     = 2
	dateText    = 12
	minTimeText = 21
	maxTimeText = 32
	minWaitText = 3 // a duration
)

// declared is the type that expressions see in the values of a schema. whole marks a whole
// object, which has the members of every object. Values without a schema are Opaque: 1.25
// hides them, and lists and maps of them, from expressions.
func declared(s document.Value, whole bool) *expression.Type {
	t := &expression.Type{Kind: expression.Opaque, Nullable: s.Get("nullable").Bool()}
	if s.Get(extIntOrString).Bool() {
		t.Kind, t.MinSize, t.MaxElements = expression.IntOrString, 1, textBound(s)
		return t
	}
	switch s.Get("type").Text() {
	case "array":
		declaredList(t, s)
	case "object":
		declaredObject(t, s, whole)
	case "string":
		declaredText(t, s)
	case "boolean":
		t.Kind, t.MinSize = expression.Boolean, 4
	case "integer":
		t.Kind, t.MinSize = expression.Integer, 1
	case "number":
		t.Kind, t.MinSize = expression.Number, 1
	}
	return t
}

func embedded(s document.Value) bool { return s.Get(extEmbeddedResource).Bool() }

func declaredList(t *expression.Type, s document.Value) {
	items := s.Get("items")
	if items.Kind() != document.Object {
		return
	}
	elem := declared(items, embedded(items))
	if elem.Kind == expression.Opaque {
		return
	}
	t.Kind, t.Elem, t.MinSize = expression.List, elem, minText
	t.MaxElements = bound(s, "maxItems", (maxRequest-2)/(elem.MinSize+1))
	switch s.Get(extListType).Text() {
	case "set":
		t.ListType = schema.ListSet
	case "map":
		t.ListType = schema.ListMap
		t.Keys = s.Get(extListMapKeys).Texts()
	}
}

func declaredObject(t *expression.Type, s document.Value, whole bool) {
	if additional := s.Get("additionalProperties"); additional.Kind() == document.Object && !whole {
		elem := declared(additional, embedded(additional))
		if elem.Kind == expression.Opaque {
			return
		}
		t.Kind, t.Elem, t.MinSize = expression.Map, elem, minText
		t.MaxElements = bound(s, "maxProperties", (maxRequest-2)/(elem.MinSize+6))
		return
	}
	t.Kind, t.MinSize = expression.Object, 2
	required := document.TextsIn(s.Get("required"))
	properties := s.Get("properties")
	replaced := whole && !declaresHead(properties)
	for name, property := range properties.Members() {
		if replaced && isHead(name) {
			continue
		}
		f := expression.Field{Name: name, Type: declared(property, embedded(property))}
		t.Fields = append(t.Fields, f)
		if required.Has(name) && !isSet(property.Get("default")) && f.Type.Kind != expression.Opaque {
			t.MinSize += int64(len(name)) + f.Type.MinSize + 4
		}
	}
	if replaced {
		text := func(name string) expression.Field {
			return expression.Field{Name: name, Type: &expression.Type{Kind: expression.String, MinSize: minText, MaxElements: maxRequest - 2}}
		}
		t.Fields = append(t.Fields, text("kind"), text("apiVersion"), expression.Field{Name: "metadata",
			Type: &expression.Type{Kind: expression.Object, MinSize: 2, Fields: []expression.Field{text("name"), text("generateName")}}})
	}
	slices.SortFunc(t.Fields, func(a, b expression.Field) int { return strings.Compare(a.Name, b.Name) })
}

// declaresHead reports whether a schema declares all members of whole objects that
// expressions may use. Otherwise they have the usual ones.
func declaresHead(properties document.Value) bool {
	metadata := properties.Get("metadata")
	return properties.Get("kind").Get("type").Equals("string") && properties.Get("apiVersion").Get("type").Equals("string") &&
		metadata.Get("type").Equals("object") &&
		metadata.At("properties", "name", "type").Equals("string") && metadata.At("properties", "generateName", "type").Equals("string")
}

func declaredText(t *expression.Type, s document.Value) {
	t.Kind, t.MinSize, t.MaxElements = expression.String, minText, textBound(s)
	switch s.Get("format").Text() {
	case "byte":
		t.Kind, t.MaxElements = expression.Bytes, bound(s, "maxLength", maxRequest-2)
	case "duration":
		t.Kind, t.MinSize, t.MaxElements = expression.Duration, minWaitText, maxTimeText
	case "date":
		t.Kind, t.MinSize, t.MaxElements = expression.Date, dateText, dateText
	case "date-time":
		t.Kind, t.MinSize, t.MaxElements = expression.DateTime, minTimeText, maxTimeText
	}
}

// textBound bounds the bytes of a string: a character has up to four.
func textBound(s document.Value) int64 {
	if most := s.Get("maxLength"); isSet(most) {
		return 4 * bound(s, "maxLength", 0)
	}
	if enum := s.Get("enum"); enum.Len() > 0 && s.Get("type").Equals("string") {
		longest := 0
		for _, one := range enum.Elements() {
			longest = max(longest, len(one.Text()))
		}
		return int64(longest)
	}
	return maxRequest - 2
}

// bound is a bound that a schema sets, or else another one.
func bound(s document.Value, name string, without int64) int64 {
	if most := s.Get(name); isSet(most) {
		n, _ := most.Int()
		return max(n, 0)
	}
	return without
}
