package compat

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
)

// node is a JSON Schema.
type node = map[string]any

// drawing draws schemas, edits of them, and values, all from one seed.
type drawing struct {
	*rand.Rand
	numbers []any
	texts   []string
}

var patterns = []string{"^a", "^[a-z]+$", "^[a-z0-9]{1,4}$", "b$", "^(a|b)$", "^x", "[0-9]", "^.{2,5}$"}

func (d *drawing) chance(n int) bool { return d.IntN(n) == 0 }

// schema is one as documents have them: a type with its keywords, and further schemas.
func (d *drawing) schema(depth int) node {
	s := node{}
	switch kind := d.IntN(7); {
	case kind == 0 && depth < 2:
		properties := node{}
		for _, name := range []string{"a", "b", "x1"}[:1+d.IntN(3)] {
			properties[name] = d.schema(depth + 1)
		}
		s["type"], s["properties"] = "object", properties
	case kind == 1 && depth < 2:
		s["type"], s["items"] = "array", d.schema(depth+1)
	case kind == 2 && depth < 2:
		s["type"], s["additionalProperties"] = "object", d.schema(depth+1)
	case kind == 3:
		s["type"] = "boolean"
	case kind == 4:
		s["type"] = "integer"
	case kind == 5:
		s["type"] = "number"
	default:
		s["type"] = "string"
	}
	for range d.IntN(3) {
		d.restrict(s, s, depth)
	}
	return s
}

// part is a schema in a schema of the type of another one.
func (d *drawing) part(of node, depth int) node {
	s := node{}
	for range 1 + d.IntN(2) {
		d.restrict(s, of, depth+1)
	}
	return s
}

// restrict adds or changes a keyword that fits the type of another schema.
func (d *drawing) restrict(s, of node, depth int) {
	if d.chance(4) && depth < 3 {
		d.combine(s, of, depth)
		return
	}
	switch properties, _ := of["properties"].(node); {
	case of["type"] == "boolean":
		s["enum"] = pick(d.Rand, []any{true}, []any{false}, []any{true, false})
	case of["type"] == "string":
		switch d.IntN(4) {
		case 0:
			s["minLength"] = d.IntN(4)
		case 1:
			s["maxLength"] = 1 + d.IntN(6)
		case 2:
			s["pattern"] = pick(d.Rand, patterns...)
		default:
			s["enum"] = d.some("a", "b", "ab", "x1", "abcde")
		}
	case of["type"] == "array":
		switch key := pick(d.Rand, "minItems", "maxItems", "contains"); key {
		case "contains":
			s[key] = d.part(of["items"].(node), depth)
			if d.chance(3) {
				s["minContains"] = d.IntN(3)
			}
			if d.chance(3) {
				s["maxContains"] = 1 + d.IntN(3)
			}
		default:
			s[key] = 1 + d.IntN(4)
		}
	case properties != nil:
		d.restrictMembers(s, properties, depth)
	case of["type"] == "object":
		switch key := pick(d.Rand, "minProperties", "maxProperties", "propertyNames", "patternProperties"); key {
		case "propertyNames":
			s[key] = d.part(node{"type": "string"}, 3)
		case "patternProperties":
			s[key] = node{pick(d.Rand, patterns...): d.part(of["additionalProperties"].(node), depth)}
		default:
			s[key] = 1 + d.IntN(3)
		}
	default:
		switch key := pick(d.Rand, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum"); key {
		case "multipleOf":
			s[key] = 1 + d.IntN(4)
		case "enum":
			s[key] = d.some(1, 2, 3, 6)
		default:
			s[key] = d.IntN(9) - 2
		}
	}
}

func (d *drawing) some(from ...any) []any {
	d.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:1+d.IntN(len(from))]
}

func (d *drawing) restrictMembers(s, properties node, depth int) {
	names := sorted(properties)
	name, other := pick(d.Rand, names...), pick(d.Rand, names...)
	switch d.IntN(6) {
	case 0:
		s["required"] = []any{name}
	case 1:
		s["maxProperties"] = 1 + d.IntN(2)
	case 2:
		s["minProperties"] = 1 + d.IntN(2)
	case 3:
		s["dependentRequired"] = node{name: []any{other}}
	case 4:
		s["dependentSchemas"] = node{name: d.part(node{"type": "object", "properties": properties}, depth+1)}
	default:
		if _, whole := s["type"]; !whole {
			s["properties"] = node{name: d.part(properties[name].(node), depth)}
		}
	}
}

func (d *drawing) combine(s, of node, depth int) {
	switch key := pick(d.Rand, "allOf", "anyOf", "oneOf", "not", "if"); key {
	case "not":
		s[key] = d.part(of, depth)
	case "if":
		s[key], s["then"] = d.part(of, depth), d.part(of, depth)
		if d.chance(3) {
			s["else"] = d.part(of, depth)
		}
	default:
		parts := []any{}
		for range 1 + d.IntN(3) {
			parts = append(parts, d.part(of, depth))
		}
		s[key] = parts
	}
}

// places are the schemas in a schema that shapes have: members, elements, values.
func places(s node) (all []node) {
	all = []node{s}
	properties, _ := s["properties"].(node)
	for _, name := range sorted(properties) {
		all = append(all, places(properties[name].(node))...)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, is := s[key].(node); is {
			all = append(all, places(below)...)
		}
	}
	return all
}

