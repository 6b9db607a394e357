package compat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// logic is a JSON Schema that allows or refuses values, and describes no shape.
type logic struct {
	Types             any                 `json:"type,omitempty"` // a word or a list of them
	Enum              []any               `json:"enum,omitempty"`
	Const             any                 `json:"const,omitempty"`
	MultipleOf        *float64            `json:"multipleOf,omitempty"`
	Minimum           *float64            `json:"minimum,omitempty"`
	Maximum           *float64            `json:"maximum,omitempty"`
	ExclusiveMinimum  *float64            `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum  *float64            `json:"exclusiveMaximum,omitempty"`
	MinLength         *int                `json:"minLength,omitempty"`
	MaxLength         *int                `json:"maxLength,omitempty"`
	Pattern           string              `json:"pattern,omitempty"`
	Format            string              `json:"format,omitempty"`
	MinItems          *int                `json:"minItems,omitempty"`
	MaxItems          *int                `json:"maxItems,omitempty"`
	MinProperties     *int                `json:"minProperties,omitempty"`
	MaxProperties     *int                `json:"maxProperties,omitempty"`
	MinContains       *int                `json:"minContains,omitempty"`
	MaxContains       *int                `json:"maxContains,omitempty"`
	Required          []string            `json:"required,omitempty"`
	Properties        map[string]*logic   `json:"properties,omitempty"`
	Items             *logic              `json:"items,omitempty"`
	Additional        *logic              `json:"additionalProperties,omitempty"`
	AllOf             []*logic            `json:"allOf,omitempty"`
	AnyOf             []*logic            `json:"anyOf,omitempty"`
	OneOf             []*logic            `json:"oneOf,omitempty"`
	Not               *logic              `json:"not,omitempty"`
	If                *logic              `json:"if,omitempty"`
	Then              *logic              `json:"then,omitempty"`
	Else              *logic              `json:"else,omitempty"`
	Contains          *logic              `json:"contains,omitempty"`
	PropertyNames     *logic              `json:"propertyNames,omitempty"`
	PatternProperties map[string]*logic   `json:"patternProperties,omitempty"`
	DependentRequired map[string][]string `json:"dependentRequired,omitempty"`
	DependentSchemas  map[string]*logic   `json:"dependentSchemas,omitempty"`

	Title       annotation `json:"title,omitzero"`
	Description annotation `json:"description,omitzero"`
	Comment     annotation `json:"$comment,omitzero"`
	Examples    annotation `json:"examples,omitzero"`
}

// annotation is a keyword for people, which is read and forgotten.
type annotation struct{}

// UnmarshalJSON takes any JSON.
func (*annotation) UnmarshalJSON([]byte) error { return nil }

func (l *logic) String() string {
	text, _ := json.Marshal(l) // a tree of texts and numbers
	return string(text)
}

// readLogic reads a schema in JSON; nil if it has other keywords, which may mean anything.
func readLogic(text string) *logic {
	l := &logic{}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if d.Decode(l) != nil {
		return nil
	}
	return l
}

// combined are the schemas in a schema.
func combined(k *schema.Further) *logic {
	l := &logic{AllOf: logics(k.AllOf), AnyOf: logics(k.AnyOf), OneOf: logics(k.OneOf), Not: logicOf(k.Not), If: logicOf(k.If),
		Then: logicOf(k.Then), Else: logicOf(k.Else),
		Contains: logicOf(k.Contains), MinContains: k.MinContains, MaxContains: k.MaxContains, PropertyNames: logicOf(k.PropertyNames),
		PatternProperties: logicsByName(k.PatternProperties), DependentSchemas: logicsByName(k.DependentSchemas)}
	for _, n := range k.DependentRequired {
		if l.DependentRequired == nil {
			l.DependentRequired = map[string][]string{}
		}
		l.DependentRequired[n.Name] = n.Members
	}
	return l
}

// logicOf is a schema below another one.
func logicOf(s *schema.Schema) *logic {
	if s == nil {
		return nil
	}
	l := &logic{}
	if s.Further != nil {
		k := s.Further
		l = combined(k)
		l.MultipleOf, l.MinProperties, l.MaxProperties = k.MultipleOf, k.MinProperties, k.MaxProperties
		l.Const = valueOf(k.Const)
		for _, v := range k.Enum {
			l.Enum = append(l.Enum, valueOf(v))
		}
		if k.Types != nil {
			l.Types = k.Types
		}
	}
	for _, v := range s.Enum {
		l.Enum = append(l.Enum, v)
	}
	if s.Type != "" {
		l.Types = s.Type
	}
	l.Minimum, l.Maximum, l.MinLength, l.MaxLength = s.Minimum, s.Maximum, s.MinLength, s.MaxLength
	l.ExclusiveMinimum, l.ExclusiveMaximum = s.ExclusiveMinimum, s.ExclusiveMaximum
	l.Pattern, l.Format, l.MinItems, l.MaxItems, l.Required = s.Pattern, cmp.Or(s.FormatCheck, s.Format), s.MinItems, s.MaxItems, s.Required
	l.Properties, l.Items, l.Additional = logicsByName(s.Properties), logicOf(s.Items), logicOf(s.Additional)
	return l
}

func logics(list []*schema.Schema) (all []*logic) {
	for _, s := range list {
		all = append(all, logicOf(s))
	}
	return all
}

func logicsByName(list []schema.Property) map[string]*logic {
	if len(list) == 0 {
		return nil
	}
	all := map[string]*logic{}
	for _, p := range list {
		all[p.Name] = logicOf(p.Schema)
	}
	return all
}

// valueOf is the value that a text in JSON means; nil for no text.
func valueOf(text string) (v any) {
	_ = json.Unmarshal([]byte(text), &v)
	return v
}

// same compares scalars.
func same(a, b any) bool {
	switch a.(type) {
	case nil, bool, float64, string:
		switch b.(type) {
		case nil, bool, float64, string:
			return a == b
		}
	}
	return false
}

// holds reports whether a value keeps the schema.
func (l *logic) holds(v any) bool {
	if l == nil {
		return true
	}
	ok := func(s *logic) bool { return s.holds(v) }
	broken := func(s *logic) bool { return !s.holds(v) }
	matching := 0
	for _, s := range l.OneOf {
		if s.holds(v) {
			matching++
		}
	}
	switch {
	case slices.ContainsFunc(l.AllOf, broken), l.AnyOf != nil && !slices.ContainsFunc(l.AnyOf, ok), l.OneOf != nil && matching != 1,
		l.Not != nil && l.Not.holds(v), l.If != nil && l.If.holds(v) && !l.Then.holds(v), l.If != nil && !l.If.holds(v) && !l.Else.holds(v),
		l.Const != nil && !same(l.Const, v), l.Enum != nil && !slices.ContainsFunc(l.Enum, func(e any) bool { return same(e, v) }), !l.typed(v):
		return false
	}
	switch v := v.(type) {
	case float64:
		return l.amount(v)
	case string:
		n := utf8.RuneCountInString(v)
		matches := func() bool { re, err := regexp.Compile(l.Pattern); return err == nil && re.MatchString(v) }
		return sized(n, l.MinLength, l.MaxLength) && (l.Pattern == "" || matches()) && (l.Format == "" || len(document.CheckFormat(l.Format, v)) == 0)
	case word:
		return sized(v.length, l.MinLength, l.MaxLength) && (l.Pattern == "" || slices.Contains(v.is, l.Pattern)) &&
			(l.Format == "" || slices.Contains(v.is, ":"+l.Format))
	case series:
		return l.list(v)
	case entries:
		return l.entries(v)
	}
	return true
}

// typed reports whether a value has one of the types.
func (l *logic) typed(v any) bool {
	var words []string
	switch types := l.Types.(type) {
	case string:
		words = []string{types}
	case []string:
		words = types
	case []any:
		for _, word := range types {
			text, _ := word.(string)
			words = append(words, text)
		}
	}
	if words == nil {
		return true
	}
	has := "object"
	switch v := v.(type) {
	case nil:
		has = "null"
	case bool:
		has = "boolean"
	case float64:
		if has = "number"; v == math.Trunc(v) && slices.Contains(words, "integer") {
			return true
		}
	case string, word:
		has = "string"
	case series:
		has = "array"
	}
	return slices.Contains(words, has)
}

func (l *logic) amount(v float64) bool {
	return (l.Minimum == nil || v >= *l.Minimum) && (l.Maximum == nil || v <= *l.Maximum) && (l.ExclusiveMinimum == nil || v > *l.ExclusiveMinimum) &&
		(l.ExclusiveMaximum == nil || v < *l.ExclusiveMaximum) && (l.MultipleOf == nil || math.Mod(v, *l.MultipleOf) == 0)
}

func sized(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

func (l *logic) list(v series) bool {
	found, length := 0, 0
	for _, e := range v {
		if length += e.n; !l.Items.holds(e.value) {
			return false
		}
		if l.Contains.holds(e.value) {
			found += e.n
		}
	}
	least := l.MinContains
	if least == nil {
		one := 1
		least = &one
	}
	return sized(length, l.MinItems, l.MaxItems) && (l.Contains == nil || sized(found, least, l.MaxContains))
}

func (l *logic) entries(v entries) bool {
	count, at := 0, map[string]bool{}
	for _, e := range v {
		name, _ := e.name.(string)
		at[name] = true
		if count += e.n; !l.entry(e) {
			return false
		}
	}
	lacks := func(name string) bool { return !at[name] }
	if slices.ContainsFunc(l.Required, lacks) || !sized(count, l.MinProperties, l.MaxProperties) || !sized(count, l.MinItems, l.MaxItems) {
		return false
	}
	for name, members := range l.DependentRequired {
		if !lacks(name) && slices.ContainsFunc(members, lacks) {
			return false
		}
	}
	for name, s := range l.DependentSchemas {
		if !lacks(name) && !s.holds(v) {
			return false
		}
	}
	return true
}

// entry reports whether an object may have a member, whatever the others are.
func (l *logic) entry(e entry) bool {
	var below *logic
	matched := false
	if name, is := e.name.(string); is {
		below, matched = l.Properties[name]
	}
	if !below.holds(e.value) || !l.PropertyNames.holds(e.name) {
		return false
	}
	for pattern, s := range l.PatternProperties {
		if (&logic{Pattern: pattern}).holds(e.name) {
			if matched = true; !s.holds(e.value) {
				return false
			}
		}
	}
	return matched || l.Additional.holds(e.value)
}

// strange reports whether a schema compares values with lists or objects, which no sort
// stands for.
func (l *logic) strange() bool {
	return slices.ContainsFunc(append(slices.Clone(l.Enum), l.Const), func(v any) bool {
		switch v.(type) {
		case []any, map[string]any:
			return true
		}
		return false
	})
}
