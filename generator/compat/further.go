package compat

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// further are the keywords of JSON Schema that restrict values beyond their shape.
type further struct {
	values   []string // canonical JSON of the allowed scalars; nil for any
	multiple float64  // 0 for any
	least    int      // members of an object
	most     int      // math.MaxInt for no limit
	all      []string // schemas that all hold, as canonical texts: allOf, not, if, contains, …
	any      []string // anyOf
	one      []string // oneOf
	needs    []string // dependentRequired: "name: member"
	nullable bool
}

func furtherOf(s *schema.Schema) further {
	f := further{most: math.MaxInt, nullable: s.Nullable}
	k := s.Further
	if k == nil {
		return f
	}
	if f.values = slices.Sorted(slices.Values(k.Enum)); k.Const != "" {
		f.values = []string{k.Const}
	}
	if k.MultipleOf != nil {
		f.multiple = *k.MultipleOf
	}
	f.least, f.most = countOf(k.MinProperties, 0), countOf(k.MaxProperties, math.MaxInt)
	f.any, f.one = spellings("", k.AnyOf), spellings("", k.OneOf)
	f.all = spellings("allOf ", k.AllOf)
	add := func(keyword string, parts ...any) {
		if text := spelling(parts); strings.Trim(text, "[]nul,{}") != "" {
			f.all = append(f.all, keyword+" "+text)
		}
	}
	add("not", k.Not)
	if k.If != nil {
		add("if", k.If, k.Then, k.Else)
	}
	if k.Contains != nil {
		add("contains", k.Contains, k.MinContains, k.MaxContains)
	}
	add("propertyNames", k.PropertyNames)
	for _, p := range k.PatternProperties {
		add("patternProperties "+p.Name, p.Schema)
	}
	for _, p := range k.DependentSchemas {
		add("dependentSchemas "+p.Name, p.Schema)
	}
	for _, n := range k.DependentRequired {
		for _, member := range n.Members {
			f.needs = append(f.needs, n.Name+" needs "+member)
		}
	}
	return f
}

func spellings(keyword string, all []*schema.Schema) (texts []string) {
	for _, s := range all {
		texts = append(texts, keyword+spelling(s))
	}
	return texts
}

// spelling is the text of schemas in which orders that mean nothing, places and words for
// people are the same.
func spelling(v any) string {
	text, _ := json.Marshal(v) // schemas are trees of texts and numbers
	var tree any
	_ = json.Unmarshal(text, &tree)
	text, _ = json.Marshal(plain(tree, ""))
	return string(text)
}

// spoken are the members of schemas that only people read.
var spoken = []string{"Pos", "Description", "Title", "Examples", "Anchor", "ID", "Why", "Cause", "CauseName", "CauseOrder", "CauseList"}

// plain removes what means nothing from the JSON of a schema; nil for nothing.
func plain(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if v[name] = plain(member, name); v[name] == nil || slices.Contains(spoken, name) {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i], "")
		}
		if slices.Contains([]string{"Enum", "Required", "Types", "Members", "Properties", "AllOf", "AnyOf", "OneOf"}, key) {
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(jsonText(a), jsonText(b)) })
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case float64:
		if v == 0 && (key == "Binary" || key == "BinaryOuter" || key == "HookRevision" || key == "Line") {
			return nil
		}
	}
	return v
}

func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// further compares the keywords of JSON Schema that only few schemas have.
func (c *comparison) further(u use, old, now *shape, path string) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	was, is := old.more, now.more
	if was.nullable && !is.nullable {
		find("rule-added", "may no longer be null")
	}
	switch {
	case is.values == nil && was.values != nil:
		find("enum-value-added", "has any value now")
	case is.values == nil:
	case was.values == nil:
		find("enum-added", "takes only %s now", strings.Join(is.values, ", "))
	default:
		for _, v := range was.values {
			if !slices.Contains(is.values, v) {
				find("enum-value-removed", "no longer takes %s", v)
			}
		}
		if !within(is.values, was.values) {
			find("enum-value-added", "has new values")
		}
	}
	if is.multiple != 0 && math.Mod(was.multiple, is.multiple) != 0 || is.multiple != 0 && was.multiple == 0 {
		find("bounds-tightened", "has to be a multiple of %v", is.multiple)
	}
	if is.least > was.least {
		find("bounds-tightened", "minProperties allows less: %d", is.least)
	}
	if is.most < was.most {
		find("bounds-tightened", "maxProperties allows less: %d", is.most)
	}
	for _, text := range is.all {
		if !slices.Contains(was.all, text) {
			keyword, _, _ := strings.Cut(text, " ")
			find("rule-added", "has to keep another schema: %s", keyword)
		}
	}
	if is.any != nil && (was.any == nil || !within(was.any, is.any)) {
		find("rule-added", "has to keep another schema: anyOf")
	}
	if is.one != nil && unlike(was.one, is.one) {
		find("rule-added", "has to keep another schema: oneOf")
	}
	for _, need := range is.needs {
		if !slices.Contains(was.needs, need) {
			find("rule-added", "has to keep a rule: %s", need)
		}
	}
}
