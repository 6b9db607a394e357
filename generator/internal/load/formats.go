package load

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ownFormats are the formats of values that have a kind of their own.
var ownFormats = []string{"int32", "int64", "double", "byte", "date-time", "micro-time", "duration", "quantity", "int-or-string"}

// formats are the formats that each type may have.
var formats = map[string][]string{
	"integer": {"int32", "int64"},
	"number":  {"double"},
	"string":  append([]string{"byte", "date-time", "micro-time", "duration", "int-or-string", "quantity"}, document.TextFormats()...),
	"":        {"int-or-string", "quantity"},
	"boolean": {},
	"array":   {},
	"object":  {},
}

func allFormats() []string {
	return append(slices.Clone(ownFormats), document.TextFormats()...)
}

// textFormat reports whether a format is a check of texts, rather than a kind of value.
func textFormat(format string) bool {
	return !slices.Contains(ownFormats, format) && slices.Contains(document.TextFormats(), format)
}

// fits reports whether the format belongs to the type. A word that is unknown
// has been reported already.
func fits(s *schema.Schema) bool {
	known, ok := formats[s.Type]
	return !ok || !slices.Contains(allFormats(), s.Format) || slices.Contains(known, s.Format)
}

// keywordTypes are the types whose values a keyword can restrict; others keep it whatever
// they are.
var keywordTypes = func() map[string][]string {
	m := map[string][]string{}
	for words, types := range map[string][]string{
		"minLength maxLength pattern":                                  {"string"},
		"minimum maximum exclusiveMinimum exclusiveMaximum multipleOf": {"integer", "number"},
		"minItems maxItems contains minContains maxContains":           {"array"},
		"minProperties maxProperties patternProperties propertyNames":  {"object"},
		"dependentRequired dependentSchemas":                           {"object"},
	} {
		for _, word := range strings.Fields(words) {
			m[word] = types
		}
	}
	return m
}()

// checkKeywords refuses keywords of other types than that of a schema.
func (r *reader) checkKeywords(s *schema.Schema, kind string) {
	for key, pos := range r.places[s] {
		types := keywordTypes[key]
		if types == nil || formats[kind] == nil || slices.Contains(types, kind) {
			continue
		}
		r.fail(pos, "drop it, or write type: "+types[0], "%s on a value of type %s, which it cannot restrict", key, kind)
	}
}
