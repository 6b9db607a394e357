package main

import (
	"fmt"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

type gvModel = model.GroupVersion

var (
	drawnNames = []any{"a", "b", "c", "d"}
	drawnWords = []any{"", "a", "b", "ab", "abc", "xy", "10.0.0.1", "fd00::1", "a@example.com", "https://example.com/x", "2024-02-29", "2023-02-29", "12:30:00Z",
		"2024-02-29T12:30:00Z", "example.com", "-x.com", "123e4567-e89b-12d3-a456-426614174000", "/a~1b", "/a~2", "1/a", "0#", "[a-z", "^a+$", `a\b`, "<&>", "Größe"}
	drawnNumbers  = []any{-3, -1, 0, 1, 2, 3, 4, 6, 10, 9007199254740993}
	drawnFloats   = []any{-1.5, 0.0, 0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 7.0}
	drawnPatterns = []any{"^a", "b$", "^[a-z]*$", "[0-9]", "^.{2}$"}
	drawnFormats  = []any{"email", "uri", "uri-reference", "uuid", "hostname", "ipv4", "ipv6", "date", "time", "json-pointer", "relative-json-pointer", "regex"}
)

func (k *keywords) chance(percent int) bool { return k.rand.IntN(100) < percent }

// shape draws a schema that describes values.
func (k *keywords) shape(depth int) object {
	kinds := []string{"object", "object", "map", "array", "string", "integer", "number", "boolean", "any"}
	switch {
	case depth == 0:
		kinds = kinds[:1]
	case depth > 2:
		kinds = kinds[4:]
	}
	kind := pick(&k.drawing, kinds...)
	s := object{"description": "Drawn for a comparison.", "type": kind}
	switch kind {
	case "object":
		members := object{}
		for _, name := range drawnNames {
			members[name.(string)] = k.member(depth + 1)
		}
		s["properties"] = members
		required := []any{}
		for _, name := range drawnNames {
			if member := members[name.(string)].(object); member["nullable"] == nil && member["default"] == nil && k.chance(15) {
				required = append(required, name)
			}
		}
		if len(required) > 0 {
			s["required"] = required
		}
	case "map":
		s["type"] = "object"
		s["additionalProperties"] = k.plain(pick(&k.drawing, "string", "integer", "boolean"))
	case "array":
		if s["items"] = k.shape(depth + 1); k.chance(30) {
			s["items"] = k.plain("string")
			s["uniqueItems"], s["x-cluster-list-type"] = true, "set"
		}
	case "any":
		delete(s, "type")
		s["x-cluster-preserve-unknown-fields"] = true
	}
	if k.chance(35) {
		k.restrict(s, s, depth, true)
	}
	return s
}

// plain draws a schema of a scalar without rules.
func (k *keywords) plain(kind string) object {
	return object{"description": "Drawn for a comparison.", "type": kind}
}

func (k *keywords) member(depth int) object {
	s := k.shape(depth)
	_, scalar := map[string]bool{"string": true, "integer": true, "number": true, "boolean": true}[shapeOf(s)]
	if scalar && s["const"] == nil && s["enum"] == nil && k.chance(15) {
		s["nullable"] = true
	}
	return s
}

// restrict adds keywords to a schema for values of a shape; own is set for the shape
// itself, whose keywords have to fit each other.
func (k *keywords) restrict(s, of object, depth int, own bool) {
	count := func() any { return k.rand.IntN(4) }
	some := func(name string, v any) {
		if k.chance(40) {
			s[name] = v
		}
	}
	switch shapeOf(of) {
	case "object", "map":
		if k.chance(20) {
			s["minProperties"] = count()
		} else if k.chance(20) {
			s["maxProperties"] = 1 + k.rand.IntN(3)
		}
		if k.chance(20) {
			s["dependentRequired"] = object{pick(&k.drawing, drawnNames...).(string): []any{pick(&k.drawing, drawnNames...)}}
		}
		if k.chance(20) {
			s["dependentSchemas"] = object{pick(&k.drawing, drawnNames...).(string): k.restriction(of, depth+1)}
		}
		k.restrictNames(s, of, own)
		if !own {
			some("required", []any{pick(&k.drawing, drawnNames...)})
			k.restrictMembers(s, of, depth)
		}
	case "array":
		if some("minItems", count()); s["minItems"] == nil {
			some("maxItems", 1+k.rand.IntN(3))
		}
		if k.chance(40) {
			if s["contains"] = k.restriction(of["items"].(object), depth+1); k.chance(40) {
				s["minContains"] = count()
			} else if k.chance(40) {
				s["maxContains"] = count()
			}
		}
		if !own && k.chance(40) {
			s["items"] = k.restriction(of["items"].(object), depth+1)
		}
	case "string":
		k.restrictText(s)
	case "integer", "number":
		k.restrictNumber(s, shapeOf(of) == "integer")
	case "boolean":
		some("const", k.chance(50))
	default:
		k.restrictAny(s, depth, own)
	}
	if !own || s["const"] == nil && s["enum"] == nil {
		k.combine(s, of, depth)
	}
}

// restrictNames adds keywords about the names of members.
func (k *keywords) restrictNames(s, of object, own bool) {
	if shapeOf(of) == "object" {
		return
	}
	if k.chance(30) {
		name := object{}
		k.restrictText(name)
		s["propertyNames"] = name
	}
	if k.chance(30) {
		values := of["additionalProperties"].(object)
		below := object{}
		if own {
			below["type"] = values["type"]
		}
		k.restrict(below, values, 9, false)
		s["patternProperties"] = object{pick(&k.drawing, drawnPatterns...).(string): below}
	}
}

func (k *keywords) restrictMembers(s, of object, depth int) {
	if k.chance(60) {
		name := pick(&k.drawing, drawnNames...).(string)
		var member object
		if shapeOf(of) == "map" {
			member = of["additionalProperties"].(object)
		} else {
			member = of["properties"].(object)[name].(object)
		}
		s["properties"] = object{name: k.restriction(member, depth+1)}
		if k.chance(20) {
			s["additionalProperties"] = false
		}
	}
}

func (k *keywords) restrictText(s object) {
	switch k.rand.IntN(7) {
	case 0:
		s["minLength"] = k.rand.IntN(3)
	case 1:
		s["maxLength"] = 1 + k.rand.IntN(3)
	case 2:
		s["pattern"] = pick(&k.drawing, drawnPatterns...)
	case 3:
		s["enum"] = []any{"a", "b", `a\b`}
	case 4:
		s["const"] = pick(&k.drawing, drawnWords...)
	default:
		s["format"] = pick(&k.drawing, drawnFormats...)
	}
}

func (k *keywords) restrictNumber(s object, whole bool) {
	numbers := drawnNumbers[:9]
	if !whole {
		numbers = drawnFloats
	}
	switch k.rand.IntN(8) {
	case 0:
		s["minimum"] = pick(&k.drawing, numbers...)
	case 1:
		s["maximum"] = pick(&k.drawing, numbers...)
	case 2:
		s["exclusiveMinimum"] = pick(&k.drawing, numbers...)
	case 3:
		s["exclusiveMaximum"] = pick(&k.drawing, numbers...)
	case 4:
		s["enum"] = []any{1, 2, 3}
	case 5:
		s["const"] = pick(&k.drawing, numbers...)
	default:
		if s["multipleOf"] = pick[any](&k.drawing, 1, 2, 3); !whole {
			s["multipleOf"] = pick[any](&k.drawing, 0.1, 0.5, 2, 0.3)
		}
	}
}

// restrictAny restricts any JSON, by type.
func (k *keywords) restrictAny(s object, depth int, own bool) {
	kinds := []any{"string", "integer", "number", "boolean", "null", "object", "array"}
	if !own && k.chance(50) {
		s["type"] = pick(&k.drawing, kinds...)
		if k.chance(40) {
			s["type"] = []any{kinds[k.rand.IntN(3)], kinds[3+k.rand.IntN(4)]}
			return
		}
	}
	kind, _ := s["type"].(string)
	switch {
	case kind == "string":
		k.restrictText(s)
	case kind == "integer" || kind == "number":
		k.restrictNumber(s, kind == "integer")
	case depth > 3:
	case kind == "object":
		k.restrictAnyObject(s, depth)
	case kind == "array":
		s["items"] = k.restriction(object{}, depth+1)
	}
}

func (k *keywords) restrictAnyObject(s object, depth int) {
	s["properties"] = object{"a": k.restriction(object{}, depth+1), "b": k.chance(70)}
	if k.chance(40) {
		s["additionalProperties"] = k.chance(30)
	}
	if k.chance(40) {
		s["required"] = []any{"a"}
	}
}

// combine adds the keywords that combine schemas.
func (k *keywords) combine(s, of object, depth int) {
	if depth > 3 {
		return
	}
	list := func() any { return []any{k.restriction(of, depth+1), k.restriction(of, depth+1)} }
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		if k.chance(12) {
			s[name] = list()
		}
	}
	if k.chance(10) {
		s["not"] = k.restriction(of, depth+1)
	}
	if k.chance(15) {
		s["if"], s["then"] = k.restriction(of, depth+1), k.restriction(of, depth+1)
		if k.chance(50) {
			s["else"] = k.restriction(of, depth+1)
		}
	}
}

