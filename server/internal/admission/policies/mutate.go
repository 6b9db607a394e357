package policies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/patch"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Admit implements admission.Mutator: it applies the mutating policies to a write, with all
// their bindings and parameters.
func (p *Policies) Admit(ctx context.Context, r *admission.Request) (changed bool, again func(context.Context) error, err error) {
	var run *mutating
	for policy, bindings := range p.mutating.all(p.cfg.Matcher, r.Operation, r.Resource, r.Subresource) {
		if run == nil {
			if r.User == nil || exempt(r.Resource) {
				return false, nil, nil
			}
			run = &mutating{Policies: p, r: r, subject: p.cfg.Matcher.Subject(r), rights: p.cfg.Matcher.Rights(ctx, r)}
		}
		run.policy(ctx, policy, bindings)
	}
	if run == nil {
		return false, nil, nil
	}
	err = run.round(ctx, false)
	again = run.rounds.Again(r, err, func(ctx context.Context) error { return run.round(ctx, true) })
	return run.rounds.Changed, again, err
}

// mutating is the application of all mutating policies to one write.
type mutating struct {
	*Policies
	r       *admission.Request
	subject *matching.Subject // before any change
	rights  expression.Authorizer
	matched []invocation
	rounds  matching.Rounds[int] // of matched, by their indexes
	refused []refusal
}

// invocation is a policy with a binding and its parameters, for a write that it is for.
type invocation struct {
	*policy
	by  *binding
	in  *api.Resource
	row *catalog.Row // of the parameters; nil for none
}

// refusal is the reason why a policy refuses a write.
type refusal struct {
	message string
	reason  api.Reason
}

// policy finds the bindings of one policy that are for the write.
func (run *mutating) policy(ctx context.Context, of *policy, bindings []*binding) {
	in, row, err := run.about(ctx, of, run.subject)
	if err != nil {
		run.refuse(of, nil, refusal{message: err.Error()})
	}
	if in == nil {
		return
	}
	for _, b := range bindings {
		matches := true
		if b.constraints != nil {
			found, err := run.subject.Match(ctx, b.constraints)
			if err != nil {
				run.refuse(of, b, refusal{message: fmt.Sprintf("failed to configure binding: %v", err)})
			}
			matches = found != nil
		}
		if matches {
			run.matched = append(run.matched, invocation{of, b, in, row})
		}
	}
}

// refuse notes a refusal, unless failures of the policy are ignored.
func (run *mutating) refuse(of *policy, b *binding, why refusal) {
	switch {
	case of.ignoresFailures:
		return
	case b == nil:
		why.message = fmt.Sprintf("policy %q denied request: %s", of.name, why.message)
	default:
		why.message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", of.name, b.name, why.message)
	}
	run.refused = append(run.refused, why)
}

// round applies the matched policies, in the second round those that have to see the write
// again. The error is the refusal, with all reasons.
func (run *mutating) round(ctx context.Context, second bool) error {
	for i := range run.matched {
		of := &run.matched[i]
		if second && !run.rounds.Due(i) || !run.r.Object.Exists() {
			continue
		}
		params, release, err := run.collect(ctx, of.row, of.by.params, run.r.Namespace)
		if err != nil {
			run.refuse(of.policy, of.by, refusal{message: fmt.Sprintf("failed to configure binding: %v", err)})
		}
		for _, param := range params {
			changed, err := run.invoke(ctx, of, param)
			if err != nil {
				release()
				return err
			}
			run.rounds.Ran(i, changed, of.again)
		}
		release()
	}
	if len(run.refused) == 0 {
		return nil
	}
	e := forbidden(run.r, "")
	e.Message = run.refused[0].message
	if reason := run.refused[0].reason; reason != "" {
		e.Reason = reason
	}
	for _, why := range run.refused {
		e.Causes = append(e.Causes, api.Cause{Message: why.message})
	}
	return e
}

