package schema

import "strings"

// JSONTypes is a set of types of JSON values.
type JSONTypes uint8

// The types that a schema of a custom resource may name, in the order of messages.
const (
	TypeInteger JSONTypes = 1 << iota
	TypeNumber
	TypeString
	TypeBoolean
	TypeArray
	TypeObject
	TypeNull // of documents only: a schema of a custom resource says nullable instead
)

var jsonTypeNames = [...]string{"integer", "number", "string", "boolean", "array", "object"}

// TypeNamed is the type with a name; 0 for a name that no type has.
func TypeNamed(name string) JSONTypes {
	for i, n := range jsonTypeNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// String names the types as in messages: "integer,string".
func (t JSONTypes) String() string {
	text := ""
	for i, name := range jsonTypeNames {
		if t&(1<<i) == 0 {
			continue
		}
		if text != "" {
			text += ","
		}
		text += name
	}
	if t&TypeNull != 0 {
		return strings.TrimPrefix(text+",null", ",")
	}
	return text
}

// Values are the requirements of a schema on a value: of all of a custom resource, and those
// of a document that Rules cannot express (Rules.Further). A Type that has them is read
// leniently: a value of another type is kept as it was sent, and validation refuses it.
//
// Values below AllOf, AnyOf, OneOf, Not and Properties restrict the same value once more;
// reading it does not depend on them.
type Values struct {
	Types            JSONTypes // 0: any
	Nullable         bool
	Embedded         bool // a whole object, with its own apiVersion and kind
	ExclusiveMinimum bool
	ExclusiveMaximum bool
	Format           string
	Pattern          string
	Default          string   // replaces null in a list or map; "" for nothing
	Enum             []string // canonical JSON
	Minimum, Maximum *float64
	MultipleOf       *float64
	MinLength        *int64 // strings, in characters
	MaxLength        *int64
	MinItems         *int64
	MaxItems         *int64
	MinProperties    *int64
	MaxProperties    *int64
	Required         []string
	AllOf            []*Values
	AnyOf            []*Values
	OneOf            []*Values
	Not              *Values
	Items            *Values // of elements, besides their type
	Properties       []ValuesOf
	Standard         *Standard // of documents; nil for custom resources
}

// Standard are the requirements that only documents can have: keywords of JSON Schema that
// schemas of custom resources lack.
type Standard struct {
	Const             string // canonical JSON of a scalar; "" for none
	If, Then, Else    *Values
	Contains          *Values
	MinContains       *int64 // nil: one
	MaxContains       *int64
	PropertyNames     *Values
	PatternProperties []ValuesOf // by pattern
	Additional        *Values    // of members that are in neither Properties nor PatternProperties
	DependentRequired []Needs
	DependentSchemas  []ValuesOf
}

// empty reports whether nothing is required.
func (s *Standard) empty() bool {
	return s.Const == "" && s.If == nil && s.Then == nil && s.Else == nil && s.Contains == nil && s.MinContains == nil && s.MaxContains == nil &&
		s.PropertyNames == nil && s.PatternProperties == nil && s.Additional == nil && s.DependentRequired == nil && s.DependentSchemas == nil
}

// ValuesOf are the requirements on a member, besides its type.
type ValuesOf struct {
	Name string
	*Values
}
