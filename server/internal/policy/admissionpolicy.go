package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/conditions"
)

// Limits of admission policies.
const (
	mostMatchConditions  = 64
	mostAuditAnnotations = 20
	mostAuditExpression  = 5 << 10 // bytes
)

// ValidateValidatingAdmissionPolicy checks the requests and the expressions of a policy.
func (Policy) ValidateValidatingAdmissionPolicy(obj, old document.Value) []schema.Cause {
	c := newExpressionCauses(obj, old, false)
	if c == nil {
		return nil
	}
	spec := obj.Get("spec")
	validations, annotations := spec.Get("validations"), spec.Get("auditAnnotations")
	if validations.Len() == 0 && annotations.Len() == 0 {
		const why = "validations or auditAnnotations must contain at least one item"
		c.Required(member(spec, "validations"), why)
		c.Required(member(spec, "auditAnnotations"), why)
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

// ValidateValidatingAdmissionPolicyBinding checks what a broken rule leads to.
func (Policy) ValidateValidatingAdmissionPolicyBinding(obj, _ document.Value) []schema.Cause {
	var c causes
	actions := obj.At("spec", "validationActions")
	if actions.HasText("Deny") && actions.HasText("Warn") {
		c.Invalid(actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)")
	}
	if actions.Len() == 0 {
		c.Required(member(obj.Get("spec"), "validationActions"), "at least one validation action is required")
	}
	return c.Causes
}

// ValidateNamedRuleWithOperations checks a rule for resources.
func (Policy) ValidateNamedRuleWithOperations(v document.Value) []schema.Cause {
	var c causes
	c.webhookResources(v)
	return c.Causes
}

// ValidateParamKind checks the name of a kind.
func (Policy) ValidateParamKind(v document.Value) []schema.Cause {
	var c causes
	apiVersion, kind := v.Get("apiVersion"), v.Get("kind")
	group, version, found := strings.Cut(apiVersion.Text(), "/")
	if !found {
		group, version = "", group
	}
	switch {
	case isEmpty(apiVersion):
		c.Required(member(v, "apiVersion"), "")
	case strings.Contains(version, "/"):
		c.Invalid(apiVersion, "unexpected GroupVersion string: "+apiVersion.Text())
	default:
		if group != "" {
			c.FormatText(apiVersion.Path(), group, "dns1123-subdomain")
		}
		if version == "" {
			c.Invalid(apiVersion, "version must be specified")
		} else {
			c.FormatText(apiVersion.Path(), version, "dns1035-label")
		}
	}
	if isEmpty(kind) {
		c.Required(member(v, "kind"), "")
	} else if problems := document.CheckFormat("dns1035-label", strings.ToLower(kind.Text())); len(problems) > 0 {
		c.Invalid(kind, "may have mixed case, but should otherwise match: "+strings.Join(problems, ","))
	}
	return c.Causes
}

// ValidateParamRef checks a reference to objects.
func (Policy) ValidateParamRef(v document.Value) []schema.Cause {
	var c causes
	name, selector, action := v.Get("name"), v.Get("selector"), v.Get("parameterNotFoundAction")
	const both = "name and selector are mutually exclusive"
	if !isEmpty(name) {
		c.Format(name, "path-segment")
	}
	switch {
	case !isEmpty(name) && isSet(selector):
		c.Forbidden(name.Path(), both)
		c.Forbidden(selector.Path(), both)
	case isEmpty(name) && !isSet(selector):
		c.Required(v.Path(), "one of name or selector must be specified")
	}
	switch action.Text() {
	case "":
		c.Required(member(v, "parameterNotFoundAction"), "")
	case "Allow", "Deny":
	default:
		c.NotSupported(action, "Deny", "Allow")
	}
	return c.Causes
}

// CellParamRef shows the parameters of a binding. A name without a namespace may be in any.
func (p Policy) CellParamRef(spec document.Value) any {
	ref := spec.Get("paramRef")
	switch name, namespace := ref.Get("name").Text(), ref.Get("namespace").Text(); {
	case name != "" && namespace != "":
		return namespace + "/" + name
	case name != "":
		return "*/" + name
	case isSet(ref.Get("selector")):
		return p.CellSelector(ref.Get("selector"))
	}
	return "<unset>"
}

// expressionCauses finds the causes of the expressions of one policy.
type expressionCauses struct {
	causes
	params bool
	scope  *expression.Scope // nil if it could not be made, which is a cause
}

// newExpressionCauses begins with what all policies have: requests, match conditions and
// variables. It is nil for a policy whose expressions were accepted before.
func newExpressionCauses(obj, old document.Value, changes bool) *expressionCauses {
	spec, before := obj.Get("spec"), old.Get("spec")
	if before.Exists() && document.Equal(spec, before) {
		return nil
	}
	kind := spec.Get("paramKind")
	c := &expressionCauses{params: isSet(kind)}
	constraints := spec.Get("matchConstraints")
	if !isSet(constraints) {
		c.Required(member(spec, "matchConstraints"), "")
	} else if constraints.Get("resourceRules").Len() == 0 {
		c.Required(member(constraints, "resourceRules"), "")
	}
	if list := spec.Get("matchConditions"); !old.Exists() || !document.Equal(kind, before.Get("paramKind")) || !document.Equal(list, before.Get("matchConditions")) {
		c.matchConditions(list, c.params)
	}
	variables := spec.Get("variables")
	var err error
	if c.scope, err = conditions.Scope(conditions.Kind{Params: c.params, Authorizer: true, Composed: variables.Len() > 0, Changes: changes}); err != nil {
		c.Add(schema.CauseInternal, "spec", "Internal error: "+err.Error())
	}
	for _, v := range variables.Elements() {
		c.variable(v)
	}
	return c
}

// matchConditions checks the match conditions of a policy or a webhook.
func (c *causes) matchConditions(list document.Value, params bool) {
	if list.Len() == 0 {
		return
	}
	if list.Len() > mostMatchConditions {
		c.Add(schema.CauseTooMany, list.Path(), "Too many: "+strconv.Itoa(list.Len())+": must have at most "+strconv.Itoa(mostMatchConditions)+" items")
	}
	scope, err := conditions.Scope(conditions.Kind{Params: params, Authorizer: true})
	if err != nil {
		c.Add(schema.CauseInternal, list.Path(), "Internal error: "+err.Error())
		return
	}
	var seen document.Texts
	for _, v := range list.Elements() {
		name := v.Get("name")
		if text := strings.TrimSpace(v.Get("expression").Text()); text == "" {
			c.Required(member(v, "expression"), "")
		} else if _, err := scope.Compile(text, expression.Condition); err != nil {
			c.wrongExpression(v.Get("expression"), text, err, expression.Condition)
		}
		if isEmpty(name) {
			c.Required(member(v, "name"), "")
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
		c.Required(member(v, "name"), "name is not specified")
	} else if !identifier.MatchString(name.Text()) || expression.Reserved(name.Text()) {
		c.Invalid(name, "must be a valid CEL identifier")
	}
	if strings.TrimSpace(text.Text()) == "" {
		c.Required(member(v, "expression"), "expression is not specified")
	} else if c.scope != nil {
		if err := c.scope.Compose(name.Text(), text.Text()); err != nil {
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
	p, err := c.scope.Compile(text, want)
	if err != nil {
		c.wrongExpression(v, v.Text(), err, want)
	}
	return p
}

func (c *expressionCauses) validation(v document.Value) {
	text, message, says := v.Get("expression"), v.Get("message"), v.Get("messageExpression")
	if strings.TrimSpace(text.Text()) == "" {
		c.Required(member(v, "expression"), "expression is not specified")
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
	if p == nil || !p.Uses(conditions.Authorizer) && !p.Uses(conditions.RequestResource) {
		return
	}
	if plain, err := conditions.Scope(conditions.Kind{Params: c.params}); err == nil {
		if _, err := plain.Compile(v.Text(), expression.Text); err != nil {
			c.wrongExpression(v, v.Text(), err, expression.Text)
		}
	}
}

func (c *expressionCauses) auditAnnotation(v document.Value, policy string) {
	key, value := v.Get("key"), v.Get("valueExpression")
	c.FormatText(member(v, "key"), policy+"/"+key.Text(), "qualified-name")
	switch text := strings.TrimSpace(value.Text()); {
	case text == "":
		c.Required(member(v, "valueExpression"), "valueExpression is not specified")
	case len(text) > mostAuditExpression:
		c.Required(value.Path(), "must not exceed "+strconv.Itoa(mostAuditExpression)+" bytes in length")
	default:
		c.expression(value, text, expression.TextOrNull)
	}
}

// ValidateMutatingAdmissionPolicy checks the requests and the expressions of a policy.
func (Policy) ValidateMutatingAdmissionPolicy(obj, old document.Value) []schema.Cause {
	c := newExpressionCauses(obj, old, true)
	if c == nil {
		return nil
	}
	spec := obj.Get("spec")
	c.supportsMutation(spec.Get("matchConstraints"), "spec.matchConstraints")
	mutations := spec.Get("mutations")
	if mutations.Len() == 0 {
		c.Required(member(spec, "mutations"), "mutations must contain at least one item")
	}
	for _, v := range mutations.Elements() {
		c.mutation(v)
	}
	return c.Causes
}

// ValidateMutatingAdmissionPolicyBinding checks the operations of a binding.
func (Policy) ValidateMutatingAdmissionPolicyBinding(obj, _ document.Value) []schema.Cause {
	var c causes
	c.supportsMutation(obj.At("spec", "matchResources"), "spec.matchResources")
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
		if other := v.Get(changes[1-i].member); isSet(other) {
			c.InvalidText(other.Path(), "{"+changes[1-i].member+"}", "must not be specified when patchType is "+kind)
		}
		of := v.Get(change.member)
		text := of.Get("expression")
		switch trimmed := strings.TrimSpace(text.Text()); {
		case !isSet(of):
			c.Required(member(v, change.member), "must be specified when patchType is "+kind)
		case trimmed == "":
			c.Required(member(of, "expression"), "")
		default:
			c.expression(text, trimmed, change.result)
		}
	}
}

// supportsMutation refuses the operations of rules that no object is changed for.
func (c *causes) supportsMutation(resources document.Value, path string) {
	for _, rule := range resources.Get("resourceRules").Elements() {
		for _, operation := range rule.Get("operations").Elements() {
			if !slices.Contains(mutatingOperations, operation.Text()) {
				c.NotSupportedAt(path+".resourceRules.operations", operation, mutatingOperations...)
			}
		}
	}
}

var mutatingOperations = []string{"*", "CONNECT", "CREATE", "UPDATE"}
