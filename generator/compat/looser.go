package compat

import (
	"encoding/json"
	"slices"
	"strings"
)

// looser reports whether a schema demands only what another one demands, as far as their
// keywords show it: some went, others are in another order.
func looser(now, old *logic) bool {
	given := old.demands()
	return !slices.ContainsFunc(now.demands(), func(d demand) bool {
		return !slices.ContainsFunc(given, func(g demand) bool {
			return g.text == d.text || d.choices != nil && g.choices != nil && within(g.choices, d.choices)
		})
	})
}

// demand is a part of a schema that holds or not, whatever the others are.
type demand struct {
	text    string
	choices []string // of anyOf; nil for another keyword
}

// apart are the keywords that hold or not by themselves, each with the one that it is understood together with.
var apart = map[string]string{"anyOf": "anyOf", "oneOf": "oneOf", "not": "not", "if": "if", "then": "if", "else": "if",
	"contains": "contains", "minContains": "contains", "maxContains": "contains",
	"properties": "properties", "patternProperties": "properties", "additionalProperties": "properties",
	"minProperties": "minProperties", "maxProperties": "maxProperties", "minItems": "minItems", "maxItems": "maxItems",
	"minLength": "minLength", "maxLength": "maxLength", "pattern": "pattern", "propertyNames": "propertyNames",
	"dependentRequired": "dependentRequired", "dependentSchemas": "dependentSchemas", "enum": "enum"}

// demands are the parts of a schema that have to hold together.
func (l *logic) demands() (all []demand) {
	for _, s := range l.AllOf {
		all = append(all, s.demands()...)
	}
	parts := map[string]map[string]any{} // those of "" are all other keywords
	for keyword, value := range l.tree() {
		if keyword == "allOf" {
			continue
		}
		part := apart[keyword]
		if parts[part] == nil {
			parts[part] = map[string]any{}
		}
		parts[part][keyword] = value
	}
	for _, part := range sorted(parts) {
		d := demand{text: sortedJSON(parts[part], "")}
		if choices, some := parts[part]["anyOf"].([]any); some {
			for _, s := range choices {
				d.choices = append(d.choices, sortedJSON(s, ""))
			}
		}
		all = append(all, d)
	}
	return all
}

// tree is the schema as JSON.
func (l *logic) tree() (keywords map[string]any) {
	_ = json.Unmarshal([]byte(l.String()), &keywords) // which it is
	return keywords
}

func sortedJSON(v any, key string) string {
	var parts []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			parts = append(parts, sortedJSON(e, ""))
		}
		if slices.Contains([]string{"allOf", "anyOf", "oneOf", "enum", "required", "type"}, key) {
			slices.Sort(parts)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		for _, name := range sorted(v) {
			parts = append(parts, name+":"+sortedJSON(v[name], name))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	text, _ := json.Marshal(v)
	return string(text)
}
