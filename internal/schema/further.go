package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Further are the keywords of JSON Schema that restrict values beyond their shape and the
// usual rules. The schemas in it describe no shape and no field: they only allow or
// refuse a value that the schema around them has described.
//
// The keywords judge a value in its stored form: with defaults, without the zero values
// that count as none, and a null that stands for nothing counts as absent.
type Further struct {
	Types             []string // of a schema below another: the types, "null" among them; nil for any
	Const             string   // canonical JSON of a scalar; "" for none
	Enum              []string // the same, of an enum that is not of texts alone
	MultipleOf        *float64
	MinProperties     *int // of objects with properties; of maps they are MinItems and MaxItems
	MaxProperties     *int
	AllOf             []*Schema
	AnyOf             []*Schema
	OneOf             []*Schema
	Not               *Schema
	If, Then, Else    *Schema
	Contains          *Schema
	MinContains       *int
	MaxContains       *int
	PropertyNames     *Schema
	PatternProperties []Property // by pattern
	DependentRequired []Needs    // by name
	DependentSchemas  []Property // by name
}

// Needs are the members that an object must have if it has the one called Name.
type Needs struct {
	Name    string
	Members []string
}

// Schemas visits the schemas that combine or restrict the value of a schema, with the
// keyword that holds each.
func (f *Further) Schemas(visit func(keyword string, s *Schema)) {
	for _, list := range []struct {
		keyword string
		all     []*Schema
	}{
		{"allOf", f.AllOf}, {"anyOf", f.AnyOf}, {"oneOf", f.OneOf}, {"not", []*Schema{f.Not}}, {"if", []*Schema{f.If}}, {"then", []*Schema{f.Then}},
		{"else", []*Schema{f.Else}}, {"contains", []*Schema{f.Contains}}, {"propertyNames", []*Schema{f.PropertyNames}},
		{"patternProperties", schemasOf(f.PatternProperties)}, {"dependentSchemas", schemasOf(f.DependentSchemas)},
	} {
		for _, s := range list.all {
			if s != nil {
				visit(list.keyword, s)
			}
		}
	}
}

func schemasOf(properties []Property) (all []*Schema) {
	for _, p := range properties {
		all = append(all, p.Schema)
	}
	return all
}

// furtherValues compiles the keywords of a schema that Rules do not have; nil for none.
func furtherValues(s *Schema) *Values {
	if s.Further == nil {
		return nil
	}
	v := &Values{}
	if s.Further.compile(v); reflect.DeepEqual(v, &Values{}) {
		return nil
	}
	return v
}

// compile adds the requirements to those of a value.
func (f *Further) compile(v *Values) {
	for _, name := range f.Types {
		if name == "null" {
			v.Types, v.Nullable = v.Types|TypeNull, true
			continue
		}
		v.Types |= TypeNamed(name)
	}
	v.Enum, v.MultipleOf = slices.Clone(f.Enum), f.MultipleOf
	v.MinProperties, v.MaxProperties = long(f.MinProperties), long(f.MaxProperties)
	v.AllOf, v.AnyOf, v.OneOf, v.Not = allValues(f.AllOf), allValues(f.AnyOf), allValues(f.OneOf), valuesOf(f.Not)
	more := &Standard{Const: f.Const, If: valuesOf(f.If), Then: valuesOf(f.Then), Else: valuesOf(f.Else), Contains: valuesOf(f.Contains),
		MinContains: long(f.MinContains), MaxContains: long(f.MaxContains), PropertyNames: valuesOf(f.PropertyNames),
		PatternProperties: namedValues(f.PatternProperties), DependentRequired: f.DependentRequired, DependentSchemas: namedValues(f.DependentSchemas)}
	if !more.empty() {
		v.Standard = more
	}
}

// valuesOf compiles a schema that restricts a value once more; nil for none.
func valuesOf(s *Schema) *Values {
	if s == nil {
		return nil
	}
	v := &Values{}
	if s.Further != nil {
		s.Further.compile(v)
	}
	if s.Type != "" {
		v.Types = TypeNamed(s.Type)
		if s.Type == "null" {
			v.Types, v.Nullable = TypeNull, true
		}
	}
	for _, text := range s.Enum {
		v.Enum = append(v.Enum, quote(text))
	}
	v.Format, v.Pattern = cmp.Or(s.FormatCheck, s.Format), s.Pattern
	v.Minimum, v.ExclusiveMinimum = tighter(s.Minimum, s.ExclusiveMinimum, 1)
	v.Maximum, v.ExclusiveMaximum = tighter(s.Maximum, s.ExclusiveMaximum, -1)
	v.MinLength, v.MaxLength, v.MinItems, v.MaxItems = long(s.MinLength), long(s.MaxLength), long(s.MinItems), long(s.MaxItems)
	v.Required, v.Items, v.Properties = s.Required, valuesOf(s.Items), namedValues(s.Properties)
	if s.Additional != nil {
		if v.Standard == nil {
			v.Standard = &Standard{}
		}
		v.Standard.Additional = valuesOf(s.Additional)
	}
	return v
}

// tighter is the bound that a value has to keep besides the other; sign is 1 for lower
// bounds and -1 for upper ones.
func tighter(inclusive, exclusive *float64, sign float64) (bound *float64, open bool) {
	if exclusive != nil && (inclusive == nil || *exclusive*sign >= *inclusive*sign) {
		return exclusive, true
	}
	return inclusive, false
}

func allValues(list []*Schema) (all []*Values) {
	for _, s := range list {
		all = append(all, valuesOf(s))
	}
	return all
}

func namedValues(list []Property) (all []ValuesOf) {
	for _, p := range list {
		all = append(all, ValuesOf{Name: p.Name, Values: valuesOf(p.Schema)})
	}
	slices.SortStableFunc(all, func(a, b ValuesOf) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func long(n *int) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

// quote is a text as JSON.
func quote(text string) string {
	b, _ := json.Marshal(text) // never fails for a string
	return string(b)
}
