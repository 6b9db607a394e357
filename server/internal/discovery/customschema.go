package discovery

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The extensions of schemas that concern publication.
const (
	extEmbedded    = profile.ExtensionPrefix + "embedded-resource"
	extPreserve    = profile.ExtensionPrefix + "preserve-unknown-fields"
	extIntOrString = profile.ExtensionPrefix + "int-or-string"
	extGVK         = profile.ExtensionPrefix + "group-version-kind"
	extSelectable  = profile.ExtensionPrefix + "selectable-fields"
)

// node is a JSON object of a document.
type node = map[string]any

// decodeNode reads a JSON object, numbers as they are written.
func decodeNode(text []byte) node {
	var v node
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// customSchema is the published schema of a custom resource. head are the schemas of
// apiVersion, kind and metadata. OpenAPI v2 cannot express all of it: a schema that is
// stricter than the rules would make clients refuse valid objects.
func customSchema(row *catalog.Row, head node, v2 bool) node {
	s := decodeNode(row.Definition.Schema())
	if s == nil || v2 && s[extPreserve] == true {
		return node{"type": "object", extGVK: gvk(row, row.Kind)}
	}
	publish(s, head, v2)
	properties, _ := s["properties"].(node)
	if properties == nil {
		properties = node{}
	}
	for name, schema := range head {
		properties[name] = schema
	}
	s["properties"] = properties
	s[extGVK] = gvk(row, row.Kind)
	return s
}

// publishSelectable adds the fields that selectors may name to the schema of a custom
// resource or its list.
func publishSelectable(s node, row *catalog.Row) {
	var fields []any
	for i := range row.Selectable {
		fields = append(fields, node{"fieldPath": row.Selectable[i].Name})
	}
	if fields != nil {
		s[extSelectable] = fields
	}
}

func gvk(row *catalog.Row, kind string) []any {
	return []any{node{"group": row.GV.Group, "version": row.GV.Version, "kind": kind}}
}

// publish turns a schema and all below it into the published form.
func publish(s, head node, v2 bool) {
	if v2 {
		restrict(s)
	} else if s[extIntOrString] == true && s["anyOf"] == nil {
		s["anyOf"] = []any{node{"type": "integer"}, node{"type": "string"}}
	}
	properties, _ := s["properties"].(node)
	for _, p := range properties {
		if p, ok := p.(node); ok {
			publish(p, head, v2)
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if below, ok := s[name].(node); ok {
			publish(below, head, v2)
		}
	}
	if s[extEmbedded] == true && !(v2 && s[extPreserve] == true) {
		if properties == nil {
			properties = node{}
			s["properties"] = properties
		}
		for name, schema := range head {
			properties[name] = schema
		}
		required, _ := s["required"].([]any)
		for _, name := range []any{"kind", "apiVersion"} {
			if !slices.Contains(required, name) {
				required = append(required, name)
			}
		}
		s["required"] = required
	}
}

// restrict removes from a schema the keys that OpenAPI v2 does not have, or that its
// clients cannot read.
func restrict(s node) {
	for _, name := range []string{"allOf", "anyOf", "oneOf", "not"} {
		delete(s, name)
	}
	if s["nullable"] == true {
		for _, name := range []string{"type", "nullable", "items", "properties"} {
			delete(s, name)
		}
	}
	if s[extPreserve] == true {
		delete(s, "items")
		if delete(s, "properties"); s["type"] == "object" {
			delete(s, "type")
		}
	}
	if s["type"] == "array" && s["items"] == nil {
		delete(s, "type")
	}
	properties, _ := s["properties"].(node)
	required, _ := s["required"].([]any)
	required = slices.DeleteFunc(slices.Clone(required), func(name any) bool {
		text, _ := name.(string)
		p, _ := properties[text].(node)
		return p["nullable"] == true
	})
	if additional, _ := s["additionalProperties"].(node); len(required) == 0 || additional["nullable"] == true {
		delete(s, "required")
	} else {
		s["required"] = required
	}
}
