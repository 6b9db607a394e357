package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/openapi"
)

var quantities = &class[quantity.Quantity]{is: cel.ObjectType(openapi.Word() + ".Quantity"),
	equal: func(a, b quantity.Quantity) bool { return a.Compare(b) == 0 },
	text:  quantity.Quantity.String}

// quantityFunctions compare and add quantities like "50Mi".
func quantityFunctions() map[string][]cel.FunctionOpt {
	q, i, b := quantities.is, types.IntType, types.BoolType
	return map[string][]cel.FunctionOpt{
		"quantity": {function("string_to_quantity", q, ofText(func(s string) ref.Val {
			v, err := quantity.Parse(s)
			if err != nil {
				return types.WrapErr(err)
			}
			return quantities.of(v)
		}), types.StringType)},
		"isQuantity": {function("is_quantity_string", b, ofText(func(s string) ref.Val {
			_, err := quantity.Parse(s)
			return types.Bool(err == nil)
		}), types.StringType)},
		"sign": {function("quantity_sign", i, unary(quantities, func(v quantity.Quantity) ref.Val { return types.Int(v.Sign()) }), q)},
		"asApproximateFloat": {member("quantity_get_float", types.DoubleType,
			unary(quantities, func(v quantity.Quantity) ref.Val { return types.Double(v.Float()) }), q)},
		"asInteger": {member("quantity_get_int", i, unary(quantities, func(v quantity.Quantity) ref.Val {
			n, ok := v.Int()
			if !ok {
				return types.NewErr("cannot convert value to integer")
			}
			return types.Int(n)
		}), q)},
		"isInteger": {member("quantity_is_integer", b, unary(quantities, func(v quantity.Quantity) ref.Val {
			_, ok := v.Int()
			return types.Bool(ok)
		}), q)},
		"isGreaterThan": {member("quantity_is_greater_than", b, binary(quantities,
			func(v, w quantity.Quantity) ref.Val { return types.Bool(v.Compare(w) > 0) }), q, q)},
		"isLessThan": {member("quantity_is_less_than", b, binary(quantities, func(v, w quantity.Quantity) ref.Val { return types.Bool(v.Compare(w) < 0) }), q, q)},
		"compareTo":  {member("quantity_compare_to", i, binary(quantities, func(v, w quantity.Quantity) ref.Val { return types.Int(v.Compare(w)) }), q, q)},
		"add":        sums("add", quantity.Quantity.Plus),
		"sub":        sums("sub", quantity.Quantity.Minus),
	}
}

// sums are the overloads of a function that adds a quantity or an integer to a quantity,
// or takes it away.
func sums(name string, do func(q, other quantity.Quantity) quantity.Quantity) []cel.FunctionOpt {
	q := quantities.is
	return []cel.FunctionOpt{
		member("quantity_"+name, q, binary(quantities, func(v, w quantity.Quantity) ref.Val { return quantities.of(do(v, w)) }), q, q),
		member("quantity_"+name+"_int", q, cel.BinaryBinding(func(first, second ref.Val) ref.Val {
			v, ok := quantities.in(first)
			if !ok {
				return types.MaybeNoSuchOverloadErr(first)
			}
			n, ok := second.(types.Int)
			if !ok {
				return types.MaybeNoSuchOverloadErr(second)
			}
			return quantities.of(do(v, quantity.New(int64(n), quantity.Exponent)))
		}), q, types.IntType),
	}
}
