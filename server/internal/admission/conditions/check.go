package conditions

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Limits of admission policies.
const (
	mostMatchConditions  = 64
	mostAuditAnnotations = 20
	mostAuditExpression  = 5 << 10 // bytes
)

// ValidatingPolicy checks the requests and the expressions of a policy whose rules decide
// about objects; old is the policy before an update.
func ValidatingPolicy(obj, old document.Value, functions *expression.Functions) []schema.Cause {
	c := newExpressionCauses(obj, old, functions, false)
	if c == nil {
		return nil
	}
	spec := obj.Get("spec")
	validations, annotations := spec.Get("validations"), spec.Get("auditAnnotations")
	if validations.Len() == 0 && annotations.Len() == 0 {
		const why = "validations or auditAnnotations must contain at least one item"
		c.Required(path(spec, "validations"), why)
		c.Required(path(spec, "auditAnnotations"), why)
		return c.Causes
	}
	for _, v := range validations.Elements() {
		c.validation(v)
	}
	if annotations.Len() > mostAuditAnnotations {
		c.Invalid(annotations, "must not have more than "+strconv.Itoa(mostAuditAnnotations)+" auditAnnotations")
	}
	var keys document.Texts
	for _, v := range annotations.Elements() {
		c.auditAnnotation(v, obj.At("metadata", "name").Text())
		if k := v.Get("key"); !keys.Add(k.Text()) {
			c.Duplicate(k)
		}
	}
	return c.Causes
}

// expressionCauses finds the causes of the expressions of one policy.
type expressionCauses struct {
	causes
	params bool
	scope  *expression.Scope // nil if it could not be made, which is a cause
}

// newExpressionCauses begins with what all policies have: requests, match conditions and
// variables. It is nil for a policy whose expressions were accepted before.
func newExpressionCauses(obj, old document.Value, functions *expression.Functions, changes bool) *expressionCauses {
	spec, before := obj.Get("spec"), old.Get("spec")
	if before.Exists() && document.Equal(spec, before) {
		return nil
	}
	kind := spec.Get("paramKind")
	c := &expressionCauses{causes: causes{allowed: functions.Since(before)}, params: isSet(kind)}
	if constraints := spec.Get("matchConstraints"); !isSet(constraints) {
		c.Required(path(spec, "matchConstraints"), "")
	} else if constraints.Get("resourceRules").Len() == 0 {
		c.Required(path(constraints, "resourceRules"), "")
	}
	if list := spec.Get("matchConditions"); !old.Exists() || !document.Equal(kind, before.Get("paramKind")) ||
		!document.Equal(list, before.Get("matchConditions")) {
		c.matchConditions(list, c.params)
	}
	variables := spec.Get("variables")
	var err error
	if c.scope, err = Scope(Kind{Params: c.params, Authorizer: true, Composed: variables.Len() > 0, Changes: changes}); err != nil {
		c.Add(schema.CauseInternal, "spec", "Internal error: "+err.Error())
	}
	for _, v := range variables.Elements() {
		c.variable(v)
	}
	return c
}

// MatchConditions checks the match conditions of a webhook.
func MatchConditions(list document.Value, allowed *expression.Allowed) []schema.Cause {
	c := causes{allowed: allowed}
	c.matchConditions(list, false)
	return c.Causes
}

// causes gathers the causes of expressions.
type causes struct {
	document.Causes
	allowed *expression.Allowed // functions of the expressions
}

// path is the path of a member, which may be missing.
func path(v document.Value, name string) string { return v.Path() + "." + name }

func isSet(v document.Value) bool { return v.Exists() && !v.IsNull() }

// matchConditions checks the match conditions of a policy or a webhook.
func (c *causes) matchConditions(list document.Value, params bool) {
	if list.Len() == 0 {
		return
	}
	if list.Len() > mostMatchConditions {
		c.Add(schema.CauseTooMany, list.Path(), "Too many: "+strconv.Itoa(list.Len())+": must have at most "+strconv.Itoa(mostMatchConditions)+" items")
	}
	scope, err := Scope(Kind{Params: params, Authorizer: true})
	if err != nil {
		c.Add(schema.CauseInternal, list.Path(), "Internal error: "+err.Error())
		return
	}
	var seen document.Texts
	for _, v := range list.Elements() {
		name := v.Get("name")
		if text := strings.TrimSpace(v.Get("expression").Text()); text == "" {
			c.Required(path(v, "expression"), "")
		} else if _, err := c.allowed.Compile(scope, text, expression.Condition); err != nil {
			c.wrongExpression(v.Get("expression"), text, err, expression.Condition)
		}
		if name.IsNothing() {
			c.Required(path(v, "name"), "")
			continue
		}
		c.Format(name, "qualified-name")
		if !seen.Add(name.Text()) {
			c.Duplicate(name)
		}
	}
}

// wanted are the types of results in causes.
var wanted = map[expression.Result]string{expression.Condition: "bool", expression.Text: "string", expression.TextOrNull: "one of [string null_type]",
	expression.Configuration: "Object", expression.Patches: "list(JSONPatch)"}

