package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The actions of bindings.
const (
	deny  = "Deny"
	warn  = "Warn"
	audit = "Audit"
)

// Bounds of texts that expressions make, in bytes.
const (
	maxMessage = 5 << 10
	maxNote    = 10 << 10
)

const failureKey = "validation.policy.admission." + profile.GroupSuffix + "/validation_failure"

// Check applies the validating policies to a write, and decides on policies themselves. The first refusal, in the order of the
// policies and their bindings, is the answer; warnings and annotations are those of all.
func (p *Policies) Check(ctx context.Context, r *admission.Request) error {
	if err := p.mayRead(ctx, r); err != nil {
		return err
	}
	var run *validating
	for policy, bindings := range p.validating.all(p.cfg.Matcher, r.Operation, r.Resource, r.Subresource) {
		if run == nil {
			if r.User == nil || exempt(r.Resource) {
				return nil
			}
			run = &validating{Policies: p, r: r, subject: p.cfg.Matcher.Subject(r), rights: p.cfg.Matcher.Rights(ctx, r)}
		}
		run.policy(ctx, policy, bindings)
	}
	if run == nil {
		return nil
	}
	return run.refused
}

// validating is the application of all validating policies to one write.
type validating struct {
	*Policies
	r       *admission.Request
	subject *matching.Subject
	rights  expression.Authorizer
	refused error // the first refusal
}

// policy applies one policy.
func (run *validating) policy(ctx context.Context, of *policy, bindings []*binding) {
	in, row, err := run.about(ctx, of, run.subject)
	if err != nil {
		run.misconfigured(of, nil, err)
	}
	if in == nil {
		return
	}
	one := &validatingPolicy{validating: run, policy: of, in: in, row: row}
	defer one.release()
	for _, b := range bindings {
		if err := one.binding(ctx, b); err != nil {
			run.misconfigured(of, b, fmt.Errorf("failed to configure binding: %w", err))
		}
	}
	for _, n := range one.notes {
		run.r.Annotate(of.name+"/"+n.key, strings.Join(n.values, ", "))
	}
}

// misconfigured refuses a write because of a policy that cannot be applied.
func (run *validating) misconfigured(of *policy, b *binding, err error) {
	if !of.ignoresFailures {
		run.refuse(of, b, decision{broken: true, message: err.Error()})
	}
}

// refuse makes the answer, unless there is one.
func (run *validating) refuse(of *policy, b *binding, d decision) {
	if run.refused != nil {
		return
	}
	by := "ValidatingAdmissionPolicy '" + of.name + "'"
	if b != nil {
		by += " with binding '" + b.name + "'"
	}
	message := by + " denied request: " + d.message
	e := forbidden(run.r, message)
	e.Reason, e.Code = api.ReasonInvalid, http.StatusUnprocessableEntity
	switch d.reason {
	case api.ReasonForbidden:
		e.Reason, e.Code = d.reason, http.StatusForbidden
	case api.ReasonRequestEntityTooLarge:
		e.Reason, e.Code = d.reason, http.StatusRequestEntityTooLarge
	}
	e.Causes = append(e.Causes, api.Cause{Message: message})
	run.refused = e
}

// forbidden is the refusal of a write.
func forbidden(r *admission.Request, message string) *api.Error {
	name := r.Name
	for _, path := range [...]string{"name", "generateName"} {
		if name == "" {
			name = r.Object.At("metadata", path).Text()
		}
	}
	if name == "" {
		name = "Unknown"
	}
	return api.Forbidden(r.Asked.GroupResource(), name, message)
}

// decision is the result of one validation.
type decision struct {
	broken  bool
	message string // "" of one that is fulfilled
	reason  api.Reason
	took    time.Duration
}

// note is an annotation of audit events, with the values of all bindings and parameters.
type note struct {
	key    string
	values []string
}

// validatingPolicy is the application of one policy to one write.
type validatingPolicy struct {
	*validating
	*policy
	in    *api.Resource // the version that the policy sees
	row   *catalog.Row  // of the parameters; nil for none
	seen  *matching.View
	notes []note
}

func (v *validatingPolicy) release() {
	if v.seen != nil {
		v.seen.Release()
	}
}

// binding applies the policy with each parameter of a binding. The error is one of the
// binding's configuration.
func (v *validatingPolicy) binding(ctx context.Context, b *binding) error {
	if b.constraints != nil {
		if in, err := v.subject.Match(ctx, b.constraints); err != nil || in == nil {
			return err
		}
	}
	params, release, err := v.collect(ctx, v.row, b.params, v.r.Namespace)
	defer release()
	if err != nil || len(params) == 0 {
		return err
	}
	if v.seen == nil {
		if v.seen, err = matching.See(ctx, v.r, v.in); err != nil {
			return fmt.Errorf("failed to convert object version: %w", err)
		}
	}
	for _, param := range params {
		v.evaluate(ctx, b, param)
	}
	return nil
}

