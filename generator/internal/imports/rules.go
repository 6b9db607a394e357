package imports

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/internal/expression"
)

// rule is a rule of a definition (x-kubernetes-validations) on its way to the object type
// that can have it.
type rule struct {
	line       int
	tests, why string // expressions: whether the rule is kept, and the message
	cause, at  string // as documents write them; at is a path below the value
	update     bool   // compares with the value before
}

// causes are the reasons of rules, as documents write them.
var causes = map[string]string{"FieldValueInvalid": "", "": "", "FieldValueForbidden": "forbidden", "FieldValueRequired": "required",
	"FieldValueDuplicate": "duplicate"}

// rulesOf reads the rules of a schema.
func (k *kind) rulesOf(at foreign.Place) (all []rule) {
	for _, item := range at.Extension("validations").Items() {
		text := strings.TrimSpace(item.At("rule").Text())
		r := rule{line: foreign.LineOf(item), tests: text, at: strings.TrimPrefix(item.At("fieldPath").Text(), "."), update: strings.Contains(text, "oldSelf")}
		r.why = strings.TrimSpace(item.At("messageExpression").Text())
		if said := item.At("message").Text(); r.why == "" {
			if r.why = strconv.Quote(said); said == "" {
				r.why = strconv.Quote("failed rule: " + text)
			}
		}
		var known bool
		if r.cause, known = causes[item.At("reason").Text()]; !known {
			k.note(item.At("reason"), "the reason of the rule becomes FieldValueInvalid", "documents do not know the reason %s", item.At("reason").Text())
		}
		if k.left(r.line) {
			continue
		}
		if item.At("optionalOldSelf").Yes() {
			k.note(item, "write a hook, or a rule without optionalOldSelf", "the rule sees a value that may not have been there before")
			continue
		}
		item.Each(func(key string, name, _ foreign.Place) {
			switch key {
			case "rule", "message", "messageExpression", "fieldPath", "reason", "optionalOldSelf":
			default:
				k.note(name, "say it in another way", "documents do not know %s of a rule", key)
			}
		})
		all = append(all, r)
	}
	return all
}

// ofMember is the rule of a member as one of its object.
func (r rule) ofMember(name string) (rule, bool) {
	word, ok := expression.Escape(name)
	bind := func(text string) string {
		if strings.Contains(text, "oldSelf") {
			text = fmt.Sprintf("cel.bind(oldSelf, oldSelf.%s, %s)", word, text)
		}
		return fmt.Sprintf("cel.bind(self, self.%s, %s)", word, text)
	}
	r.tests, r.why = "!has(self."+word+") || "+bind(r.tests), r.bound(bind)
	if r.update {
		r.tests = "!has(oldSelf." + word + ") || " + r.tests
	}
	if below := r.at; below == "" || below[0] == '[' {
		r.at = name + below
	} else {
		r.at = name + "." + below
	}
	return r, ok
}

// bound is the message with the names of the value, unless it names none.
func (r rule) bound(bind func(string) string) string {
	if _, err := strconv.Unquote(r.why); err == nil {
		return r.why
	}
	return bind(r.why)
}

// ofElements is the rule of the elements of a list or a map as one of it all; false for one
// that compares with the element before.
func (r rule) ofElements(isMap bool) (rule, bool) {
	if r.update || r.bound(func(string) string { return "" }) == "" {
		return r, false
	}
	if r.at = ""; isMap {
		r.tests = fmt.Sprintf("self.all(key, cel.bind(self, self[key], %s))", r.tests)
	} else {
		r.tests = fmt.Sprintf("self.all(self, %s)", r.tests)
	}
	return r, true
}

// node is the rule as documents write it.
func (r rule) node() *yaml.Node {
	m := newMapping(r.line)
	m.text("finds", fmt.Sprintf("(%s) ? \"\" : %s", r.tests, r.why), r.line)
	m.text("cause", r.cause, r.line)
	m.text("at", r.at, r.line)
	return m.Node
}
