package expression

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/capstan-dev/capstan/openapi"
)

// ComposedName is the variable whose members are the expressions of Compose.
const ComposedName = "variables"

var composedType = openapi.Word() + ".variables"

// composition is the named expressions of a scope.
type composition struct {
	is       *Type
	programs []*Program
}

// Composed is the variable that has the expressions of Compose.
func Composed() Variable {
	return Variable{Name: ComposedName, Type: &Type{Kind: Object, byEscaped: map[string]*Field{}, native: types.NewObjectType(composedType)}}
}

// Compose adds a named expression of any type to the scope: expressions that are compiled
// later use it as variables.<name>. Bindings evaluate it when it is first used. The scope
// has to have Composed among its variables. A wrong expression is a *Problem, and has no
// type then.
func (s *Scope) Compose(name, text string) error {
	p, err := s.Compile(text, Anything)
	c := s.composed
	index := len(c.programs)
	c.programs = append(c.programs, p)
	native := types.DynType
	if err == nil {
		native = plain(p.checked.OutputType())
	}
	c.is.byEscaped[name] = &Field{Name: name, Type: dynamic, escaped: name, access: &types.FieldType{Type: native,
		IsSet: func(target any) bool { _, ok := target.(*composedValue); return ok },
		GetFrom: func(target any) (any, error) {
			v, ok := target.(*composedValue)
			if !ok {
				return nil, noSuchKey(name)
			}
			if err != nil {
				return nil, fmt.Errorf("composited variable %q fails to compile: %v", name, err)
			}
			return v.get(index, name)
		}}}
	return err
}

// plain is the type of a composed expression for those that use it: types of objects are
// not known to them.
func plain(t *types.Type) *types.Type {
	switch t.Kind() {
	case types.BoolKind, types.BytesKind, types.DoubleKind, types.DurationKind, types.IntKind, types.NullTypeKind,
		types.StringKind, types.TimestampKind, types.UintKind:
		return t
	case types.ListKind:
		return types.NewListType(plain(t.Parameters()[0]))
	case types.MapKind:
		return types.NewMapType(plain(t.Parameters()[0]), plain(t.Parameters()[1]))
	}
	return types.DynType
}

// composedValue has the values of composed expressions, once they were used. What has
// failed once is not evaluated again.
type composedValue struct {
	b      *Bindings
	values []ref.Val
	failed []error
}

func newComposedValue(b *Bindings) *composedValue {
	n := len(b.scope.composed.programs)
	return &composedValue{b, make([]ref.Val, n), make([]error, n)}
}

func (c *composedValue) get(i int, name string) (ref.Val, error) {
	if c.values[i] == nil && c.failed[i] == nil {
		v, err := c.evaluate(i)
		if err != nil && len(err.Error()) < maxReason {
			err = fmt.Errorf("composited variable %q fails to evaluate: %w", name, err)
		}
		c.values[i], c.failed[i] = v, err
	}
	return c.values[i], c.failed[i]
}

// evaluate evaluates a composed expression as a part of the evaluation that uses it.
func (c *composedValue) evaluate(i int) (ref.Val, error) {
	b := c.b
	around := b.course
	if around.variables == maxVariables {
		return nil, fmt.Errorf("more than %d variables need each other", maxVariables)
	}
	b.course.variables++
	v, cost, err := b.scope.composed.programs[i].evaluate(around.ctx, b, CallLimit)
	around.start = b.course.start
	b.course = around
	b.extra += cost
	return v, err
}

// maxReason bounds the reason of a failure, in bytes: each variable adds its name, and
// those that many others need are many.
const maxReason = 1024

// ConvertToNative implements ref.Val.
func (c *composedValue) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", composedType, to)
}

// ConvertToType implements ref.Val.
func (c *composedValue) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("type conversion error from '%s' to '%s'", composedType, to.TypeName())
}

// Equal implements ref.Val.
func (c *composedValue) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(c) == other) }

// Type implements ref.Val.
func (c *composedValue) Type() ref.Type { return c.b.scope.composed.is.native }

// Value implements ref.Val: the value itself, which fields are taken from.
func (c *composedValue) Value() any { return c }

// Budget bounds evaluations one after the other, in units of cost.
type Budget uint64

// cheap is a worst cost at which evaluations are not counted.
const cheap = 1000

// evaluate evaluates the expression, counting only if it has to, and returns its cost, or
// the worst one, without that of composed expressions.
func (p *Program) evaluate(ctx context.Context, b *Bindings, limit uint64) (v Value, cost uint64, err error) {
	if p.Cost <= min(cheap, limit) {
		v, err = p.Eval(ctx, b)
		return v, p.Cost, err
	}
	return p.EvalCounting(ctx, b)
}

// Call evaluates the expression by itself, within CallLimit: above it the error is ErrCost. The others are those
// of EvalCounting.
func (p *Program) Call(ctx context.Context, b *Bindings) (Value, error) {
	budget := Budget(CallLimit)
	v, err := p.Spend(ctx, b, &budget)
	if errors.Is(err, ErrBudget) {
		err = ErrCost
	}
	return v, err
}

// Spend evaluates the expression and takes the cost from the budget. ErrBudget reports
// that it did not suffice; the error is one of the expression otherwise, as that of
// EvalCounting.
func (p *Program) Spend(ctx context.Context, b *Bindings, budget *Budget) (Value, error) {
	b.extra = 0
	v, cost, err := p.evaluate(ctx, b, uint64(*budget))
	if cost += b.extra; cost > uint64(*budget) || errors.Is(err, ErrBudget) {
		*budget = 0
		return nil, ErrBudget
	}
	*budget -= Budget(cost)
	return v, err
}
