package emit

import (
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The scalar types of the API have names of their own in published documents,
// but no document here: they are formats.
var formatNames = map[string]string{
	"date-time":     "Time",
	"micro-time":    "MicroTime",
	"duration":      "Duration",
	"quantity":      "Quantity",
	"int-or-string": "IntOrString",
}

// binaryFormNames are the names of values of any kind that are wrapped in the binary form.
var binaryFormNames = map[string]string{"raw": "RawExtension", "json": "JSON"}

// builtinOf returns the name of the published type that a schema stands for,
// or "".
func builtinOf(s *schema.Schema) string {
	if s.Ref != "" {
		return ""
	}
	if s.Type == "" || s.Type == "string" {
		if name := formatNames[s.Format]; name != "" {
			return name
		}
	}
	if s.PreserveAny && len(s.Properties) == 0 && s.Type != "array" {
		return binaryFormNames[s.BinaryForm]
	}
	return ""
}

// builtin returns a reference to a type that needs no document, and whether
// there is one with that name.
func (c *components) builtin(name string) (object, bool) {
	shape := c.builtinShape(name)
	if shape == nil {
		return nil, false
	}
	shape["description"] = builtinDescriptions[name]
	return c.add(c.names.of("meta/v1", name), func() (object, error) {
		if name == "WatchEvent" {
			shape["properties"].(object)["object"] = c.withRef(c.mustBuiltin("RawExtension"), object{"description": "The object, or a Status when the type is ERROR."})
			shape[c.ext+"group-version-kind"] = c.kindsEverywhere(name)
		}
		return shape, nil
	}), true
}

// alternatives end the names of types for an object of one type, or something else.
var alternatives = map[string]struct{ suffix, description string }{
	"object-or-list":    {"OrArray", " or a list of such."},
	"object-or-boolean": {"OrBool", " or a boolean."},
	"object-or-strings": {"OrStringArray", " or a list of strings."},
}

// alternative returns a reference to the type of a value that may be an object or something else. OpenAPI as
// clients read it cannot say which, so the type allows any JSON.
func (c *components) alternative(t *model.Type, s *schema.Schema) (object, error) {
	target, err := c.types.resolve(t, &schema.Schema{Pos: s.Pos, Ref: s.Objects})
	if err != nil {
		return nil, err
	}
	form := alternatives[s.BinaryForm]
	return c.add(c.names.of(target.GV.Dir, target.Name+form.suffix), func() (object, error) {
		return object{"description": target.Name + form.description}, nil
	}), nil
}

func (c *components) mustBuiltin(name string) object {
	o, _ := c.builtin(name)
	return o
}

var builtinDescriptions = map[string]string{
	"Time":         "A point in time with whole seconds, RFC 3339, for example 2006-01-02T15:04:05Z.",
	"MicroTime":    "A point in time with microseconds, RFC 3339, for example 2006-01-02T15:04:05.000000Z.",
	"Duration":     "A length of time with units, for example 1m30s.",
	"Quantity":     "An amount with an optional decimal (m, k, M, G, ...) or binary (Ki, Mi, Gi, ...) suffix, for example 500m, 1.5 or 2Gi.",
	"IntOrString":  "Either a 32-bit integer or a string.",
	"RawExtension": "Any JSON object.",
	"JSON":         "Any JSON value.",
	"FieldsV1":     "A set of fields as a tree: keys are f:<field name>, k:<list map keys as JSON>, v:<set value>, i:<index> or . for the value itself.",
	"Patch":        "A change to an object, in the form that the content type names.",
	"WatchEvent":   "One change that a watch reports.",
	"Info":         "The version of a server and how it was built.",
}

// builtinShape returns a new schema of a type that needs no document, or nil.
func (c *components) builtinShape(name string) object {
	switch name {
	case "Time", "MicroTime":
		return object{"type": "string", "format": "date-time"}
	case "Duration":
		return object{"type": "string"}
	case "Quantity":
		if c.v3 {
			return object{"oneOf": []object{{"type": "string"}, {"type": "number"}}}
		}
		return object{"type": "string"}
	case "IntOrString":
		o := object{"format": "int-or-string", c.ext + "int-or-string": true}
		if c.v3 {
			o["oneOf"] = []object{{"type": "integer"}, {"type": "string"}}
		} else {
			o["type"] = "string"
		}
		return o
	case "JSON":
		return object{}
	case "RawExtension", "FieldsV1", "Patch":
		if c.draft7 {
			return object{} // any JSON
		}
		return object{"type": "object"}
	case "WatchEvent":
		return object{"type": "object", "required": []string{"type", "object"}, "properties": object{
			"type": object{"type": "string", "description": "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."},
		}}
	case "Info":
		return versionInfo()
	}
	return nil
}

func versionInfo() object {
	names := []string{"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"}
	properties := object{}
	for _, name := range names {
		properties[name] = object{"type": "string"}
	}
	return object{"type": "object", "required": names, "properties": properties}
}
