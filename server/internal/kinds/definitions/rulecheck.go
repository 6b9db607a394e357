package definitions

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxObjectCost bounds the evaluations of all rules for one object, in units of cost:
// about a second.
const maxObjectCost = 10_000_000

// maxMessage bounds a message that an expression makes, in bytes.
const maxMessage = 5 << 10

// Check implements api.Rules.
func (r *ruleset) Check(ctx context.Context, obj, old document.Value, unbounded bool) api.Broken {
	if r == nil {
		return api.Broken{}
	}
	var change *pair
	if old.Exists() {
		change = &pair{is: r.is, now: obj, old: old, root: true}
	}
	run := ruleRun{ctx: ctx, counting: unbounded, left: maxObjectCost}
	run.check(r, obj, old, change, nil)
	return api.Broken{Causes: run.causes, Forgiven: run.forgiven}
}

// ruleRun evaluates the rules for one object.
//
// Rules whose worst cost is known are not counted: it is enough that all of them together
// are within the limit. If they are not, everything is evaluated again, with counts. The
// worst cost holds for values within the bounds of their schema, so counting is on from
// the beginning for others, and for rules that use the old value.
type ruleRun struct {
	ctx      context.Context
	base     *fieldPath // of the value; nil for a whole object
	counting bool
	again    bool // the run has to begin again with counts
	stopped  bool // no further rules are evaluated
	left     uint64
	causes   document.Causes
	forgiven []string
}

// check evaluates the rules of a value and of all below it.
func (run *ruleRun) check(r *ruleset, v, old document.Value, change *pair, at *place) {
	run.value(r, v, old, change, nil, at)
	if run.again {
		*run = ruleRun{ctx: run.ctx, base: run.base, counting: true, left: maxObjectCost}
		run.value(r, v, old, change, nil, at)
	}
}

// place is the place of a value in the object: a member, or an element.
type place struct {
	above *place
	name  string
	index int // of an element; -1 for a member, and -2 for one of a map
}

