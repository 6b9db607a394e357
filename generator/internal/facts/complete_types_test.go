package facts

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

func (r *release) compareTypes(m *model.Model, found differences) {
	types := typesByID(m)
	for id, fields := range r.types {
		if !r.checked(id[:strings.LastIndexByte(id, '.')]) {
			continue
		}
		if doc := types[id]; doc != nil {
			r.compareFields(id, fields, doc, found)
		} else {
			found.missing(id)
		}
	}
	for id, doc := range types {
		if r.checked(doc.GV.Dir) && !r.knows(id) {
			found.unexpected(id)
		}
	}
}

func (r *release) compareFields(id string, fields map[string]row, doc *model.Type, found differences) {
	if doc.Root { // those below a root are embedded without their envelope
		found.compare(id, "kind", yes(fields["apiVersion"]["number"] == "-"), yes(doc.Kind))
	}
	mapType := "-"
	if of, ok := fields["."]; ok {
		mapType = of["map_type"]
	}
	found.compare(id, "map type", mapType, word(doc.Schema.MapType))
	have := map[string]member{}
	for _, p := range doc.Schema.Properties {
		f := documentMember(doc, p)
		f.shape = releaseForm(doc, p.Schema)
		have[p.Name] = f
	}
	for name, f := range fields {
		if name == "." || (name == "kind" || name == "apiVersion") && f["number"] == "-" {
			continue // the type itself; of each kind, and not in its binary form
		}
		h, ok := have[name]
		if !ok {
			found.missing(id + "." + name)
			continue
		}
		delete(have, name)
		compareField(id+"."+name, f, h, found)
	}
	for name := range have {
		found.unexpected(id + "." + name)
	}
}

func compareField(subject string, f row, h member, found differences) {
	form := folderForm(f["form"])
	found.compare(subject, "form", form, h.shape)
	found.compare(subject, "required", f["required"], yes(h.required))
	presence := f["presence"]
	structure := form == "raw" || form == "json" || strings.Contains(form, ".") && !strings.HasPrefix(form, "[]") && !strings.HasPrefix(form, "map:")
	switch {
	case presence == "implicit" && structure:
		presence = "always" // Go writes a struct that is empty
	case presence == "omitted":
		presence = "implicit"
	}
	if presence != "-" {
		found.compare(subject, "presence", presence, h.presence)
	}
	if f["number"] != "-" {
		found.compare(subject, "binary number", f["number"], messageNumber(h))
	}
	found.compare(subject, "list type", f["list_type"], h.listType)
	found.compare(subject, "list map keys", f["list_map_keys"], h.listKeys)
	found.compare(subject, "map type", f["map_type"], h.mapType)
	found.compare(subject, "patch strategy", f["patch_strategy"], h.patchStrategy)
	found.compare(subject, "patch merge key", f["patch_merge_key"], h.patchMergeKey)
}

// folderForm is the form of a field in the tables, with the folders of the documents.
func folderForm(form string) string {
	prefix, elem := "", form
	for again := true; again; {
		again = false
		for _, p := range []string{"[]", "map:"} {
			if rest, ok := strings.CutPrefix(elem, p); ok {
				prefix, elem, again = prefix+p, rest, true
			}
		}
	}
	switch {
	case slices.Contains([]string{"meta/v1.FieldsV1", "pkg/runtime.RawExtension"}, elem):
		elem = "raw"
	case strings.HasSuffix(elem, "/v1.JSON"):
		elem = "json"
	case strings.Contains(elem, "."):
		elem = typeID(elem)
	}
	return prefix + elem
}

// releaseForms are the forms of the tables, by the words of the facts of 1.25.
var releaseForms = map[string]string{
	"time": "meta/v1.Time", "microtime": "meta/v1.MicroTime", "bytes": "string:byte", "intorstring": "util/intstr.IntOrString",
	"quantity": "api/resource.Quantity", "float64": "number:double", "bool": "boolean", "int32": "integer:int32", "int64": "integer:int64",
}

// releaseForm is the form of a schema's values, in the words of the tables.
func releaseForm(t *model.Type, s *schema.Schema) string {
	switch {
	case s.Ref == "" && s.Type == "array":
		return "[]" + releaseForm(t, s.Items)
	case s.Ref == "" && s.Additional != nil:
		return "map:" + releaseForm(t, s.Additional)
	}
	form := shape(t, s)
	if known := releaseForms[form]; known != "" {
		return known
	}
	return form
}
