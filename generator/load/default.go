package load

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/capstan-dev/capstan/generator/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// checkDefaults checks every default below a schema against its own schema.
func (r *reader) checkDefaults(s *schema.Schema, gv *model.GroupVersion) {
	for _, p := range s.Properties {
		r.checkDefaults(p.Schema, gv)
		if p.Schema.Default == nil || p.Schema.Ref != "" && string(p.Schema.Default) == "{}" {
			continue
		}
		if why := unfit(p.Schema); why != "" {
			r.fail(p.Pos, "change the default or the rule", "the default %s of %s %s", p.Schema.Default, p.Name, why)
		}
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			r.checkDefaults(part, gv)
		}
	}
}

// unfit says why a schema refuses its own default, or "".
func unfit(s *schema.Schema) string {
	var v any
	if err := json.Unmarshal(s.Default, &v); err != nil {
		return "is not JSON"
	}
	is := func(ok bool, what string) string {
		if ok {
			return ""
		}
		return "is not " + what
	}
	text, isText := v.(string)
	number, isNumber := v.(float64)
	switch {
	case s.Format == "int-or-string":
		return is(isText || isNumber && number == math.Trunc(number), "a whole number or a string")
	case s.Format == "quantity":
		return is(isText || isNumber, "a quantity")
	}
	wrong := ""
	switch s.Type {
	case "string":
		wrong = is(isText, "a string")
	case "integer":
		wrong = is(isNumber && number == math.Trunc(number), "a whole number")
	case "number":
		wrong = is(isNumber, "a number")
	case "boolean":
		_, ok := v.(bool)
		wrong = is(ok, "true or false")
	case "array":
		_, ok := v.([]any)
		wrong = is(ok, "a list")
	case "object":
		_, ok := v.(map[string]any)
		wrong = is(ok, "an object")
	}
	switch {
	case wrong != "":
		return wrong
	case isText && len(s.Enum) > 0 && text != "" && !slices.Contains(s.Enum, text):
		return fmt.Sprintf("is not one of %v", s.Enum)
	case isText && s.Pattern != "" && !matches(s.Pattern, text):
		return "does not match the pattern " + s.Pattern
	case isNumber && s.Minimum != nil && number < *s.Minimum:
		return fmt.Sprintf("is below the minimum %v", *s.Minimum)
	case isNumber && s.Maximum != nil && number > *s.Maximum:
		return fmt.Sprintf("is above the maximum %v", *s.Maximum)
	case isText && s.MaxLength != nil && len(text) > *s.MaxLength:
		return fmt.Sprintf("is longer than %d", *s.MaxLength)
	}
	return ""
}

func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}
