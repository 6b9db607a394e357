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

// demands are the parts of a schema that have to hold together.
func (l *logic) demands() (all []demand) {
	rest := *l
	for _, s := range l.AllOf {
		all = append(all, s.demands()...)
	}
	add := func(part *logic) {
		if text := part.sorted(); text != "{}" {
			all = append(all, demand{text: text})
		}
	}
	if l.AnyOf != nil {
		var choices []string
		for _, s := range l.AnyOf {
			choices = append(choices, s.sorted())
		}
		all = append(all, demand{(&logic{AnyOf: l.AnyOf}).sorted(), choices})
	}
	add(&logic{OneOf: l.OneOf})
	add(&logic{Not: l.Not})
	add(&logic{If: l.If, Then: l.Then, Else: l.Else})
	add(&logic{Contains: l.Contains, MinContains: l.MinContains, MaxContains: l.MaxContains})
	add(&logic{Properties: l.Properties, PatternProperties: l.PatternProperties, Additional: l.Additional})
	add(&logic{MinProperties: l.MinProperties})
	add(&logic{MaxProperties: l.MaxProperties})
	add(&logic{MinItems: l.MinItems})
	add(&logic{MaxItems: l.MaxItems})
	add(&logic{MinLength: l.MinLength})
	add(&logic{MaxLength: l.MaxLength})
	add(&logic{Pattern: l.Pattern})
	add(&logic{PropertyNames: l.PropertyNames})
	add(&logic{DependentRequired: l.DependentRequired})
	add(&logic{DependentSchemas: l.DependentSchemas})
	add(&logic{Enum: l.Enum})
	rest.AllOf, rest.AnyOf, rest.OneOf, rest.Not, rest.If, rest.Then, rest.Else = nil, nil, nil, nil, nil, nil, nil
	rest.Contains, rest.MinContains, rest.MaxContains, rest.Properties, rest.PatternProperties, rest.Additional = nil, nil, nil, nil, nil, nil
	rest.MinProperties, rest.MaxProperties, rest.MinItems, rest.MaxItems, rest.MinLength, rest.MaxLength = nil, nil, nil, nil, nil, nil
	rest.Pattern, rest.PropertyNames, rest.DependentRequired, rest.DependentSchemas, rest.Enum = "", nil, nil, nil, nil
	add(&rest)
	return all
}

// sorted is the text of a schema, with the parts of lists in one order.
func (l *logic) sorted() string {
	var v any
	_ = json.Unmarshal([]byte(l.String()), &v)
	return sortedJSON(v, "")
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
