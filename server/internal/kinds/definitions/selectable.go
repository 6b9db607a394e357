package definitions

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxSelectable bounds the selectable fields of a version.
const maxSelectable = 8

// selectableFields checks the fields that field selectors may name.
func (c *causes) selectableFields(list document.Value, at *fieldPath, version document.Value) {
	var seen document.Texts
	for i, field := range list.Elements() {
		path, text := at.index(i).text()+".jsonPath", field.Get("jsonPath").Text()
		if text == "" {
			c.Required(path, "")
			continue
		}
		where, s, err := memberPath(text, version.At("schema", "openAPIV3Schema"))
		switch {
		case strings.Contains(text, "["):
			c.InvalidText(path, text, "is an invalid path: array notation is not allowed")
			continue
		case err != nil:
			c.InvalidText(path, text, "is an invalid path: "+err.Error())
			continue
		}
		if where == "metadata" || strings.HasPrefix(where, "metadata.") {
			c.InvalidText(path, text, "must not point to fields in metadata")
		}
		if kind := s.Get("type"); !kind.Equals("string") && !kind.Equals("boolean") && !kind.Equals("integer") {
			c.InvalidText(path, text, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")
		}
		if !seen.Add(where) {
			c.Add(schema.CauseDuplicate, path, "Duplicate value: "+strconv.Quote(text))
		}
	}
	if len(seen) > maxSelectable {
		c.Add(schema.CauseTooMany, at.text(), "Too many: "+strconv.Itoa(len(seen))+": must have at most "+strconv.Itoa(maxSelectable)+" items")
	}
}

// selectable are the fields that selectors may name in requests to a version.
func selectable(list document.Value) (all []api.Selectable) {
	for _, field := range list.Elements() {
		name := strings.TrimPrefix(field.Get("jsonPath").Text(), ".")
		all = append(all, api.Selectable{Name: name, Path: strings.Split(name, "."), Served: true})
	}
	return all
}
