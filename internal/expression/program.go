package expression

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/capstan-dev/capstan/internal/document"
)

// Limits of evaluations, in units of cost.
const (
	CallLimit = 1_000_000 // of one evaluation: about a tenth of a second
	// checkFrequency is the number of steps of loops between two looks at the clock.
	checkFrequency = 100
)

// Errors of evaluations that were ended.
var (
	ErrCost        = errors.New("operation cancelled: actual cost limit exceeded")
	ErrInterrupted = errors.New("operation interrupted")
	// ErrBudget ends evaluations with a common limit.
	ErrBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")
)

// Value is the value of an expression.
type Value = ref.Val

// Program is a compiled expression. It may be used by many at a time.
type Program struct {
	Cost    uint64 // of the worst evaluation; math.MaxUint64 where there is no bound
	scope   *Scope
	checked *cel.Ast
	uses    uint64 // the variables, as bits
	plain   interpreter.Interpretable
	// counting counts costs: several times slower, and large, so it is made when it is
	// needed.
	once     sync.Once
	counting cel.Program
	failed   error
}

// Uses reports whether the expression uses a variable of its scope.
func (p *Program) Uses(variable string) bool {
	for i := range p.scope.variables {
		if p.scope.variables[i].Name == variable {
			return p.uses&(1<<i) != 0
		}
	}
	return false
}

// Bindings are the values of the variables of a scope, for evaluations one after the
// other. The documents of the values must not change meanwhile.
type Bindings struct {
	scope  *Scope
	values []ref.Val // nil: not bound
	later  []func() Value
	space  [3]ref.Val
	extra  uint64 // the cost of composed expressions that were evaluated for others
	course course // of the evaluation under way
	meter  *Meter // of the request, from the first evaluation on
	own    Meter  // without a request
}

// Bind makes bindings without values.
func (s *Scope) Bind() *Bindings {
	b := &Bindings{scope: s}
	if b.values = b.space[:min(len(s.variables), len(b.space))]; len(s.variables) > len(b.space) {
		b.values = make([]ref.Val, len(s.variables))
	}
	for i := range s.variables {
		if c := s.composed; c != nil && s.variables[i].Type == c.is {
			b.values[i] = newComposedValue(b)
		}
	}
	return b
}

// SetValue gives a variable a value that is not a tree.
func (b *Bindings) SetValue(variable int, v Value) { b.values[variable] = v }

// SetLater gives a variable the value that from makes, if an expression asks for it.
func (b *Bindings) SetLater(variable int, from func() Value) {
	if b.later == nil {
		b.later = make([]func() Value, len(b.values))
	}
	b.later[variable] = from
}

// ValueOf is a tree as the value of a variable.
func (s *Scope) ValueOf(variable int, v document.Value) Value {
	return valueOf(v, s.variables[variable].Type)
}

// Set gives the variable at an index of the scope its value. An absent value is one that
// is missing, which only an optional variable may be.
func (b *Bindings) Set(variable int, v document.Value) {
	of := &b.scope.variables[variable]
	switch {
	case of.Optional && !v.Exists():
		b.values[variable] = types.OptionalNone
	case of.Optional:
		b.values[variable] = types.OptionalOf(valueOf(v, of.Type))
	default:
		b.values[variable] = valueOf(v, of.Type)
	}
}

// ResolveName implements interpreter.Activation. Loops ask for "#interrupted" at each
// step, and calls with a price for courseName.
func (b *Bindings) ResolveName(name string) (any, bool) {
	if len(name) > 0 && name[0] == '#' {
		if name == courseName {
			return b, true
		}
		return true, b.interrupted()
	}
	for i := range b.values {
		if b.scope.variables[i].Name == name {
			if b.values[i] == nil && b.later != nil && b.later[i] != nil {
				b.values[i] = b.later[i]()
			}
			return b.values[i], b.values[i] != nil
		}
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (b *Bindings) Parent() interpreter.Activation { return nil }

// Bounded reports whether an evaluation costs at most so much, as long as the values are
// within the bounds of their types. It then needs no count.
func (p *Program) Bounded(limit uint64) bool { return p.Cost <= limit }

// Eval evaluates the expression without counting costs, which has to be Bounded. The
// error is one of the expression ("no such key: a"), ErrInterrupted, ErrCost for loops
// that go on in spite of the bound and for values that grow too large, or ErrBudget for a
// request whose expressions take too much together.
func (p *Program) Eval(ctx context.Context, b *Bindings) (v Value, err error) {
	if err := b.begin(ctx, CallLimit); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, recovered(r)
		}
		err = b.end(min(p.Cost, CallLimit), err)
	}()
	return result(p.plain.Eval(b))
}

// EvalCounting evaluates the expression and counts its cost, at most CallLimit: above it
// the error is ErrCost. The others are those of Eval.
func (p *Program) EvalCounting(ctx context.Context, b *Bindings) (v Value, cost uint64, err error) {
	p.once.Do(func() {
		p.counting, p.failed = p.scope.env.Program(p.checked, cel.CustomDecorator(planPriced(p.scope.base.functions)),
			cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(CallLimit),
			cel.CostTracking(p.scope.costs), cel.InterruptCheckFrequency(checkFrequency))
	})
	if p.failed != nil {
		return nil, 0, p.failed
	}
	if err := b.begin(ctx, 0); err != nil {
		return nil, 0, err
	}
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, recovered(r)
		}
		err = b.end(cost, err)
	}()
	v, details, err := p.counting.Eval(b)
	if actual := details.ActualCost(); actual != nil {
		cost = *actual
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled):
		if cancelled.Cause == interpreter.CostLimitExceeded {
			cost = max(cost, CallLimit)
		}
		return nil, cost, recovered(cancelled)
	case err != nil:
		return nil, cost, err
	}
	v, err = result(v)
	return v, cost, err
}

// result separates errors from values.
func result(v Value) (Value, error) {
	switch v := v.(type) {
	case nil:
		return nil, ErrInterrupted
	case *types.Err:
		return nil, v
	case *types.Unknown:
		return nil, fmt.Errorf("the value is not known")
	}
	return v, nil
}

// recovered is the error of a panic in an evaluation.
func recovered(r any) error {
	if e, ok := r.(interpreter.EvalCancelledError); ok {
		if e.Cause == interpreter.CostLimitExceeded {
			return ErrCost
		}
		return ErrInterrupted
	}
	return fmt.Errorf("internal error: %v", r)
}

// True reports whether the value of a condition is true.
func True(v Value) bool { return v == types.True }

// TextOf is the value of an expression whose result is text.
func TextOf(v Value) string {
	s, _ := v.(types.String)
	return string(s)
}

// Scope is the scope in which the expression was compiled.
func (p *Program) Scope() *Scope { return p.scope }
