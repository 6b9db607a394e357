package load

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// additional reads the values of a map.
func (r *reader) additional(s *schema.Schema) func(node) {
	return func(n node) {
		if n.ShortTag() != "!!bool" {
			s.Additional = r.schema(n)
		}
	}
}

// uniqueItems reads whether elements of a list differ; finish checks that it is a set.
func (r *reader) uniqueItems(s *schema.Schema) func(node) {
	return func(n node) {
		var unique bool
		if r.boolean(&unique)(n); unique {
			s.Unique = []string{"."}
		}
	}
}

// takeMapBounds makes the number of properties of a map its number of items.
func (r *reader) takeMapBounds(s *schema.Schema) {
	f := s.Further
	if f == nil || s.Additional == nil {
		return
	}
	for _, b := range []struct {
		key, other string
		from, to   **int
	}{{"minProperties", "minItems", &f.MinProperties, &s.MinItems}, {"maxProperties", "maxItems", &f.MaxProperties, &s.MaxItems}} {
		if *b.from == nil {
			continue
		}
		if *b.to != nil {
			r.fail(r.at(s, b.key), "keep one of them", "%s and %s of a map are the same", b.key, b.other)
		}
		*b.to, *b.from = *b.from, nil
	}
}

// checkBounds refuses bounds that exclude each other, or every value.
func (r *reader) checkBounds(s *schema.Schema) {
	crossed := func(low, high string, is bool) {
		if is {
			r.fail(r.at(s, low), "swap them", "%s is above %s", low, high)
		}
	}
	ints := func(low, high string, a, b *int) { crossed(low, high, a != nil && b != nil && *a > *b) }
	floats := func(low, high string, a, b *float64, strict bool) {
		crossed(low, high, a != nil && b != nil && (*a > *b || strict && *a == *b))
	}
	floats("minimum", "maximum", s.Minimum, s.Maximum, false)
	floats("minimum", "exclusiveMaximum", s.Minimum, s.ExclusiveMaximum, true)
	floats("exclusiveMinimum", "maximum", s.ExclusiveMinimum, s.Maximum, true)
	floats("exclusiveMinimum", "exclusiveMaximum", s.ExclusiveMinimum, s.ExclusiveMaximum, true)
	ints("minLength", "maxLength", s.MinLength, s.MaxLength)
	ints("minItems", "maxItems", s.MinItems, s.MaxItems)
	f := s.Further
	if f == nil {
		return
	}
	ints("minProperties", "maxProperties", f.MinProperties, f.MaxProperties)
	ints("minContains", "maxContains", f.MinContains, f.MaxContains)
	for _, key := range []string{"minContains", "maxContains"} {
		if _, has := r.places[s][key]; has && f.Contains == nil {
			r.fail(r.at(s, key), "add contains", "%s without contains counts nothing", key)
		}
	}
	for _, key := range []string{"then", "else"} {
		if _, has := r.places[s][key]; has && f.If == nil {
			r.fail(r.at(s, key), "add if, or write allOf", "%s without if has no effect", key)
		}
	}
	if f.If != nil && f.Then == nil && f.Else == nil {
		r.fail(r.at(s, "if"), "add then or else", "if without then and else has no effect")
	}
}

// checkShape refuses keywords that values of the schema's type cannot break, or cannot
// keep.
func (r *reader) checkShape(s *schema.Schema) {
	if s.Ref != "" {
		return
	}
	if kind := s.Type; !s.PreserveAny && kind != "" && s.Format != "quantity" && s.Format != "int-or-string" {
		if s.Additional != nil { // bounds of a map count its items
			kind = "map"
		}
		r.checkShapeKeywords(s, kind)
	}
	for _, b := range []struct {
		key   string
		bound *int
	}{{"maxLength", s.MaxLength}, {"maxItems", s.MaxItems}} {
		if b.bound != nil && *b.bound == 0 {
			r.fail(r.at(s, b.key), "allow some, or drop the field", "%s: 0 allows nothing but an empty value", b.key)
		}
	}
	r.checkWidth(s)
	r.checkNull(s)
	if s.Further != nil {
		r.checkFurther(s, s.Further)
	}
	if _, has := r.places[s]["uniqueItems"]; has && slices.Equal(s.Unique, []string{"."}) && s.ListType != "set" {
		r.fail(r.at(s, "uniqueItems"), "write x-cluster-list-type: set for scalars, or x-cluster-unique",
			"uniqueItems on an atomic list: it has one owner, and a second one would repeat elements")
	}
}

