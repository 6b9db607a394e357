package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// oracle writes the documents as schemas that a JSON Schema library understands, with our
// extensions in its words.
type oracle struct {
	types map[string]*model.Type
	defs  map[string]any
	form  bool // without the rules: what can be decoded
}

type object = map[string]any

func pointer(id string) string { return strings.ReplaceAll(id, "/", ".") }

func newOracle(m *model.Model) *oracle {
	o := &oracle{types: map[string]*model.Type{}, defs: map[string]any{}}
	for _, name := range document.Formats() {
		jsonschema.Formats["x-"+name] = func(v any) bool { return len(document.CheckFormat(name, fmt.Sprint(v))) == 0 }
	}
	text := func(right func(string) error) func(any) bool {
		return func(v any) bool { s, ok := v.(string); return !ok || right(s) == nil }
	}
	jsonschema.Formats["x-byte"] = text(func(s string) error { _, err := base64.StdEncoding.DecodeString(s); return err })
	jsonschema.Formats["x-duration"] = text(func(s string) error { _, err := time.ParseDuration(s); return err })
	jsonschema.Formats["x-quantity"] = func(v any) bool { _, err := resource.ParseQuantity(fmt.Sprint(v)); return err == nil }
	for name, least := range map[string]int{"x-quantity-not-negative": 0, "x-quantity-positive": 1} {
		jsonschema.Formats[name] = func(v any) bool {
			q, err := resource.ParseQuantity(fmt.Sprint(v))
			return err != nil || q.Sign() >= least
		}
	}
	for _, gv := range m.GroupVersions {
		for _, typ := range gv.Types {
			o.types[typ.ID] = typ
		}
	}
	form := o.withoutRules()
	for id, typ := range o.types {
		o.defs[pointer(id)] = o.schema(typ.Schema, typ.GV.Dir)
		o.defs[pointer(id)+".form"] = form.schema(typ.Schema, typ.GV.Dir)
	}
	return o
}

func (o *oracle) withoutRules() *oracle {
	form := *o
	form.form = true
	return &form
}

// resolve follows references to the type that counts.
func (o *oracle) resolve(s *schema.Schema, dir string) (*schema.Schema, string) {
	for s.Ref != "" {
		typ := o.types[refID(s.Ref, dir)]
		s, dir = typ.Schema, typ.GV.Dir
	}
	return s, dir
}

func refID(ref, dir string) string {
	if path, ok := strings.CutPrefix(ref, "/"); ok {
		i := strings.LastIndexByte(path, '/')
		return path[:i] + "." + path[i+1:]
	}
	return dir + "." + strings.TrimPrefix(ref, "#/$defs/")
}

func (o *oracle) schema(s *schema.Schema, dir string) any {
	if s.Ref != "" && o.form {
		return object{"$ref": "#/$defs/" + pointer(refID(s.Ref, dir)) + ".form"}
	}
	if s.Ref != "" {
		return object{"$ref": "#/$defs/" + pointer(refID(s.Ref, dir))}
	}
	if o.form {
		s = bare(s)
	}
	if s.PreserveAny && len(s.Properties) == 0 {
		return true
	}
	out := object{}
	set := func(name string, is bool, v any) {
		if is {
			out[name] = v
		}
	}
	set("enum", s.Enum != nil && !s.OpenEnum, s.Enum)
	set("pattern", s.Pattern != "", s.Pattern)
	set("format", s.FormatCheck != "", "x-"+s.FormatCheck)
	set("format", slices.Contains(document.TextFormats(), s.Format) && s.Format != "date-time", s.Format)
	set("minimum", s.Minimum != nil, s.Minimum)
	set("maximum", s.Maximum != nil, s.Maximum)
	set("exclusiveMinimum", s.ExclusiveMinimum != nil, s.ExclusiveMinimum)
	set("exclusiveMaximum", s.ExclusiveMaximum != nil, s.ExclusiveMaximum)
	set("minLength", s.MinLength != nil, s.MinLength)
	set("maxLength", s.MaxLength != nil, s.MaxLength)
	items := map[bool]string{true: "Properties", false: "Items"}[s.Additional != nil]
	set("min"+items, s.MinItems != nil, s.MinItems)
	set("max"+items, s.MaxItems != nil, s.MaxItems)
	switch {
	case s.Items != nil:
		out["type"], out["items"] = "array", o.schema(s.Items, dir)
		if s.Unique != nil {
			element, _ := o.resolve(s.Items, dir)
			keys := object{}
			for _, key := range s.Unique {
				keys[key] = nil
				for _, p := range element.Properties {
					if p.Name == key && p.Schema.Default != nil {
						keys[key] = json.RawMessage(p.Schema.Default)
					}
				}
			}
			out["uniqueKeys"] = keys
		}
	case s.Additional != nil:
		out["type"], out["additionalProperties"] = "object", o.schema(s.Additional, dir)
	case s.Type == "object" || len(s.Properties) > 0:
		o.object(out, s, dir)
	default:
		scalar(out, s)
	}
	return out
}

// bare is a schema without its rules.
func bare(s *schema.Schema) *schema.Schema {
	return &schema.Schema{Type: s.Type, Format: s.Format, Properties: s.Properties, Items: s.Items, Additional: s.Additional, PreserveAny: s.PreserveAny}
}