// wrongExpression adds the cause of an expression that cannot be compiled.
func (c *causes) wrongExpression(v document.Value, shown string, err error, want expression.Result) {
	problem := err.(*expression.Problem)
	why := "compilation failed: " + problem.Detail
	switch problem.Kind {
	case expression.ResultProblem:
		why = "must evaluate to " + wanted[want] + " but got " + problem.Detail
	case expression.PlanProblem:
		why = "program instantiation failed: " + problem.Detail
	}
	c.InvalidText(v.Path(), shown, why)
}

var identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")

func (c *expressionCauses) variable(v document.Value) {
	name, text := v.Get("name"), v.Get("expression")
	if strings.TrimSpace(name.Text()) == "" {
		c.Required(path(v, "name"), "name is not specified")
	} else if !identifier.MatchString(name.Text()) || expression.Reserved(name.Text()) {
		c.Invalid(name, "must be a valid CEL identifier")
	}
	if strings.TrimSpace(text.Text()) == "" {
		c.Required(path(v, "expression"), "expression is not specified")
	} else if c.scope != nil {
		if err := c.allowed.Compose(c.scope, name.Text(), text.Text()); err != nil {
			c.wrongExpression(text, text.Text(), err, expression.Anything)
		}
	}
}

// expression checks an expression of the policy, and returns its program; nil for a wrong
// one.
func (c *expressionCauses) expression(v document.Value, text string, want expression.Result) *expression.Program {
	if c.scope == nil {
		return nil
	}
	p, err := c.allowed.Compile(c.scope, text, want)
	if err != nil {
		c.wrongExpression(v, v.Text(), err, want)
	}
	return p
}

func (c *expressionCauses) validation(v document.Value) {
	text, message, says := v.Get("expression"), v.Get("message"), v.Get("messageExpression")
	if strings.TrimSpace(text.Text()) == "" {
		c.Required(path(v, "expression"), "expression is not specified")
	} else {
		c.expression(text, text.Text(), expression.Condition)
	}
	if says.Text() != "" {
		c.messageExpression(says)
	}
	switch trimmed := strings.TrimSpace(message.Text()); {
	case message.Text() != "" && trimmed == "":
		c.Invalid(message, "must be non-empty if specified")
	case strings.ContainsAny(trimmed, "\n\r"):
		c.Invalid(message, "must not contain line breaks")
	}
}

// messageExpression checks the expression of a message, which does not see the authorizer.
func (c *expressionCauses) messageExpression(v document.Value) {
	if strings.TrimSpace(v.Text()) == "" {
		c.Invalid(v, "must be non-empty if specified")
		return
	}
	p := c.expression(v, v.Text(), expression.Text)
	if p == nil || !p.Uses(Authorizer) && !p.Uses(RequestResource) {
		return
	}
	if plain, err := Scope(Kind{Params: c.params}); err == nil {
		if _, err := plain.Compile(v.Text(), expression.Text); err != nil {
			c.wrongExpression(v, v.Text(), err, expression.Text)
		}
	}
}

func (c *expressionCauses) auditAnnotation(v document.Value, policy string) {
	key, value := v.Get("key"), v.Get("valueExpression")
	c.FormatText(path(v, "key"), policy+"/"+key.Text(), "qualified-name")
	switch text := strings.TrimSpace(value.Text()); {
	case text == "":
		c.Required(path(v, "valueExpression"), "valueExpression is not specified")
	case len(text) > mostAuditExpression:
		c.Required(value.Path(), "must not exceed "+strconv.Itoa(mostAuditExpression)+" bytes in length")
	default:
		c.expression(value, text, expression.TextOrNull)
	}
}

// MutatingPolicy is ValidatingPolicy for a policy that changes objects.
func MutatingPolicy(obj, old document.Value, functions *expression.Functions) []schema.Cause {
	c := newExpressionCauses(obj, old, functions, true)
	if c == nil {
		return nil
	}
	spec := obj.Get("spec")
	mutations := spec.Get("mutations")
	if mutations.Len() == 0 {
		c.Required(path(spec, "mutations"), "mutations must contain at least one item")
	}
	for _, v := range mutations.Elements() {
		c.mutation(v)
	}
	return c.Causes
}

// changes are the types of changes, with their members and results.
var changes = [...]struct {
	kind, member string
	result       expression.Result
}{{"JSONPatch", "jsonPatch", expression.Patches}, {"ApplyConfiguration", "applyConfiguration", expression.Configuration}}

func (c *expressionCauses) mutation(v document.Value) {
	kind := v.Get("patchType").Text()
	for i, change := range changes {
		if change.kind != kind {
			continue
		}
		of := v.Get(change.member)
		text := of.Get("expression")
		switch trimmed := strings.TrimSpace(text.Text()); {
		case !isSet(of):
			c.Required(path(v, change.member), "must be specified when patchType is "+kind)
		case trimmed == "":
			c.Required(path(of, "expression"), "")
		default:
			c.expression(text, trimmed, change.result)
		}
		if other := v.Get(changes[1-i].member); isSet(other) {
			c.InvalidText(other.Path(), "{"+changes[1-i].member+"}", "must not be specified when patchType is "+kind)
		}
	}
}
