package policies

import (
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// policy is an admission policy. It never changes.
type policy struct {
	name            string
	constraints     matching.Constraints
	conditions      *matching.Conditions
	ignoresFailures bool
	params          *paramKind // nil for none
	generation      int64
	observed        int64                    // of which the status reports
	rules           func() (*rules, error)   // of a validating policy, compiled once
	changes         func() (*changes, error) // of a mutating policy, compiled once
	again           bool                     // a mutating policy wants to see later changes
}

// paramKind names the kind of a policy's parameters.
type paramKind struct{ apiVersion, kind string }

// String is the name as messages have it.
func (k *paramKind) String() string { return k.apiVersion + ", Kind=" + k.kind }

func readPolicy(obj document.Value) *policy {
	spec := obj.Get("spec")
	p := &policy{name: textAt(obj, "metadata", "name"), constraints: matching.Read(spec.Get("matchConstraints"), "resourceRules", "excludeResourceRules"),
		ignoresFailures: spec.Get("failurePolicy").Equals("Ignore")}
	p.generation, _ = obj.At("metadata", "generation").Int()
	p.observed, _ = obj.At("status", "observedGeneration").Int()
	if kind := spec.Get("paramKind"); kind.Kind() == document.Object {
		p.params = &paramKind{textAt(kind, "apiVersion"), textAt(kind, "kind")}
	}
	p.conditions = matching.ReadConditions(spec.Get("matchConditions"), p.params != nil, metrics.Conditions{Name: p.name, Kind: "policy", Type: "validate"})
	return p
}

// textAt is a text that is kept longer than its document.
func textAt(v document.Value, path ...string) string { return strings.Clone(v.At(path...).Text()) }

// named is a named expression.
type named struct{ name, text string }

func readVariables(list document.Value) (all []named) {
	for _, v := range list.Elements() {
		all = append(all, named{textAt(v, "name"), textAt(v, "expression")})
	}
	return all
}

// scopeOf is the scope of a policy's expressions. Variables that cannot be compiled have no
// value.
func (p *policy) scopeOf(variables []named, changes bool) (*expression.Scope, error) {
	s, err := conditions.Scope(conditions.Kind{Params: p.params != nil, Authorizer: true, Composed: len(variables) > 0, Changes: changes})
	if err != nil {
		return nil, err
	}
	for _, v := range variables {
		_ = s.Compose(v.name, v.text)
	}
	return s, nil
}

// compiled is an expression with its program, or the reason why there is none.
type compiled struct {
	text    string
	program *expression.Program
	err     error
}

func compile(s *expression.Scope, text string, want expression.Result) compiled {
	c := compiled{text: text}
	if c.program, c.err = s.Compile(text, want); c.err != nil {
		c.program = nil
	}
	return c
}

// rules are the compiled expressions of a validating policy.
type rules struct {
	scope       *expression.Scope
	validations []validation
	annotations []annotation
}

type validation struct {
	compiled
	says    *expression.Program // the message; nil for none
	message string
	reason  api.Reason
}

type annotation struct {
	compiled
	key string
}

// readValidating reads a validating policy.
func readValidating(obj document.Value) *policy {
	p := readPolicy(obj)
	spec := obj.Get("spec")
	variables := readVariables(spec.Get("variables"))
	var checks, notes [][4]string
	for _, v := range spec.Get("validations").Elements() {
		checks = append(checks, [4]string{textAt(v, "expression"), textAt(v, "messageExpression"), textAt(v, "message"), textAt(v, "reason")})
	}
	for _, v := range spec.Get("auditAnnotations").Elements() {
		notes = append(notes, [4]string{textAt(v, "key"), textAt(v, "valueExpression")})
	}
	p.rules = sync.OnceValues(func() (*rules, error) {
		scope, err := p.scopeOf(variables, false)
		if err != nil {
			return nil, err
		}
		r := &rules{scope: scope}
		for _, c := range checks {
			v := validation{compiled: compile(scope, c[0], expression.Condition), message: strings.TrimSpace(c[2]), reason: api.Reason(c[3])}
			if c[1] != "" {
				v.says = compile(scope, c[1], expression.Text).program
			}
			r.validations = append(r.validations, v)
		}
		for _, n := range notes {
			r.annotations = append(r.annotations, annotation{compile(scope, n[1], expression.TextOrNull), n[0]})
		}
		return r, nil
	})
	return p
}

// changes are the compiled expressions of a mutating policy.
type changes struct {
	scope *expression.Scope
	all   []mutation
}

// mutation is an expression whose value is a JSON patch or a configuration.
type mutation struct {
	compiled
	patches bool
}

// readMutating reads a mutating policy.
func readMutating(obj document.Value) *policy {
	p := readPolicy(obj)
	spec := obj.Get("spec")
	p.again = spec.Get("reinvocationPolicy").Equals("IfNeeded")
	variables := readVariables(spec.Get("variables"))
	var texts [][2]string
	for _, v := range spec.Get("mutations").Elements() {
		texts = append(texts, [2]string{textAt(v, "jsonPatch", "expression"), textAt(v, "applyConfiguration", "expression")})
	}
	p.changes = sync.OnceValues(func() (*changes, error) {
		scope, err := p.scopeOf(variables, true)
		if err != nil {
			return nil, err
		}
		c := &changes{scope: scope}
		for _, text := range texts {
			if text[0] != "" {
				c.all = append(c.all, mutation{compile(scope, text[0], expression.Patches), true})
			} else {
				c.all = append(c.all, mutation{compile(scope, text[1], expression.Configuration), false})
			}
		}
		return c, nil
	})
	return p
}

// binding puts a policy in effect. It never changes.
type binding struct {
	name, policy string
	constraints  *matching.Constraints // nil for all writes that the policy is for
	params       *paramRef
	actions      []string // of a validating policy
}

// paramRef names the parameters of a binding: one by its name, or those with labels.
type paramRef struct {
	name, namespace string
	labels          selector.Requirements
	byLabels        bool
	needed          bool // it is a failure if there are none
}

func readBinding(obj document.Value) *binding {
	spec := obj.Get("spec")
	b := &binding{name: textAt(obj, "metadata", "name"), policy: textAt(spec, "policyName")}
	for _, action := range spec.Get("validationActions").Texts() {
		b.actions = append(b.actions, strings.Clone(action))
	}
	if v := spec.Get("matchResources"); v.Kind() == document.Object {
		c := matching.Read(v, "resourceRules", "excludeResourceRules")
		c.Everything = len(c.Rules) == 0
		b.constraints = &c
	}
	if v := spec.Get("paramRef"); v.Kind() == document.Object {
		b.params = &paramRef{name: textAt(v, "name"), namespace: textAt(v, "namespace"), labels: selector.ReadRequirements(v.Get("selector")),
			byLabels: v.Get("selector").Kind() == document.Object, needed: v.Get("parameterNotFoundAction").Equals("Deny")}
	}
	return b
}
