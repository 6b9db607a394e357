package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/openapi"
)

var quantities = &class[resource.Quantity]{is: cel.ObjectType(openapi.Word() + ".Quantity"), equal: func(a, b resource.Quantity) bool { return a.Equal(b) },
	text: func(q resource.Quantity) string { return q.String() }}

// quantityFunctions compare and add quantities like "50Mi".
func quantityFunctions() map[string][]cel.FunctionOpt {
	q, i, b := quantities.is, types.IntType, types.BoolType
	return map[string][]cel.FunctionOpt{
		"quantity": {function("string_to_quantity", q, ofText(func(s string) ref.Val {
			v, err := resource.ParseQuantity(s)
			if err != nil {
				return types.WrapErr(err)
			}
			return quantities.of(v)
		}), types.StringType)},
		"isQuantity": {function("is_quantity_string", b, ofText(func(s string) ref.Val {
			_, err := resource.ParseQuantity(s)
			return types.Bool(err == nil)
		}), types.StringType)},
		"sign":               {function("quantity_sign", i, unary(quantities, func(v resource.Quantity) ref.Val { return types.Int(v.Sign()) }), q)},
		"asApproximateFloat": {member("quantity_get_float", types.DoubleType, unary(quantities, func(v resource.Quantity) ref.Val { return types.Double(v.AsApproximateFloat64()) }), q)},
		"asInteger": {member("quantity_get_int", i, unary(quantities, func(v resource.Quantity) ref.Val {
			n, ok := v.AsInt64()
			if !ok {
				return types.NewErr("cannot convert value to integer")
			}
			return types.Int(n)
		}), q)},
		"isInteger": {member("quantity_is_integer", b, unary(quantities, func(v resource.Quantity) ref.Val {
			_, ok := v.AsInt64()
			return types.Bool(ok)
		}), q)},
		"isGreaterThan": {member("quantity_is_greater_than", b, binary(quantities, func(v, w resource.Quantity) ref.Val { return types.Bool(v.Cmp(w) > 0) }), q, q)},
		"isLessThan":    {member("quantity_is_less_than", b, binary(quantities, func(v, w resource.Quantity) ref.Val { return types.Bool(v.Cmp(w) < 0) }), q, q)},
		"compareTo":     {member("quantity_compare_to", i, binary(quantities, func(v, w resource.Quantity) ref.Val { return types.Int(v.Cmp(w)) }), q, q)},
		"add":           sums("add", (*resource.Quantity).Add),
		"sub":           sums("sub", (*resource.Quantity).Sub),
	}
}

// sums are the overloads of a function that adds a quantity or an integer to a quantity,
// or takes it away.
func sums(name string, do func(*resource.Quantity, resource.Quantity)) []cel.FunctionOpt {
	q := quantities.is
	with := func(v, w resource.Quantity) ref.Val {
		v = v.DeepCopy()
		do(&v, w)
		return quantities.of(v)
	}
	return []cel.FunctionOpt{
		member("quantity_"+name, q, binary(quantities, with), q, q),
		member("quantity_"+name+"_int", q, cel.BinaryBinding(func(first, second ref.Val) ref.Val {
			v, ok := quantities.in(first)
			if !ok {
				return types.MaybeNoSuchOverloadErr(first)
			}
			n, ok := second.(types.Int)
			if !ok {
				return types.MaybeNoSuchOverloadErr(second)
			}
			return with(v, *resource.NewQuantity(int64(n), resource.DecimalExponent))
		}), q, types.IntType),
	}
}