// field is the path of a value in causes.
func (run *ruleRun) field(p *place) string {
	var steps []*place
	for ; p != nil; p = p.above {
		steps = append(steps, p)
	}
	var b strings.Builder
	if run.base != nil {
		b.WriteString(run.base.text())
	}
	for i := len(steps) - 1; i >= 0; i-- {
		switch s := steps[i]; {
		case s.index >= 0:
			b.WriteString(index(s.index))
		case s.index == -2:
			b.WriteString("[" + s.name + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	if b.Len() == 0 {
		return noField
	}
	if b.Len() > maxField {
		return strings.ToValidUTF8(b.String()[:maxField], "") + "…"
	}
	return b.String()
}

// maxField bounds a path in causes, in bytes.
const maxField = 4096

// noField is the field of causes about a whole object.
const noField = "<nil>"

// value evaluates the rules of one value and of all below it. change is the value with its
// earlier state, nil if that cannot be found; then near is that of the closest container
// for which it can.
func (run *ruleRun) value(r *ruleset, v, old document.Value, change, near *pair, at *place) {
	if run.ended() || r == nil || v.Kind() <= document.Null {
		return
	}
	if run.own(r, v, old, change, near, at); r.elem == nil && len(r.fields) == 0 || run.ended() {
		return
	}
	if change != nil {
		near = change
	}
	for _, f := range r.fields {
		m := v.Get(f.name)
		if !m.Exists() {
			continue
		}
		inner, around := change.member(f.name, f.is), near
		if change != nil && change.root && (f.name == "apiVersion" || f.name == "kind") {
			inner, around = nil, nil // every write sets them
		}
		run.value(f.ruleset, m, old.Get(f.name), inner, around, &place{at, f.name, -1})
	}
	switch {
	case r.elem == nil:
	case v.Kind() == document.Object:
		for name, m := range v.Members() {
			if run.value(r.elem, m, old.Get(name), change.member(name, r.elem.is), near, &place{at, name, -2}); run.ended() {
				return
			}
		}
	case v.Kind() == document.Array:
		run.elements(r, v, old, change, near, at)
	}
}

// elements evaluates the rules of the elements of a list. Those of keyed lists have an
// earlier state: the element with the same keys.
func (run *ruleRun) elements(r *ruleset, v, old document.Value, whole, near *pair, at *place) {
	var before map[string]document.Value
	if r.is.ListType == schema.ListMap && old.Kind() == document.Array {
		before = byKey(old, r.is.Keys)
	}
	for i, e := range v.Elements() {
		var was document.Value
		var change *pair
		if len(before) > 0 {
			if key, ok := keyOf(e, r.is.Keys); ok {
				if was = before[key]; was.Exists() && whole != nil {
					change = &pair{is: r.elem.is, now: e, old: was}
				}
			}
		}
		if run.value(r.elem, e, was, change, near, &place{at, "", i}); run.ended() {
			return
		}
	}
}

func (run *ruleRun) ended() bool { return run.again || run.stopped }

// own evaluates the rules of one value.
func (run *ruleRun) own(r *ruleset, v, old document.Value, change, near *pair, at *place) {
	switch {
	case r.failed != nil:
		run.broken(r, at, "rule compiler initialization error: "+r.failed.Error())
		return
	case len(r.rules) == 0:
		return
	case run.left == 0:
		run.exhausted(r, at)
		return
	}
	bound := boundRules{v: v, old: old}
	for i := range r.rules {
		rule := &r.rules[i]
		switch {
		case rule.problem != nil:
			run.broken(r, at, "rule compile error: "+rule.problem.Detail)
			continue
		case rule.program == nil, rule.transition && !rule.optional && old.Kind() <= document.Null:
			continue
		}
		value, ok := run.eval(r, rule, rule.program, &bound, at)
		if run.ended() {
			return
		}
		if ok && !expression.True(value) {
			run.breach(r, rule, v, &bound, !rule.transition && (change.unchanged() || change == nil && near.unchanged()), at)
		}
		if run.stopped = run.stopped || run.causes.Full(); run.ended() {
			return
		}
	}
}

// boundRules are the bindings of the scopes of one value's rules.
type boundRules struct {
	v, old   document.Value
	bindings [2]*expression.Bindings // of rules that need an old value, and of others
}

func (b *boundRules) of(rule *rule) *expression.Bindings {
	i := 0
	if rule.optional {
		i = 1
	}
	if b.bindings[i] == nil {
		b.bindings[i] = rule.scope.Bind()
		b.bindings[i].Set(selfIndex, b.v)
		if b.old.Kind() > document.Null {
			b.bindings[i].Set(oldIndex, b.old)
		} else if rule.optional {
			b.bindings[i].Set(oldIndex, document.Value{})
		}
	}
	return b.bindings[i]
}

// eval evaluates an expression of a rule. It reports whether there is a value; the cause
// is added if not.
func (run *ruleRun) eval(r *ruleset, rule *rule, p *expression.Program, bound *boundRules, at *place) (value expression.Value, ok bool) {
	var err error
	if bindings := bound.of(rule); !run.counting && !rule.transition && p.Bounded(expression.CallLimit) {
		if p.Cost > run.left {
			run.again = true
			return nil, false
		}
		run.left -= p.Cost
		value, err = p.Eval(run.ctx, bindings)
	} else {
		var cost uint64
		value, cost, err = p.EvalCounting(run.ctx, bindings)
		if cost > run.left {
			run.exhausted(r, at)
			return nil, false
		}
		run.left -= cost
	}
	switch {
	case err == nil:
		return value, true
	case errors.Is(err, expression.ErrBudget): // of the request
		run.exhausted(r, at)
	case p != rule.program: // a message that cannot be made is replaced
		run.stopped = errors.Is(err, expression.ErrCost) || errors.Is(err, expression.ErrInterrupted)
		if run.stopped {
			run.broken(r, at, "no further validation rules will be run due to call cost exceeds limit for messageExpression of rule: "+rule.shownText())
		}
	case errors.Is(err, expression.ErrCost), errors.Is(err, expression.ErrInterrupted):
		run.stopped = true
		run.broken(r, at, "'"+err.Error()+"': no further validation rules will be run due to call cost exceeds limit for rule: "+rule.shownText())
	case strings.HasPrefix(err.Error(), "no such overload"):
		run.broken(r, at, "'"+err.Error()+"': call arguments did not match a supported operator, function or macro signature for rule: "+rule.shownText())
	default:
		run.broken(r, at, err.Error()+" evaluating rule: "+rule.shownText())
	}
	return nil, false
}

func (run *ruleRun) exhausted(r *ruleset, at *place) {
	run.stopped = true
	run.broken(r, at, "validation failed due to running out of cost budget, no further validation rules will be run")
}

// broken adds the cause of a rule that cannot be evaluated. Causes show the type of the
// value, as in 1.25.
func (run *ruleRun) broken(r *ruleset, at *place, why string) {
	run.causes.Add(schema.CauseInvalid, run.field(at), "Invalid value: "+strconv.Quote(r.shown)+": "+why)
}

// breach adds the cause of a broken rule, or forgives it.
func (run *ruleRun) breach(r *ruleset, rule *rule, v document.Value, bound *boundRules, forgiven bool, at *place) {
	detail := run.message(r, rule, bound, at)
	if run.ended() {
		return
	}
	field := run.field(at)
	if rule.path != "" {
		if field += "." + rule.path; at == nil && run.base == nil {
			field = rule.path
		}
	}
	cause := schema.Cause{Reason: schema.CauseInvalid, Field: field, Message: "Invalid value: " + strconv.Quote(r.shown) + ": " + detail}
	switch rule.reason {
	case schema.CauseForbidden:
		cause.Reason, cause.Message = rule.reason, "Forbidden: "+detail
	case schema.CauseRequired:
		cause.Reason, cause.Message = rule.reason, "Required value: "+detail
	case schema.CauseDuplicate:
		cause.Reason, cause.Message = rule.reason, "Duplicate value"
		if v.Kind() < document.Array {
			cause.Message += ": " + document.Shown(v)
		}
	}
	if forgiven {
		if len(run.forgiven) < document.MaxCauses {
			run.forgiven = append(run.forgiven, cause.Field+": "+cause.Message)
		}
		return
	}
	run.causes.Add(cause.Reason, cause.Field, cause.Message)
}

// message is the message of a broken rule: of its expression, its text, or the rule
// itself.
func (run *ruleRun) message(r *ruleset, rule *rule, bound *boundRules, at *place) string {
	if rule.says != nil {
		if value, ok := run.eval(r, rule, rule.says, bound, at); ok {
			text := strings.TrimSpace(expression.TextOf(value))
			if text != "" && len(text) <= maxMessage && !strings.Contains(text, "\n") {
				return text
			}
		}
	}
	if rule.message != "" {
		return rule.message
	}
	return "failed rule: " + rule.shownText()
}
