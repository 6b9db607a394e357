package emit

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// finding is the form of the expressions that definitions can have too: a test, and the
// message if it fails.
var finding = regexp.MustCompile(`(?s)^\((.*)\) \? "" : (.*)$`)

// celRule is a rule that is an expression, taken apart.
type celRule struct {
	tests, why, cause, at string
}

func celRuleOf(r *schema.Demand) (celRule, bool) {
	parts := finding.FindStringSubmatch(r.Finds)
	if parts == nil || r.Each != nil || len(r.If)+len(r.Was) > 0 || !balanced(parts[1]) || strings.Contains(r.Finds, "check(") {
		return celRule{}, false
	}
	return celRule{parts[1], parts[2], r.Cause, r.At}, true
}

// balanced reports whether all parentheses of an expression are closed in it.
func balanced(text string) bool {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0 && quote == 0
}

// inside is the text between two others.
func inside(text, before, after string) (string, bool) {
	rest, ok := strings.CutPrefix(text, before)
	if rest, end := strings.CutSuffix(rest, after); ok && end && balanced(rest) {
		return rest, true
	}
	return text, false
}

// ofMember is a rule of a member that its object has.
func (r celRule) ofMember(name string) (celRule, bool) {
	word, ok := expression.Escape(name)
	if !ok {
		return r, false
	}
	below, at := strings.CutPrefix(r.at, name)
	text, update := strings.CutPrefix(r.tests, "!has(oldSelf."+word+") || ")
	if text, ok = inside(text, "!has(self."+word+") || cel.bind(self, self."+word+", ", ")"); !ok || !at {
		return r, false
	}
	unbind := func(text string) string {
		if inner, ok := inside(text, "cel.bind(oldSelf, oldSelf."+word+", ", ")"); ok {
			return inner
		}
		return text
	}
	if r.tests = text; update {
		r.tests = unbind(text)
	}
	if why, ok := inside(r.why, "cel.bind(self, self."+word+", ", ")"); ok {
		r.why = unbind(why)
	}
	r.at = strings.TrimPrefix(below, ".")
	return r, true
}

// ofElements is a rule of the elements of a list or a map that it has itself.
func (r celRule) ofElements() (celRule, bool) {
	if text, ok := inside(r.tests, "self.all(key, cel.bind(self, self[key], ", "))"); ok {
		return celRule{text, r.why, r.cause, ""}, true
	}
	text, ok := inside(r.tests, "self.all(self, ", ")")
	return celRule{text, r.why, r.cause, ""}, ok
}

// definedReasons are the reasons of causes, as definitions name them.
var definedReasons = map[string]string{schema.CauseForbidden: "FieldValueForbidden", schema.CauseRequired: "FieldValueRequired",
	schema.CauseDuplicate: "FieldValueDuplicate"}

// node is the rule as definitions write it.
func (r celRule) node() object {
	o := object{"rule": r.tests}
	if message, err := strconv.Unquote(r.why); err != nil {
		o["messageExpression"] = r.why
	} else if message != "failed rule: "+r.tests {
		o["message"] = message
	}
	if reason := definedReasons[r.cause]; reason != "" {
		o["reason"] = reason
	}
	if r.at != "" && r.at != "." {
		o["fieldPath"] = dotted(r.at)
	}
	return o
}

// rules are the rules of an object itself. Those of its members are placed there.
func (d *definitions) rules(s *schema.Schema) (all []celRule) {
	for i := range s.Rules {
		r, ok := celRuleOf(&s.Rules[i])
		if !ok {
			d.lose(s.Pos, `write finds: '(TEST) ? "" : "MESSAGE"'`, "a definition has no rule of this form")
			continue
		}
		if !slices.ContainsFunc(s.Properties, func(p schema.Property) bool { _, is := r.ofMember(p.Name); return is }) {
			all = append(all, r)
		}
	}
	return all
}

// memberRules are the rules of a member that its object has, and that of a member which
// never changes.
func (d *definitions) memberRules(s *schema.Schema, p schema.Property) (all []celRule) {
	if p.Schema.Immutable {
		all = append(all, celRule{tests: "self == oldSelf", why: `"failed rule: self == oldSelf"`})
	}
	for i := range s.Rules {
		if r, ok := celRuleOf(&s.Rules[i]); ok {
			if r, ok = r.ofMember(p.Name); ok {
				all = append(all, r)
			}
		}
	}
	return all
}