func (r *reader) checkShapeKeywords(s *schema.Schema, kind string) {
	if kind != "map" {
		r.checkKeywords(s, kind)
		return
	}
	for _, key := range []string{"minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "contains"} {
		if pos, has := r.places[s][key]; has {
			r.fail(pos, "put it below additionalProperties", "%s on a map, which it cannot restrict", key)
		}
	}
}

// checkWidth refuses bounds that no value of an integer's format can reach.
func (r *reader) checkWidth(s *schema.Schema) {
	if s.Type != "integer" {
		return
	}
	least, most := float64(math.MinInt64), float64(math.MaxInt64)
	if s.Format == "int32" {
		least, most = math.MinInt32, math.MaxInt32
	}
	for _, b := range []struct {
		key   string
		bound *float64
	}{{"minimum", s.Minimum}, {"maximum", s.Maximum}, {"exclusiveMinimum", s.ExclusiveMinimum}, {"exclusiveMaximum", s.ExclusiveMaximum}} {
		switch {
		case b.bound == nil:
		case *b.bound < least || *b.bound > most:
			r.fail(r.at(s, b.key), "write format: int64, or a bound within the format", "%s is beyond the values of %s", b.key, cmp.Or(s.Format, "int64"))
		case *b.bound != math.Trunc(*b.bound):
			r.fail(r.at(s, b.key), "write a whole number", "%s of an integer is not a whole number", b.key)
		}
	}
}

// checkFurther checks the keywords that restrict the values of a field.
func (r *reader) checkFurther(s *schema.Schema, f *schema.Further) {
	if f.Enum != nil && s.Type == "string" {
		r.fail(r.at(s, "enum"), "write them in quotes", "the enum has values that are not texts")
	}
	for _, p := range f.PatternProperties {
		switch {
		case s.PreserveAny:
		case s.Additional == nil:
			r.fail(p.Pos, "add additionalProperties with the type of the values", "patternProperties of something that is not a map")
		case p.Schema.Type != s.Additional.Type || s.Additional.Type == "":
			r.fail(p.Pos, "write type: "+cmp.Or(s.Additional.Type, "the same")+" here, and a scalar type in additionalProperties", "values of a map have one type")
		case rulesBesideType(s.Additional):
			r.fail(p.Pos, "move the rules of additionalProperties into a pattern of their own",
				"the rules of additionalProperties would hold for names that match the pattern too")
		}
	}
	if f.PropertyNames != nil && s.Additional == nil && !s.PreserveAny {
		r.fail(r.at(s, "propertyNames"), "put it next to additionalProperties", "propertyNames of something that is not a map")
	}
}

// checkNull checks that an enum names null where it is a value, and takes it away: it
// stands for no value.
func (r *reader) checkNull(s *schema.Schema) {
	named := s.Further != nil && slices.Contains(s.Further.Enum, "null")
	switch {
	case named && !s.Nullable:
		r.fail(r.at(s, "enum"), `write type: [string, "null"], or drop null`, "the enum has a null that the type refuses")
	case !named && s.Nullable && (s.Enum != nil || s.Further != nil && s.Further.Enum != nil):
		r.fail(r.at(s, "enum"), "add null to it", "the enum refuses the null that the type allows")
	case named && !slices.ContainsFunc(s.Further.Enum, func(text string) bool { return text[0] != '"' && text != "null" }):
		for _, text := range s.Further.Enum {
			if text != "null" {
				s.Enum = append(s.Enum, textIn(text))
			}
		}
		s.Further.Enum = nil
	}
}

// textIn is the text in a JSON string.
func textIn(quoted string) (text string) {
	_ = json.Unmarshal([]byte(quoted), &text) // made by writeScalar
	return text
}

// rulesBesideType reports whether a schema says more of values than their type.
func rulesBesideType(s *schema.Schema) bool {
	return s.Enum != nil || s.Pattern != "" || s.Format != "" || s.FormatCheck != "" || s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil ||
		s.ExclusiveMaximum != nil || s.MinLength != nil || s.MaxLength != nil || s.MinItems != nil || s.MaxItems != nil || s.MaxBytes != nil || s.Further != nil
}
