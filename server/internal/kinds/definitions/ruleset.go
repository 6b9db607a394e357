package definitions

import (
	"bytes"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
)

// ruleset holds the compiled expressions of a schema that its values have to satisfy: those
// of one part, and of all parts below it.
type ruleset struct {
	is     *expression.Type
	shown  string // the type that causes name, "" for none
	rules  []rule
	failed error // the variables of the rules could not be declared
	fields []fieldRules
	elem   *ruleset // of lists and maps
}

// fieldRules are the rules of a member.
type fieldRules struct {
	name string
	*ruleset
}

// rule is one expression of a schema.
type rule struct {
	text, message string // as in the definition
	reason        string
	path          string // of the member that causes name, below the value
	optional      bool   // it applies without an old value, too
	transition    bool   // it uses the old value
	scope         *expression.Scope
	program       *expression.Program // nil for an empty rule, and for a wrong one
	problem       *expression.Problem
	says          *expression.Program // the message; nil for none
	saysProblem   *expression.Problem
}

// The variables of rules, by their index in a scope.
const (
	selfIndex = iota
	oldIndex
)

const (
	selfName = "self"
	oldName  = "oldSelf"
)

// hasRules reports whether the text of a definition may have rules.
func hasRules(text []byte) bool { return bytes.Contains(text, []byte(`"`+extValidations+`"`)) }

// newRuleset compiles the rules of a schema, whose structure is valid; nil if it has none.
func newRuleset(s document.Value, allowed *expression.Allowed) *ruleset {
	if !anyRules(s) {
		return nil
	}
	c := rulesCompiler{types: new(expression.Types), allowed: allowed}
	return c.part(s, declared(s, true), "object "+selfName)
}

// field is the rules of a member; r may be nil.
func (r *ruleset) field(name string) *ruleset {
	if r != nil {
		for _, f := range r.fields {
			if f.name == name {
				return f.ruleset
			}
		}
	}
	return nil
}

// element is the rules of the elements of a list or map; r may be nil.
func (r *ruleset) element() *ruleset {
	if r == nil {
		return nil
	}
	return r.elem
}

// anyRules reports whether a schema has rules, at any depth.
func anyRules(s document.Value) bool {
	if s.Get(extValidations).Len() > 0 || anyRulesBelow(s.Get("items")) || anyRulesBelow(s.Get("additionalProperties")) {
		return true
	}
	for _, property := range s.Get("properties").Members() {
		if anyRules(property) {
			return true
		}
	}
	return false
}

func anyRulesBelow(s document.Value) bool { return s.Kind() == document.Object && anyRules(s) }

// rulesCompiler compiles the rules of one schema.
type rulesCompiler struct {
	types   *expression.Types
	allowed *expression.Allowed // functions of the rules
}

// part compiles the rules of a part of a schema and of all below it; nil for none. name is
// that of its type in messages.
func (c *rulesCompiler) part(s document.Value, t *expression.Type, name string) *ruleset {
	if !anyRules(s) {
		return nil
	}
	c.types.Declare(name, t)
	r := &ruleset{is: t, shown: s.Get("type").Text()}
	for property, below := range s.Get("properties").Members() {
		if of := c.part(below, fieldType(t, property, below), name+"."+property); of != nil {
			r.fields = append(r.fields, fieldRules{property, of})
		}
	}
	for _, member := range [...]string{"items", "additionalProperties"} {
		if below := s.Get(member); below.Kind() == document.Object {
			elem := t.Elem
			if elem == nil {
				elem = declared(below, embedded(below))
			}
			r.elem = c.part(below, elem, name+"[]")
		}
	}
	if rules := s.Get(extValidations); rules.Len() > 0 && t.Kind != expression.Opaque {
		c.rules(r, rules, s)
	}
	return r
}

// fieldType is the type of a member: the declared one, or one of its own where the type of
// the object has none.
func fieldType(t *expression.Type, name string, s document.Value) *expression.Type {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return t.Fields[i].Type
		}
	}
	return declared(s, embedded(s))
}

// rules compiles the rules of one part.
func (c *rulesCompiler) rules(r *ruleset, rules, s document.Value) {
	var scopes [2]*expression.Scope // of rules with an old value, and of those that may lack it
	for _, one := range rules.Elements() {
		optional := one.Get("optionalOldSelf").Bool()
		scope := &scopes[0]
		if optional {
			scope = &scopes[1]
		}
		if *scope == nil {
			var err error
			*scope, err = expression.NewScope(c.types, expression.Variable{Name: selfName, Type: r.is},
				expression.Variable{Name: oldName, Type: r.is, Optional: optional})
			if err != nil {
				r.failed = err
				return
			}
		}
		r.rules = append(r.rules, c.compile(*scope, one, s))
	}
}

func (c *rulesCompiler) compile(scope *expression.Scope, one, s document.Value) rule {
	r := rule{scope: scope, text: one.Get("rule").Text(), message: one.Get("message").Text(), reason: one.Get("reason").Text(),
		optional: one.Get("optionalOldSelf").Bool()}
	if strings.TrimSpace(r.text) == "" {
		return r
	}
	var err error
	if r.program, err = c.allowed.Compile(scope, r.text, expression.Condition); err != nil {
		r.program, r.problem = nil, err.(*expression.Problem)
		return r
	}
	r.transition = r.program.Uses(oldName)
	if text := one.Get("messageExpression").Text(); text != "" {
		if r.says, err = c.allowed.Compile(scope, text, expression.Text); err != nil {
			r.says, r.saysProblem = nil, err.(*expression.Problem)
		}
	}
	if path := one.Get("fieldPath").Text(); path != "" {
		r.path, _, _ = memberPath(path, s)
	}
	return r
}

// shownText is the rule in causes.
func (r *rule) shownText() string {
	if r.message != "" {
		return strings.TrimSpace(r.message)
	}
	return strings.TrimSpace(r.text)
}
