package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// Extract returns the part of an object that a field manager has applied, through the
// object or a subresource ("status"): change it and Apply it again. Of a manager that has
// applied nothing it is the name alone.
func Extract[P Object](obj P, manager string, subresource ...string) (part P, err error) {
	obj.SetKind()
	all, err := members(obj)
	if err != nil {
		return part, err
	}
	metadata, _ := all["metadata"].(map[string]any)
	out := map[string]any{}
	managed, _ := metadata["managedFields"].([]any)
	for _, entry := range managed {
		entry, _ := entry.(map[string]any)
		sub, _ := entry["subresource"].(string)
		if entry["manager"] != manager || entry["operation"] != "Apply" || sub != strings.Join(subresource, "") {
			continue
		}
		if entry["apiVersion"] != all["apiVersion"] {
			return part, fmt.Errorf("extract: %s has applied the object as %v, not as %v: read it in that version", manager, entry["apiVersion"], all["apiVersion"])
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		out, _ = owned(all, fields).(map[string]any)
	}
	name, _ := out["metadata"].(map[string]any)
	if name == nil {
		name = map[string]any{}
	}
	for _, member := range []string{"name", "namespace"} {
		if v, ok := metadata[member]; ok {
			name[member] = v
		}
	}
	out["metadata"], out["kind"], out["apiVersion"] = name, all["kind"], all["apiVersion"]
	data, err := json.Marshal(out)
	if err != nil {
		return part, err
	}
	part = newObject[P]()
	return part, json.Unmarshal(data, part)
}

// owned is the part of a value that a set of fields names. A set without parts names all.
func owned(value any, fields map[string]any) any {
	parts := maps.Clone(fields)
	delete(parts, ".")
	if len(parts) == 0 && fields["."] == nil {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for part, below := range parts {
			name, ok := strings.CutPrefix(part, "f:")
			if v, has := value[name]; ok && has {
				below, _ := below.(map[string]any)
				out[name] = owned(v, below)
			}
		}
		return out
	case []any:
		out := []any{}
		for i, element := range value {
			for part, below := range parts {
				if selects(part, i, element) {
					below, _ := below.(map[string]any)
					out = append(out, owned(element, below))
				}
			}
		}
		return out
	}
	return value
}

// selects reports whether a part of a set names an element of a list.
func selects(part string, index int, element any) bool {
	form, text, _ := strings.Cut(part, ":")
	var want any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&want) != nil {
		return false
	}
	switch form {
	case "k":
		keys, _ := want.(map[string]any)
		object, _ := element.(map[string]any)
		for name, key := range keys {
			if !reflect.DeepEqual(object[name], key) {
				return false
			}
		}
		return true
	case "v":
		return reflect.DeepEqual(want, element)
	case "i":
		return fmt.Sprint(want) == fmt.Sprint(index)
	}
	return false
}
