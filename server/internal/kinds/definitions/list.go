package definitions

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
)

// lists checks the list type of arrays.
func (w *schemaWalk) lists(s document.Value, at *fieldPath) {
	kind, keys, items := s.Get(extListType), s.Get(extListMapKeys), s.Get("items")
	if isSet(kind) {
		if w.needsType(s, at, "array", extListType) && kind.Equals("set") {
			w.setItems(items, at.member("items"))
		}
		if !slices.Contains([]string{"atomic", "set", "map"}, kind.Text()) {
			w.NotSupportedAt(at.member(extListType).text(), kind, "atomic", "set", "map")
		}
	}
	if path := at.member(extListType).text; keys.Len() > 0 && !isSet(kind) {
		w.Required(path(), "must be map if "+extListMapKeys+" is non-empty")
	} else if keys.Len() > 0 && !kind.Equals("map") {
		w.InvalidText(path(), kind.Text(), "must be map if "+extListMapKeys+" is non-empty")
	}
	if kind.Equals("map") {
		w.keyedList(items, keys, at)
	}
	if (kind.Equals("set") || kind.Equals("map")) && items.Get("nullable").Bool() {
		w.Forbidden(at.member("items").member("nullable").text(), "cannot be nullable when "+extListType+" is "+kind.Text())
	}
	if kind.Equals("map") && items.Kind() == document.Object {
		w.keyProperties(items, keys, at.member("items"))
	}
}

// setItems checks that the elements of a set are owned as a whole.
func (w *schemaWalk) setItems(items document.Value, at *fieldPath) {
	const why = "must be atomic as item of a list with " + extListType + "=set"
	switch items.Get("type").Text() {
	case "array":
		if kind := items.Get(extListType); isSet(kind) && !kind.Equals("atomic") {
			w.InvalidAt(at.member(extListType).text(), kind, why)
		}
	case "object":
		if kind := items.Get(extMapType); !kind.Equals("atomic") {
			w.InvalidAt(at.member(extMapType).text(), kind, why)
		}
	}
}

// keyedList checks a list whose elements are identified by keys.
func (w *schemaWalk) keyedList(items, keys document.Value, at *fieldPath) {
	keysAt, itemsAt := at.member(extListMapKeys), at.member("items")
	if keys.Len() == 0 {
		w.Required(keysAt.text(), "must not be empty if "+extListType+" is map")
	}
	switch {
	case !isSet(items):
		w.Required(itemsAt.text(), "must have a schema if "+extListType+" is map")
		return
	case items.Kind() != document.Object:
		w.InvalidAt(itemsAt.text(), items, "must only have a single schema if "+extListType+" is map")
		return
	case !items.Get("type").Equals("object"):
		w.InvalidText(itemsAt.member("type").text(), items.Get("type").Text(), "must be object if parent array's "+extListType+" is map")
	}
	if !items.Get("type").Equals("object") {
		return
	}
	var seen document.Texts
	for _, key := range keys.Elements() {
		name := key.Text()
		property, path := items.Get("properties").Get(name), itemsAt.member("properties").key(name)
		if !property.Exists() {
			w.InvalidAt(keysAt.text(), keys, "entries must all be names of item properties")
		} else if kind := property.Get("type").Text(); kind == "array" || kind == "object" {
			w.InvalidText(path.member("type").text(), kind, "must be a scalar type if parent array's "+extListType+" is map")
		}
		if !seen.Add(name) {
			w.InvalidAt(keysAt.text(), keys, "must not contain duplicate entries")
		}
	}
}

// keyProperties checks that every element has a value for each key.
func (w *schemaWalk) keyProperties(items, keys document.Value, itemsAt *fieldPath) {
	required := document.TextsIn(items.Get("required"))
	for _, key := range keys.Elements() {
		name := key.Text()
		property, path := items.Get("properties").Get(name), itemsAt.member("properties").key(name)
		if !property.Exists() {
			continue
		}
		if !required.Has(name) && !isSet(property.Get("default")) {
			w.Required(path.member("default").text(), "this property is in "+extListMapKeys+", so it must have a default or be a required property")
		}
		if property.Get("nullable").Bool() {
			w.Forbidden(path.member("nullable").text(), "this property is in "+extListMapKeys+", so it cannot be nullable")
		}
	}
}
