package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// listFunctions are functions of lists. Those of elements in an order have one overload
// for each type of elements that has one.
func listFunctions() map[string][]cel.FunctionOpt {
	comparable := []*types.Type{types.IntType, types.UintType, types.DoubleType, types.BoolType, types.DurationType, types.TimestampType,
		types.StringType, types.BytesType}
	zeros := []ref.Val{types.Int(0), types.Uint(0), types.Double(0), types.Duration{}}
	functions := map[string][]cel.FunctionOpt{}
	for _, t := range comparable {
		name, operand := t.TypeName(), cel.ListType(t)
		switch t {
		case types.DurationType:
			name = "duration"
		case types.TimestampType:
			name = "timestamp"
		}
		functions["isSorted"] = append(functions["isSorted"], member("list_"+name+"_is_sorted_bool", types.BoolType, cel.UnaryBinding(isSorted), operand))
		functions["min"] = append(functions["min"], member("list_"+name+"_min_"+name, t, cel.UnaryBinding(extreme("min", types.IntNegOne)), operand))
		functions["max"] = append(functions["max"], member("list_"+name+"_max_"+name, t, cel.UnaryBinding(extreme("max", types.IntOne)), operand))
		for _, zero := range zeros {
			if zero.Type() == ref.Type(t) {
				functions["sum"] = append(functions["sum"], member("list_"+name+"_sum_"+name, t, cel.UnaryBinding(sum(zero)), operand))
			}
		}
	}
	any := cel.TypeParamType("A")
	functions["indexOf"] = []cel.FunctionOpt{member("list_a_index_of_int", types.IntType, cel.BinaryBinding(position(false)), cel.ListType(any), any)}
	functions["lastIndexOf"] = []cel.FunctionOpt{member("list_a_last_index_of_int", types.IntType, cel.BinaryBinding(position(true)), cel.ListType(any), any)}
	return functions
}

// each visits the elements of a list until visit returns a value.
func each(of ref.Val, visit func(ref.Val) ref.Val) ref.Val {
	l, ok := of.(traits.Iterable)
	if !ok {
		return types.MaybeNoSuchOverloadErr(of)
	}
	for it := l.Iterator(); it.HasNext() == types.True; {
		if done := visit(it.Next()); done != nil {
			return done
		}
	}
	return nil
}

func isSorted(of ref.Val) ref.Val {
	var last traits.Comparer
	found := each(of, func(v ref.Val) ref.Val {
		next, ok := v.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		if last != nil && last.Compare(v) == types.IntOne {
			return types.False
		}
		last = next
		return nil
	})
	if found != nil {
		return found
	}
	return types.True
}

// extreme finds the element that is in an order to all others.
func extreme(name string, order types.Int) func(ref.Val) ref.Val {
	return func(of ref.Val) ref.Val {
		var best ref.Val
		failed := each(of, func(v ref.Val) ref.Val {
			next, ok := v.(traits.Comparer)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			if best == nil || next.Compare(best) == order {
				best = v
			}
			return nil
		})
		switch {
		case failed != nil:
			return failed
		case best == nil:
			return types.NewErr("%s called on empty list", name)
		}
		return best
	}
}

func sum(zero ref.Val) func(ref.Val) ref.Val {
	return func(of ref.Val) ref.Val {
		total := zero
		failed := each(of, func(v ref.Val) ref.Val {
			adder, ok := total.(traits.Adder)
			if !ok {
				return types.MaybeNoSuchOverloadErr(total)
			}
			total = adder.Add(v)
			return nil
		})
		if failed != nil {
			return failed
		}
		return total
	}
}

// position finds the first or the last element that equals a value.
func position(last bool) func(of, v ref.Val) ref.Val {
	return func(of, v ref.Val) ref.Val {
		at, i := types.Int(-1), types.Int(0)
		failed := each(of, func(e ref.Val) ref.Val {
			if e.Equal(v) == types.True && (last || at < 0) {
				at = i
			}
			i++
			return nil
		})
		if failed != nil {
			return failed
		}
		return at
	}
}
