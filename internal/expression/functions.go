package expression

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"

	"github.com/capstan-dev/capstan/internal/document"
)

// Functions are the functions and macros that a new expression of a release may use; nil
// for all of them. As in Kubernetes, a release lets new expressions use what the release
// before it knows too, while an expression that is stored may use everything. Its
// environment is made once, at the first use.
type Functions struct{ base func() (*base, error) }

// FunctionsOf are the functions of a release from 1.26 on. selectors says that authorizers
// see the selectors of requests.
func FunctionsOf(since func(release string) bool, selectors bool) *Functions {
	return &Functions{sync.OnceValues(func() (*base, error) {
		env, err := cel.NewEnv(append(languageOf(since), cel.Lib(library{functions: functionsOf(since, selectors)}))...)
		return &base{env: env}, err
	})}
}

// languageOf are the parts of CEL and of its own extensions in a release.
func languageOf(since func(release string) bool) []cel.EnvOption {
	options := []cel.EnvOption{cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false))}
	if since("1.29") {
		options = append(options, cel.CrossTypeNumericComparisons(true), cel.OptionalTypes())
	}
	if since("1.30") {
		options = append(options, ext.Strings(ext.StringsVersion(2)), ext.Sets())
	} else {
		options = append(options, ext.Strings(ext.StringsVersion(0)))
	}
	if since("1.33") {
		options = append(options, ext.TwoVarComprehensions())
	}
	if since("1.35") {
		options = append(options, ext.Lists(ext.ListsVersion(3)))
	}
	return options
}

// functionsOf are the functions of this package in a release.
func functionsOf(since func(release string) bool, selectors bool) []map[string][]cel.FunctionOpt {
	all := []map[string][]cel.FunctionOpt{listFunctions(), regexpFunctions(), urlFunctions()}
	for _, later := range [...]struct {
		release   string
		functions func() map[string][]cel.FunctionOpt
	}{{"1.29", quantityFunctions}, {"1.31", addressFunctions}, {"1.32", formatFunctions}, {"1.34", versionFunctions}} {
		if since(later.release) {
			all = append(all, later.functions())
		}
	}
	if since("1.27") {
		rights := rightsFunctions()
		if !selectors || !since("1.32") {
			delete(rights, "fieldSelector")
			delete(rights, "labelSelector")
		}
		all = append(all, rights)
	}
	return all
}

// restricted is the environment of a scope for new expressions.
type restricted struct {
	of  *Functions
	env *cel.Env
}

// checkNew reports the mistake in a new expression of the scope, a *Problem, that is about
// functions which it may not use.
func (s *Scope) checkNew(f *Functions, text string) error {
	r := s.restricted.Load()
	if r == nil || r.of != f {
		b, err := f.base()
		if err != nil {
			return &Problem{PlanProblem, err.Error()}
		}
		options := s.options[:len(s.options):len(s.options)]
		if s.provider.declared.Changes {
			for name, overloads := range patchFunctions() {
				options = append(options, cel.Function(name, overloads...))
			}
		}
		env, err := b.env.Extend(options...)
		if err != nil {
			return &Problem{PlanProblem, err.Error()}
		}
		r = &restricted{f, env}
		s.restricted.Store(r)
	}
	if _, issues := r.env.Compile(text); issues != nil && issues.Err() != nil {
		return &Problem{SyntaxProblem, issues.String()}
	}
	return nil
}

// Allowed chooses the functions of the expressions of an object. Nil: all of them.
type Allowed struct {
	functions *Functions
	before    map[string]bool
}

// textMembers are the members of objects that hold expressions.
var textMembers = map[string]bool{"expression": true, "messageExpression": true, "valueExpression": true, "rule": true}

// Since are the functions for the expressions of an object that was before, which may use
// all functions where they are kept.
func (f *Functions) Since(before document.Value) *Allowed {
	if f == nil {
		return nil
	}
	a := &Allowed{f, map[string]bool{}}
	a.keep(before)
	return a
}

// keep notes the expressions in a value, whose depth its decoder has bounded.
func (a *Allowed) keep(v document.Value) {
	switch v.Kind() {
	case document.Array:
		for _, elem := range v.Elements() {
			a.keep(elem)
		}
	case document.Object:
		for name, member := range v.Members() {
			if textMembers[name] && member.Kind() == document.String {
				a.before[member.Text()] = true
			}
			a.keep(member)
		}
	}
}

// Compile compiles an expression of a scope as Scope.Compile does, with the functions that
// it may use.
func (a *Allowed) Compile(s *Scope, text string, want Result) (*Program, error) {
	p, err := s.Compile(text, want)
	if problem, ok := err.(*Problem); ok && problem.Kind != ResultProblem {
		return nil, err
	}
	if wrong := a.check(s, text); wrong != nil {
		return nil, wrong
	}
	return p, err
}

// Compose is Compile for Scope.Compose.
func (a *Allowed) Compose(s *Scope, name, text string) error {
	wrong := a.check(s, text)
	if err := s.Compose(name, text); err != nil {
		return err
	}
	return wrong
}

func (a *Allowed) check(s *Scope, text string) error {
	if a == nil || a.before[text] {
		return nil
	}
	return s.checkNew(a.functions, text)
}
