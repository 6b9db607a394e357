package expression

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// Variable is a name that the expressions of a scope may use.
type Variable struct {
	Name     string
	Type     *Type // nil: a dynamic value
	Optional bool  // the value may be missing: it is an optional value in expressions
}

// Scope holds variables, and compiles the expressions that use them.
type Scope struct {
	base      *base
	env       *cel.Env
	provider  *provider
	variables []Variable
	costs     *costs
	composed  *composition // nil without the variable for it

	options    []cel.EnvOption            // the variables and their types
	restricted atomic.Pointer[restricted] // for new expressions; nil before the first one
}

// NewScope makes a scope. types has the types of the variables and all below them; nil
// when all variables are dynamic.
func NewScope(ts *Types, variables ...Variable) (*Scope, error) {
	return newScope(theBase, ts, nil, variables...)
}

// NewBindingScope makes a scope whose expressions may bind values to names by cel.bind.
func NewBindingScope(ts *Types, variables ...Variable) (*Scope, error) {
	return newScope(theBase, ts, []cel.EnvOption{ext.Bindings(ext.BindingsVersion(0))}, variables...)
}

// NewIncludingScope is NewBindingScope with the function includes, which asks whether a value is another one or a list with it. It
// has a type and a cost: expressions of the scope are compiled, and others evaluate them.
func NewIncludingScope(ts *Types, variables ...Variable) (*Scope, error) {
	includes := cel.Function("includes", cel.MemberOverload("dra_includes_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.BoolType))
	return newScope(theBase, ts, []cel.EnvOption{ext.Bindings(ext.BindingsVersion(0)), includes}, variables...)
}

func newScope(made func() (*base, error), ts *Types, further []cel.EnvOption, variables ...Variable) (*Scope, error) {
	b, err := made()
	if err != nil {
		return nil, err
	}
	if ts == nil {
		ts = new(Types)
	}
	s := &Scope{base: b, variables: variables, costs: &costs{variables: map[string]*Type{}}}
	s.provider = &provider{Provider: b.env.CELTypeProvider(), adapter: b.env.CELTypeAdapter(), declared: ts}
	options := append([]cel.EnvOption{cel.CustomTypeProvider(s.provider), cel.CustomTypeAdapter(s.provider)}, further...)
	for i := range variables {
		v := &s.variables[i]
		if v.Type == nil {
			v.Type = dynamic
		}
		if v.Name == ComposedName {
			s.composed = &composition{is: v.Type}
			s.provider.composed = v.Type
		}
		if s.costs.variables[v.Name] = v.Type; i == 0 {
			s.costs.first = v.Type
		}
		native := v.Type.native
		if v.Optional {
			native = types.NewOptionalType(native)
		}
		options = append(options, cel.Variable(v.Name, native))
	}
	s.options = options
	s.env, err = b.env.Extend(options...)
	return s, err
}

// Result is the type of the values of an expression.
type Result uint8

// The results that expressions may have.
const (
	Condition Result = iota // true or false
	Text
	TextOrNull
	Configuration // of the type Object
	Patches       // a list of the type JSONPatch
	Anything
	ConditionOrUnknown // true or false, as far as a value of the kind Unknown shows
	ConditionOrDynamic // the same of the kind Dynamic
)

func (r Result) allows(is *cel.Type) bool {
	switch r {
	case Condition:
		return is == cel.BoolType
	case ConditionOrUnknown:
		return is == cel.BoolType || is == cel.AnyType
	case ConditionOrDynamic:
		return is == cel.BoolType || is == cel.AnyType || is == cel.DynType
	case Text:
		return is == cel.StringType
	case TextOrNull:
		return is == cel.StringType || is == cel.NullType
	case Configuration:
		return is.IsExactType(configurationType)
	case Patches:
		return is.IsExactType(patchesType)
	}
	return true
}

// ProblemKind says at which step a compilation failed.
type ProblemKind uint8

// The steps of a compilation.
const (
	SyntaxProblem ProblemKind = iota // the text, its names or its types
	ResultProblem                    // the type of its value
	PlanProblem                      // everything else
)

// Problem is the reason why a text is not an expression of a scope.
type Problem struct {
	Kind   ProblemKind
	Detail string // of a SyntaxProblem the lines that cel-go writes, with positions; of a ResultProblem the type
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// Compile compiles an expression whose value is a result. The error is a *Problem.
func (s *Scope) Compile(text string, want Result) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, &Problem{PlanProblem, fmt.Sprintf("the expression cannot be compiled: %v", r)}
		}
	}()
	if expanded(text) > maxExpanded {
		return nil, &Problem{SyntaxProblem, "optMap and optFlatMap double their operand: the expression is too large with them"}
	}
	parsed, issues := s.env.Parse(text)
	if issues != nil && issues.Err() != nil {
		return nil, &Problem{SyntaxProblem, issues.String()}
	}
	if nesting(parsed.NativeRep().Expr()) > maxNesting {
		return nil, &Problem{SyntaxProblem, fmt.Sprintf("lists and maps may be nested in %d others", maxNesting)}
	}
	checked, issues := s.env.Check(parsed)
	if issues != nil && issues.Err() != nil {
		return nil, &Problem{SyntaxProblem, issues.String()}
	}
	if is := checked.OutputType(); !want.allows(is) {
		return nil, &Problem{ResultProblem, is.String()}
	}
	p = &Program{scope: s, checked: checked}
	if err := p.plan(); err != nil {
		return nil, &Problem{PlanProblem, err.Error()}
	}
	worst, err := s.env.EstimateCost(checked, s.costs)
	if err != nil {
		return nil, &Problem{PlanProblem, err.Error()}
	}
	p.Cost = worst.Max
	for _, r := range checked.NativeRep().ReferenceMap() {
		for i := range s.variables {
			if r.Name == s.variables[i].Name {
				p.uses |= 1 << i
			}
		}
	}
	return p, nil
}

// plan prepares the evaluation without a count of costs.
func (p *Program) plan() error {
	s := p.scope
	attributes := interpreter.NewAttributeFactory(s.env.Container, s.provider, s.provider)
	plain := interpreter.NewInterpreter(s.base.functions, s.env.Container, s.provider, s.provider, attributes)
	var err error
	p.plain, err = plain.NewInterpretable(p.checked.NativeRep(), interpreter.CustomDecorator(planOptional),
		interpreter.CustomDecorator(planPriced(s.base.functions)),
		interpreter.InterruptableEval(), interpreter.Optimize())
	return err
}

// Index is the index of a variable; -1 for one that the scope does not have.
func (s *Scope) Index(variable string) int {
	return slices.IndexFunc(s.variables, func(v Variable) bool { return v.Name == variable })
}