func scalar(out object, s *schema.Schema) {
	switch s.Format {
	case "int32", "int64":
		out["type"] = "integer"
		bounds := object{"minimum": int64(-1 << 31), "maximum": int64(1<<31 - 1)}
		if s.Format == "int64" {
			bounds = object{"minimum": int64(-1 << 63), "maximum": int64(1<<63 - 1)}
		}
		out["allOf"] = []any{bounds}
	case "int-or-string":
		whole := object{"type": "integer", "minimum": int64(-1 << 31), "maximum": int64(1<<31 - 1)}
		words := object{"type": "string"}
		if s.FormatCheck == "port-number" { // or the name of one
			delete(out, "format")
			whole["format"], words["format"] = "x-port-number", "x-port-name"
		}
		out["oneOf"] = []any{whole, words}
	case "quantity":
		out["type"], out["format"] = []string{"string", "number"}, "x-quantity"
		for bound, format := range map[string]string{"minimum": "x-quantity-not-negative", "exclusiveMinimum": "x-quantity-positive"} {
			if _, has := out[bound]; has {
				delete(out, bound)
				out["allOf"] = []any{object{"format": format}}
			}
		}
	case "byte", "duration":
		out["type"], out["format"] = "string", "x-"+s.Format
	case "date-time", "micro-time":
		out["type"], out["format"] = "string", "date-time"
	default:
		out["type"] = s.Type
	}
}

// object demands the required members, and lists the values of the others that are
// the same as none.
func (o *oracle) object(out object, s *schema.Schema, dir string) {
	properties, required := object{}, []string{}
	for _, p := range s.Properties {
		part := o
		if p.Schema.Validate != nil && !*p.Schema.Validate {
			part = o.withoutRules()
		}
		value, target := part.schema(p.Schema, dir), first(o.resolve(p.Schema, dir))
		enforced := !part.form && enforced(s, &p)
		presence := presence(s, &p)
		nothing := []any{nil} // values that are as none
		switch {
		case presence == "always":
			nothing = append(nothing, "")
			if p.Schema.Default != nil {
				nothing = append(nothing, 0) // the default takes its place
			}
		case presence == "explicit" || len(target.Properties) > 0:
		default:
			nothing = append(nothing, "", 0, false, []any{}, object{})
		}
		if enforced && p.Schema.Default == nil {
			required = append(required, p.Name)
			value = object{"allOf": []any{value, object{"not": object{"enum": []any{nil, "", []any{}}}}}}
			if target.Additional != nil {
				value.(object)["minProperties"] = 1
			}
		} else {
			value = object{"anyOf": []any{object{"enum": nothing}, value}}
		}
		properties[p.Name] = value
	}
	out["type"], out["properties"], out["required"] = "object", properties, required
	if len(s.OneOf) > 0 && !o.form {
		out["allOf"] = oneOf(s)
	}
}

// oneOf is the keyword for members that exclude each other, with one of them required.
func oneOf(s *schema.Schema) []any {
	var all, some []any
	set := func(name string) object {
		return object{"required": []string{name}, "properties": object{name: object{"type": "object"}}}
	}
	for i, text := range s.OneOf {
		name, as, found := strings.Cut(text, ":")
		some = append(some, set(name))
		for _, before := range s.OneOf[:i] {
			if before, _, _ = strings.Cut(before, ":"); as != "" || !found {
				all = append(all, object{"not": object{"allOf": []any{set(before), set(name)}}})
			}
		}
	}
	if s.OneNeeded {
		all = append(all, object{"anyOf": some})
	}
	return all
}

func enforced(s *schema.Schema, p *schema.Property) bool {
	return s.Enforces(p.Name) && !p.Schema.Nullable || p.Schema.Missing == "by-rules"
}

func presence(s *schema.Schema, p *schema.Property) string {
	if p.Schema.Presence == "" && s.Publishes(p.Name) {
		return "always"
	}
	return p.Schema.Presence
}

// fill adds the objects and numbers that are there without being sent, empty: members of the
// objects may be required, and zero may be out of bounds.
func (o *oracle) fill(v any, s *schema.Schema, dir string) {
	s, dir = o.resolve(s, dir)
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			if s.Items != nil {
				o.fill(element, s.Items, dir)
			}
		}
	case object:
		for _, member := range v {
			if s.Additional != nil {
				o.fill(member, s.Additional, dir)
			}
		}
		for _, p := range s.Properties {
			target, _ := o.resolve(p.Schema, dir)
			if v[p.Name] == nil && presence(s, &p) == "always" && !enforced(s, &p) && p.Schema.Default == nil {
				switch {
				case len(target.Properties) > 0:
					v[p.Name] = object{}
				case target.Type == "integer" || target.Format == "int-or-string":
					v[p.Name] = 0.0
				}
			}
			o.fill(v[p.Name], p.Schema, dir)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// uniqueKeys is the keyword for lists whose elements differ in their keys; its
// value is the keys with their defaults.
type uniqueKeys struct{}

type keySet map[string]any

func (uniqueKeys) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	if keys, ok := m["uniqueKeys"].(map[string]any); ok {
		return keySet(keys), nil
	}
	return nil, nil
}

func (keys keySet) Validate(ctx jsonschema.ValidationContext, v any) error {
	list, _ := v.([]any)
	seen := map[string]bool{}
	for _, element := range list {
		member, _ := element.(map[string]any)
		id, known := "", true
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			value := member[strings.TrimSuffix(key, "?")]
			if key == "." {
				value = element
			}
			if value == nil || value == "" {
				value = keys[key]
			}
			known = known && (value != nil || !strings.HasSuffix(key, "?"))
			id += fmt.Sprint(value, "\x00")
		}
		if known && seen[id] {
			return ctx.Error("uniqueKeys", "%q is there twice", id)
		}
		seen[id] = known
	}
	return nil
}