// restriction draws a schema that restricts values of a shape.
func (k *keywords) restriction(of object, depth int) any {
	if k.chance(5) {
		return k.chance(50)
	}
	s := object{}
	if kind := shapeOf(of); kind != "" && k.chance(15) {
		if s["type"] = kind; kind == "map" {
			s["type"] = "object"
		}
	}
	k.restrict(s, of, depth, false)
	return s
}

// object draws a value of a shape.
func (k *keywords) object(s object, depth int) any {
	switch shapeOf(s) {
	case "object":
		members, required := object{}, namesIn(s["required"])
		for _, name := range sortedNames(s["properties"].(object)) {
			if k.chance(60) || len(required) > 0 && required[0] == name && k.chance(90) {
				members[name] = k.object(s["properties"].(object)[name].(object), depth+1)
			}
		}
		return members
	case "map":
		members := object{}
		for range k.rand.IntN(4) {
			members[fmt.Sprint(pick(&k.drawing, pick(&k.drawing, drawnNames...), pick(&k.drawing, drawnWords...)))] = k.object(s["additionalProperties"].(object), depth+1)
		}
		return members
	case "array":
		list := []any{}
		for range k.rand.IntN(4) {
			if e := k.object(s["items"].(object), depth+1); e != nil {
				list = append(list, e)
			}
		}
		return list
	case "string":
		return pick(&k.drawing, drawnWords...)
	case "integer":
		return pick(&k.drawing, drawnNumbers...)
	case "number":
		return pick(&k.drawing, drawnFloats...)
	case "boolean":
		return k.chance(50)
	}
	return k.any(depth)
}

// any draws any JSON.
func (k *keywords) any(depth int) any {
	switch k.rand.IntN(8) {
	case 0:
		return pick(&k.drawing, drawnNumbers...)
	case 1:
		return pick(&k.drawing, drawnFloats...)
	case 2:
		return k.chance(50)
	case 3:
		return nil
	case 4:
		if depth < 6 {
			return object{"a": k.any(depth + 1), "b": k.any(depth + 1)}
		}
	case 5:
		if depth < 6 {
			return []any{k.any(depth + 1), k.any(depth + 1)}
		}
	}
	return pick(&k.drawing, drawnWords...)
}
