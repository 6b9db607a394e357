package definitions

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// checkedFormats are the formats that are checked, without their dashes; others have no
// effect.
var checkedFormats = []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
	"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime"}

// rules are the requirements of a schema on values, besides the types of their parts.
// Schemas with the same few requirements share them.
func (c *compiler) rules(s document.Value, whole bool) *schema.Values {
	v := typesOf(s)
	special := v.Embedded
	for name, member := range s.Members() {
		special = takeRule(v, name, member) || special
	}
	if fallback := s.Get("default"); isSet(fallback) {
		v.Default, special = string(canonical(fallback)), true
	}
	if whole || v.Embedded {
		v.Properties = partsOf(s, isHead)
		special = special || v.Properties != nil
	}
	if special {
		return v
	}
	key := plainType{c.kindOf(s), v.Types, v.Nullable}
	if c.values[key] == nil {
		c.values[key] = v
	}
	return c.values[key]
}

// typesOf is the requirement of a schema on the type of a value.
func typesOf(s document.Value) *schema.Values {
	v := &schema.Values{Types: schema.TypeNamed(s.Get("type").Text()), Nullable: s.Get("nullable").Bool(), Embedded: s.Get(extEmbeddedResource).Bool()}
	if s.Get(extIntOrString).Bool() {
		v.Types = schema.TypeInteger | schema.TypeString
	}
	return v
}

// further is a schema that restricts values once more.
func further(s document.Value) *schema.Values {
	v := typesOf(s)
	for name, member := range s.Members() {
		takeRule(v, name, member)
	}
	if items := s.Get("items"); items.Kind() == document.Object {
		v.Items = further(items)
	}
	v.Properties = partsOf(s, func(string) bool { return true })
	return v
}

// partsOf are the schemas that restrict members once more.
func partsOf(s document.Value, of func(name string) bool) (parts []schema.ValuesOf) {
	for name, property := range s.Get("properties").Members() {
		if of(name) {
			parts = append(parts, schema.ValuesOf{Name: name, Values: further(property)})
		}
	}
	slices.SortFunc(parts, func(a, b schema.ValuesOf) int { return strings.Compare(a.Name, b.Name) })
	return parts
}

// furtherAll are the schemas of a list.
func furtherAll(list document.Value) (all []*schema.Values) {
	for _, s := range list.Elements() {
		all = append(all, further(s))
	}
	return all
}

// takeRule adds the requirement of a schema's member, and reports whether it has one.
func takeRule(v *schema.Values, name string, member document.Value) bool {
	if !isSet(member) {
		return false
	}
	switch name {
	case "format":
		v.Format = member.Text()
		if !slices.Contains(checkedFormats, strings.ReplaceAll(v.Format, "-", "")) {
			v.Format = ""
		}
	case "pattern":
		v.Pattern = member.Text()
	case "enum":
		for _, one := range member.Elements() {
			v.Enum = append(v.Enum, string(canonical(one)))
		}
	case "required":
		for _, one := range member.Elements() {
			v.Required = append(v.Required, one.Text())
		}
	case "exclusiveMinimum":
		v.ExclusiveMinimum = member.Bool()
	case "exclusiveMaximum":
		v.ExclusiveMaximum = member.Bool()
	case "allOf":
		v.AllOf = furtherAll(member)
	case "anyOf":
		v.AnyOf = furtherAll(member)
	case "oneOf":
		v.OneOf = furtherAll(member)
	case "not":
		v.Not = further(member)
	default:
		return takeBound(v, name, member)
	}
	return true
}

func takeBound(v *schema.Values, name string, member document.Value) bool {
	for _, bound := range [...]struct {
		name string
		to   **float64
	}{{"minimum", &v.Minimum}, {"maximum", &v.Maximum}, {"multipleOf", &v.MultipleOf}} {
		if bound.name == name {
			f, _ := member.Float()
			*bound.to = &f
			return true
		}
	}
	for _, bound := range [...]struct {
		name string
		to   **int64
	}{{"minLength", &v.MinLength}, {"maxLength", &v.MaxLength}, {"minItems", &v.MinItems}, {"maxItems", &v.MaxItems},
		{"minProperties", &v.MinProperties}, {"maxProperties", &v.MaxProperties}} {
		if bound.name == name {
			n, _ := member.Int()
			*bound.to = &n
			return true
		}
	}
	return false
}
