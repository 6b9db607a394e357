package policies

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// mostTypes bounds the kinds that a policy's expressions are checked for.
const mostTypes = 10

// retry is the time between attempts to write a status.
const retry = time.Second

// statusManager is the field manager of the status.
const statusManager = "validatingadmissionpolicy-status-controller"

// CheckTypes keeps the mistakes of types in the status of validating policies, until ctx
// ends.
func (p *Policies) CheckTypes(ctx context.Context, to *objects.Objects) {
	policies := p.validating.policies
	for done := policies.View(); ctx.Err() == nil; {
		failed := false
		for _, one := range policies.View().Under("") {
			if one.observed >= one.generation {
				continue
			}
			if err := p.writeStatus(ctx, to, one); err != nil && !api.IsReason(err, api.ReasonNotFound) {
				p.cfg.Log.Error("cannot write the mistakes of types of an admission policy; trying again", "policy", one.name, "error", err, "in", retry)
				failed = true
			}
		}
		wait, cancel := ctx, context.CancelFunc(func() {})
		if failed {
			wait, cancel = context.WithTimeout(ctx, retry)
		}
		if next, err := policies.Next(wait, done); err == nil {
			done = next
		} else if !failed {
			cancel()
			return // closed
		}
		cancel()
	}
}

func (p *Policies) writeStatus(ctx context.Context, to *objects.Objects, of *policy) error {
	row := p.cfg.Matcher.Catalog.Snapshot().Stored(group, "validatingadmissionpolicies")
	_, err := to.Write(ctx, &objects.Write{Ref: objects.Ref{Row: row, Name: of.name, Sub: row.Subresource("status")},
		Opts: objects.Options{Manager: statusManager},
		Change: objects.Editing(func(obj document.Value) error {
			if generation, _ := obj.At("metadata", "generation").Int(); generation != of.generation {
				return objects.ErrNothing // the change is in the next view
			}
			status := obj.SetObject("status")
			status.SetInt("observedGeneration", of.generation)
			checking := status.SetObject("typeChecking")
			checking.Remove("expressionWarnings")
			for _, w := range p.mistakes(obj.Get("spec")) {
				entry := checking.SetArray("expressionWarnings").AppendObject()
				entry.SetString("fieldRef", w.name)
				entry.SetString("warning", w.text)
			}
			return nil
		})})
	return err
}

// mistakes are the expressions of a policy that do not fit to the types of the kinds that
// it is for.
func (p *Policies) mistakes(spec document.Value) (all []named) {
	snapshot := p.cfg.Matcher.Catalog.Snapshot()
	rows := kindsOf(snapshot, spec.At("matchConstraints", "resourceRules"))
	var params *catalog.Row
	kind := spec.Get("paramKind")
	if kind.Exists() {
		params = snapshot.Kind(kind.Get("apiVersion").Text(), kind.Get("kind").Text())
	}
	var scopes []*expression.Scope
	variables := readVariables(spec.Get("variables"))
	for _, row := range rows {
		scope, err := typedScope(row, params, kind.Exists())
		if err != nil {
			return nil // it is logged when the policy is applied
		}
		for _, v := range variables {
			_ = scope.Compose(v.name, v.text)
		}
		scopes = append(scopes, scope)
	}
	for i, v := range spec.Get("validations").Elements() {
		for _, member := range [...]string{"expression", "messageExpression"} {
			text := v.Get(member).Text()
			if text == "" {
				continue
			}
			var found []string
			for k, scope := range scopes {
				if _, err := scope.Compile(text, expression.Anything); err != nil {
					found = append(found, rows[k].GV.APIVersion()+", Kind="+rows[k].Kind+": "+err.Error()+"\n")
				}
			}
			if found != nil {
				all = append(all, named{"spec.validations[" + strconv.Itoa(i) + "]." + member, strings.Join(found, "\n")})
			}
		}
	}
	return all
}

// typedScope is a scope with the types of a kind's objects.
func typedScope(row, params *catalog.Row, hasParams bool) (*expression.Scope, error) {
	k := conditions.Kind{Authorizer: true, Composed: true, Params: hasParams, Types: new(expression.Types)}
	k.ObjectType = k.Types.OfTable("", row.GV.Types(), row.Type)
	if params != nil {
		k.ParamsType = k.Types.OfTable("params ", params.GV.Types(), params.Type)
	}
	return conditions.Scope(k)
}

// kindsOf are the resources that rules name without wildcards, in the order of groups,
// versions and kinds.
func kindsOf(snapshot *catalog.Snapshot, rules document.Value) (rows []*catalog.Row) {
	for _, rule := range rules.Elements() {
		for _, group := range rule.Get("apiGroups").Texts() {
			for _, version := range rule.Get("apiVersions").Texts() {
				for _, plural := range rule.Get("resources").Texts() {
					row := snapshot.Resource(group, version, plural)
					if row != nil && len(rows) < mostTypes && !slices.Contains(rows, row) {
						rows = append(rows, row)
					}
				}
			}
		}
	}
	slices.SortFunc(rows, func(a, b *catalog.Row) int {
		return strings.Compare(a.GV.APIVersion()+" "+a.Kind, b.GV.APIVersion()+" "+b.Kind)
	})
	return rows
}