func clone(s node) (c node) {
	text, _ := json.Marshal(s)
	_ = json.Unmarshal(text, &c)
	return c
}

// edit changes a schema in one place; safe says that all values that were allowed are allowed
// still.
func (d *drawing) edit(s node) (what string, safe bool) {
	all := places(s)
	at := all[d.IntN(len(all))]
	switch d.IntN(8) {
	case 0, 1, 2:
		d.restrict(at, at, 0)
		return "a keyword is added or changed", false
	case 3:
		return d.rewrite(at), true
	case 4, 5:
		return d.loosen(at), true
	}
	keys := slices.DeleteFunc(sorted(at), func(key string) bool {
		return slices.Contains([]string{"type", "items", "properties", "additionalProperties", "then", "else", "if"}, key)
	})
	if len(keys) == 0 {
		return "nothing", true
	}
	key := pick(d.Rand, keys...)
	delete(at, key)
	return key + " goes", key != "patternProperties" && key != "minContains" && key != "maxContains" || at["contains"] == nil && key != "patternProperties"
}

// rewrite says the same in other words.
func (d *drawing) rewrite(at node) string {
	rest := node{}
	for key, v := range at {
		if !slices.Contains([]string{"type", "items", "properties", "additionalProperties", "title", "if", "then", "else", "contains", "minContains",
			"maxContains", "patternProperties", "nullable", "default"}, key) && !strings.HasPrefix(key, "x-") {
			rest[key] = v
		}
	}
	keys := sorted(rest)
	switch d.IntN(5) {
	case 0:
		at["title"] = "Words"
		return "a title"
	case 1:
		if at["allOf"] == nil {
			at["allOf"] = []any{clone(rest)}
		}
		return "a schema that says the same"
	case 2:
		if len(keys) > 0 && at["allOf"] == nil {
			key := pick(d.Rand, keys...)
			at["allOf"] = []any{node{key: at[key]}}
			delete(at, key)
		}
		return "a keyword moves into a schema"
	case 3:
		for _, key := range []string{"enum", "allOf", "anyOf", "oneOf"} {
			if v, is := at[key].([]any); is {
				d.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
			}
		}
		return "another order"
	}
	if at["type"] == "integer" {
		for _, pair := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
			if v, is := at[pair[0]].(float64); is && at[pair[1]] == nil {
				at[pair[1]] = v + map[string]float64{"minimum": -1, "maximum": 1}[pair[0]]
				delete(at, pair[0])
			}
		}
	}
	return "exclusive bounds"
}

// loosen allows more.
func (d *drawing) loosen(at node) string {
	by := map[string]float64{"minimum": -1, "exclusiveMinimum": -1, "maximum": 1, "exclusiveMaximum": 1, "minLength": -1, "maxLength": 1, "minItems": -1,
		"maxItems": 1, "minProperties": -1, "maxProperties": 1}
	for _, key := range sorted(by) {
		if v, is := at[key].(float64); is && d.chance(2) {
			if at[key] = v + by[key]; at[key].(float64) < 0 && strings.HasPrefix(key, "min") && key != "minimum" {
				at[key] = 0.0
			}
			return key + " is wider"
		}
	}
	for _, key := range []string{"anyOf", "enum"} {
		v, is := at[key].([]any)
		switch {
		case !is:
		case key == "enum" && at["type"] == "string":
			at[key] = append(v, "zz")
			return "a further value"
		case key == "anyOf":
			at[key] = append(v, d.part(at, 2))
			return "a further alternative"
		}
	}
	return "nothing"
}

// collect takes the constants of a schema, for values.
func (d *drawing) collect(v any) {
	switch v := v.(type) {
	case float64:
		d.numbers = append(d.numbers, v-1, v, v+1, v+0.5)
	case string:
		d.texts = append(d.texts, v)
	case []any:
		for _, e := range v {
			d.collect(e)
		}
	case node:
		for _, key := range sorted(v) {
			d.collect(v[key])
		}
	}
}

// value draws one for the types of a schema.
func (d *drawing) value(s node) any {
	switch properties, _ := s["properties"].(node); {
	case s["nullable"] == true && d.chance(6):
		return nil
	case s[anyMembers] == true && properties == nil:
		return pick[any](d.Rand, node{}, node{"x": 1.0}, node{"apiVersion": "v1", "kind": "A", "metadata": node{}})
	case s["type"] == "boolean":
		return d.chance(2)
	case s["type"] == "integer":
		return float64(int(pick(d.Rand, d.numbers...).(float64)))
	case s["type"] == "number":
		return pick(d.Rand, d.numbers...)
	case s["type"] == "string":
		return pick(d.Rand, d.texts...)
	case s["type"] == "array":
		all := []any{}
		for range pick(d.Rand, 0, 1, 1, 2, 3, 4, 5, 6) {
			all = append(all, d.value(s["items"].(node)))
		}
		return all
	case properties != nil:
		all := node{}
		for _, name := range sorted(properties) {
			if !d.chance(3) {
				all[name] = d.value(properties[name].(node))
			}
		}
		return all
	default:
		all := node{}
		for range pick(d.Rand, 0, 1, 1, 2, 3, 4) {
			all[pick(d.Rand, d.texts...)] = d.value(s["additionalProperties"].(node))
		}
		return all
	}
}
