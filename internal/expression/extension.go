package expression

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// class describes a type of values that only the functions of this package make: how they
// are compared and written.
type class[T any] struct {
	is    *types.Type
	equal func(a, b T) bool
	text  func(T) string // nil: they cannot become text
	size  func(T) int    // in bytes, for the cost of functions; nil: it does not matter
}

// value is a value of a class.
type value[T any] struct {
	*class[T]
	v T
}

// sized is a value of a class whose values have a size.
type sized[T any] struct{ value[T] }

// of makes a value.
func (c *class[T]) of(v T) ref.Val {
	if c.size != nil {
		return &sized[T]{value[T]{c, v}}
	}
	return &value[T]{c, v}
}

// in takes the value of a class out of a value of CEL; false for one of another type.
func (c *class[T]) in(v ref.Val) (T, bool) {
	switch v := v.(type) {
	case *value[T]:
		return v.v, true
	case *sized[T]:
		return v.v, true
	}
	var none T
	return none, false
}

// Size implements traits.Sizer.
func (v *sized[T]) Size() ref.Val { return types.Int(v.size(v.v)) }

// Equal implements ref.Val.
func (v *value[T]) Equal(other ref.Val) ref.Val {
	with, ok := v.in(other)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(v.equal(v.v, with))
}

// Type implements ref.Val.
func (v *value[T]) Type() ref.Type { return v.is }

// Value implements ref.Val.
func (v *value[T]) Value() any { return v.v }

// ConvertToType implements ref.Val.
func (v *value[T]) ConvertToType(to ref.Type) ref.Val {
	switch {
	case to == ref.Type(v.is):
		return v
	case to == ref.Type(types.TypeType):
		return v.is
	case to == ref.Type(types.StringType) && v.text != nil:
		return types.String(v.text(v.v))
	}
	return types.NewErr("type conversion error from '%s' to '%s'", v.is.TypeName(), to.TypeName())
}

// ConvertToNative implements ref.Val.
func (v *value[T]) ConvertToNative(to reflect.Type) (any, error) {
	switch {
	case reflect.TypeOf(v.v).AssignableTo(to):
		return v.v, nil
	case v.text != nil && to.Kind() == reflect.String:
		return v.text(v.v), nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", v.is.TypeName(), to)
}

// unary makes the function of one value of a class.
func unary[T any](c *class[T], f func(T) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(arg ref.Val) ref.Val {
		v, ok := c.in(arg)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return f(v)
	})
}

// binary makes the function of two values of a class.
func binary[T any](c *class[T], f func(a, b T) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(first, second ref.Val) ref.Val {
		a, ok := c.in(first)
		if !ok {
			return types.MaybeNoSuchOverloadErr(first)
		}
		b, ok := c.in(second)
		if !ok {
			return types.MaybeNoSuchOverloadErr(second)
		}
		return f(a, b)
	})
}

// ofText makes the function of a string.
func ofText(f func(string) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(arg ref.Val) ref.Val {
		s, ok := arg.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return f(string(s))
	})
}

// member declares a function that is written after its first operand.
func member(id string, result *types.Type, binding cel.OverloadOpt, operands ...*types.Type) cel.FunctionOpt {
	return cel.MemberOverload(id, operands, result, binding)
}

// function declares a function that is written before its operands.
func function(id string, result *types.Type, binding cel.OverloadOpt, operands ...*types.Type) cel.FunctionOpt {
	return cel.Overload(id, operands, result, binding)
}