// evaluate applies the policy with one parameter, and enforces the decisions.
func (v *validatingPolicy) evaluate(ctx context.Context, b *binding, param document.Value) {
	input := v.cfg.Matcher.Input(v.r, v.seen, v.rights)
	defer input.Release()
	input.Params = param
	decisions, err := v.decide(ctx, b, input)
	if err != nil {
		decisions = []decision{{broken: !v.ignoresFailures, message: err.Error()}}
	}
	for i, d := range decisions {
		if d.broken {
			v.enforce(b, i, d)
		} else if d.message != "" {
			v.cfg.Metrics.Checked(v.name, b.name, "allow", d.message, d.took)
		}
	}
}

// enforce does what the binding says about a broken validation.
func (v *validatingPolicy) enforce(b *binding, index int, d decision) {
	for _, action := range b.actions {
		v.cfg.Metrics.Checked(v.name, b.name, action, d.message, d.took)
		switch action {
		case deny:
			v.refuse(v.policy, b, d)
		case warn:
			v.r.By.Warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", v.name, b.name, d.message))
		case audit:
			text, _ := json.Marshal([]failure{{d.message, v.name, b.name, index, b.actions}}) // texts and a number
			v.r.Annotate(failureKey, string(text))
		}
	}
}

// failure is a broken validation in audit events.
type failure struct {
	Message           string   `json:"message"`
	Policy            string   `json:"policy"`
	Binding           string   `json:"binding"`
	ExpressionIndex   int      `json:"expressionIndex"`
	ValidationActions []string `json:"validationActions"`
}

// decide evaluates the expressions. The error says why all of them have no value.
func (v *validatingPolicy) decide(ctx context.Context, b *binding, input *matching.Input) ([]decision, error) {
	rules, err := v.rules()
	if err != nil {
		return nil, err
	}
	switch matches, err := v.conditions.Match(ctx, input); {
	case err != nil && !v.ignoresFailures:
		return nil, err
	case !matches:
		return nil, nil
	}
	budget := expression.Budget(conditions.PolicyBudget)
	bindings := input.Bind(ctx, rules.scope)
	decisions := make([]decision, len(rules.validations))
	for i := range rules.validations {
		begin := time.Now()
		if decisions[i], err = v.one(ctx, &rules.validations[i], bindings, &budget); err != nil {
			return nil, err
		}
		decisions[i].took = time.Since(begin)
	}
	return decisions, v.annotate(ctx, b, rules.annotations, bindings)
}

// one evaluates one validation. The error ends the evaluation of all.
func (v *validatingPolicy) one(ctx context.Context, rule *validation, bindings *expression.Bindings, budget *expression.Budget) (decision, error) {
	value, err := rule.spend(ctx, bindings, budget)
	switch {
	case errors.Is(err, expression.ErrBudget):
		return decision{}, err
	case err != nil:
		return decision{broken: !v.ignoresFailures, message: err.Error()}, nil
	case expression.True(value):
		return decision{}, nil
	}
	d := decision{broken: true, reason: rule.reason}
	if rule.says != nil {
		switch value, err := rule.says.Spend(ctx, bindings, budget); {
		case errors.Is(err, expression.ErrBudget):
			return decision{broken: !v.ignoresFailures, message: "failed messageExpression: " + err.Error()}, nil
		case err == nil:
			if text := strings.TrimSpace(expression.TextOf(value)); len(text) <= maxMessage && !strings.Contains(text, "\n") {
				d.message = text
			}
		}
	}
	if d.message == "" {
		d.message = rule.message
	}
	if d.message == "" {
		d.message = "failed expression: " + strings.TrimSpace(rule.text)
	}
	return d, nil
}

// spend evaluates the expression. Errors but ErrBudget are those of its value.
func (c *compiled) spend(ctx context.Context, bindings *expression.Bindings, budget *expression.Budget) (expression.Value, error) {
	if c.err != nil {
		return nil, fmt.Errorf("compilation error: compilation failed: %w", c.err)
	}
	value, err := c.program.Spend(ctx, bindings, budget)
	if err != nil && !errors.Is(err, expression.ErrBudget) {
		err = matching.NoValue(c.text, err)
	}
	return value, err
}

// annotate evaluates the annotations, and keeps them until all bindings are applied. One
// without a value refuses the write whatever the binding says, unless failures are ignored.
func (v *validatingPolicy) annotate(ctx context.Context, b *binding, annotations []annotation, bindings *expression.Bindings) error {
	budget := expression.Budget(conditions.PolicyBudget)
	for i := range annotations {
		a, begin := &annotations[i], time.Now()
		value, err := a.spend(ctx, bindings, &budget)
		switch {
		case errors.Is(err, expression.ErrBudget):
			return err
		case err != nil:
			if !v.ignoresFailures {
				v.refuse(v.policy, b, decision{message: err.Error()})
				v.cfg.Metrics.Checked(v.name, b.name, deny, err.Error(), time.Since(begin))
			}
		default:
			if text := strings.TrimSpace(expression.TextOf(value)); text != "" {
				v.note(a.key, text[:min(len(text), maxNote)])
			}
		}
	}
	return nil
}

func (v *validatingPolicy) note(key, value string) {
	i := slices.IndexFunc(v.notes, func(n note) bool { return n.key == key })
	if i < 0 {
		v.notes = append(v.notes, note{key, []string{value}})
	} else if !slices.Contains(v.notes[i].values, value) {
		v.notes[i].values = append(v.notes[i].values, value)
	}
}