// invoke makes the changes of one policy with one parameter, and reports whether there were
// any. The error is one that no policy decides about.
func (run *mutating) invoke(ctx context.Context, of *invocation, param document.Value) (changed bool, err error) {
	c, err := of.changes()
	if err != nil {
		return false, api.Internal(err.Error())
	}
	matches := false
	if err := run.with(ctx, of, param, func(in *matching.Input) (err error) {
		matches, err = of.conditions.Match(ctx, in)
		return err
	}); err != nil {
		run.refuse(of.policy, of.by, refusal{err.Error(), api.ReasonInvalid})
		return false, nil
	}
	if !matches {
		return false, nil
	}
	for i := range c.all {
		var text []byte
		begin := time.Now()
		err := run.with(ctx, of, param, func(in *matching.Input) (err error) {
			text, err = run.change(ctx, &c.all[i], in, in.Bind(ctx, c.scope))
			return err
		})
		var one bool
		if err == nil && text != nil {
			one, err = matching.Change(ctx, run.r, of.in, text, run.cfg.MaxBytes)
		}
		failure := ""
		if err != nil {
			failure = err.Error()
			run.refuse(of.policy, of.by, refusal{failure, api.ReasonInvalid})
		}
		run.cfg.Metrics.Mutated(of.name, of.by.name, failure, time.Since(begin))
		changed = changed || one
	}
	return changed, nil
}

// with calls do with the values of the variables, as they are by then.
func (run *mutating) with(ctx context.Context, of *invocation, param document.Value, do func(*matching.Input) error) error {
	seen, err := matching.See(ctx, run.r, of.in)
	if err != nil {
		return err
	}
	defer seen.Release()
	input := run.cfg.Matcher.Input(run.r, seen, run.rights)
	defer input.Release()
	input.Params = param
	return do(input)
}

// change evaluates one change, and returns the changed object; nil for none, if a test in a
// patch fails.
func (run *mutating) change(ctx context.Context, m *mutation, in *matching.Input, bindings *expression.Bindings) ([]byte, error) {
	budget := expression.Budget(conditions.PolicyBudget)
	value, err := m.spend(ctx, bindings, &budget)
	if err != nil {
		return nil, err
	}
	limits := document.Limits{MaxBytes: run.cfg.MaxBytes}
	if m.patches {
		operations, err := expression.AppendPatch(nil, value, run.cfg.MaxBytes)
		if err != nil {
			return nil, err
		}
		text, err := patch.Admitted(in.Object.AppendJSON(nil), operations, limits)
		if errors.Is(err, patch.ErrTest) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("JSON Patch: %w", err)
		}
		return text, nil
	}
	config, err := expression.AppendJSON(nil, value, run.cfg.MaxBytes)
	if err != nil {
		return nil, err
	}
	text, err := run.merge(in, config, limits)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	return text, nil
}

// merge merges a configuration over the object.
func (run *mutating) merge(in *matching.Input, text []byte, limits document.Limits) ([]byte, error) {
	row := run.cfg.Matcher.Catalog.Snapshot().Resource(in.In.GV.Group, in.In.GV.Version, in.In.Plural)
	if row == nil {
		return nil, errors.New("the resource is gone")
	}
	kind, table := row.Ownership().Kind, row.GV.Types()
	if sub := row.Subresource(run.r.Subresource); run.r.OtherKind && sub != nil && sub.Table != nil {
		version := api.GroupVersion{Group: sub.Group, Version: sub.Version}
		kind, table = apply.Kind{Table: row.SchemaOf(sub).Merging(), Type: sub.Type, APIVersion: version.APIVersion(), Name: sub.Kind}, sub.Table
	}
	decoder := document.Decoder{Table: table, Limits: limits}
	typed, problems, err := decoder.Decode(kind.Type, text)
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	typed.Release()
	if problems = slices.DeleteFunc(problems, func(p document.Problem) bool { return p.Loose }); len(problems) > 0 {
		return nil, fmt.Errorf("failed to convert patch object to typed object: .%s: field not declared in schema", strings.TrimPrefix(problems[0].Path, "."))
	}
	config, err := document.DecodeAny(text, limits)
	if err != nil {
		return nil, err
	}
	defer config.Release()
	return kind.Merge(in.Object, config.Root())
}
