package expression

import (
	"math"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// costs prices calls: the worst call when an expression is compiled, actual ones while it
// is evaluated. Clients rely on the numbers, which decide which rules are accepted.
type costs struct {
	variables map[string]*Type
	// first is the type of the first variable. Other names count as it: those of types,
	// and of elements of lists that the expression makes.
	first *Type
}

// EstimateSize implements checker.CostEstimator: the bound that a declared type gives.
func (c *costs) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	t, known := c.variables[path[0]]
	if !known {
		t = c.first
	}
	for _, step := range path[1:] {
		switch {
		case t == nil:
			return nil
		case step == "@items" || step == "@values":
			t = t.Elem
		case step == "@keys":
			if t.Kind != Map {
				return nil
			}
			return &checker.SizeEstimate{} // names count as nothing, as clients expect
		default:
			f := t.named(step)
			if f == nil && t.Kind == Map && t.Elem != nil && t.Elem.Kind == Dynamic { // a member by its name
				t = t.Elem
				continue
			}
			if f == nil {
				return nil
			}
			t = f.Type
		}
	}
	if t == nil || t.Kind == Dynamic && t.MaxElements == 0 {
		return nil
	}
	return &checker.SizeEstimate{Max: uint64(max(t.MaxElements, 0))}
}

func (c *costs) size(node checker.AstNode) checker.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := c.EstimateSize(node); size != nil {
		return *size
	}
	return checker.SizeEstimate{Max: math.MaxUint64}
}

// call is a call in an expression. A function that is written after its first operand has
// a target.
type call struct {
	overload string
	target   *checker.AstNode
	args     []checker.AstNode
}

// operand is the operand that the costs of a call depend on: the target, or else the first
// one; nil for none.
func (c call) operand() checker.AstNode {
	switch {
	case c.target != nil:
		return *c.target
	case len(c.args) > 0:
		return c.args[0]
	}
	return nil
}

// price is the cost of a function, estimated and actual. An estimate may be nil for a use
// that it does not know.
type price struct {
	worst  func(c *costs, in call) *checker.CallEstimate
	actual func(overload string, args []ref.Val, result ref.Val) uint64
}

// EstimateCallCost implements checker.CostEstimator.
func (c *costs) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	in := call{overload, target, args}
	if function == "_==_" {
		return c.worstEqual(in)
	}
	p, ok := prices[function]
	if !ok || in.operand() == nil && p.worst != nil {
		return nil
	}
	if p.worst == nil {
		return estimate(checker.FixedCostEstimate(1))
	}
	return p.worst(c, in)
}

// CallCost implements interpreter.ActualCostEstimator.
func (c *costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	one := uint64(1)
	if function == "_==_" {
		if len(args) == 2 && isExtension(args[0]) {
			return &one
		}
		return nil
	}
	name, constant := strings.CutPrefix(function, constantPrefix)
	p, ok := prices[name]
	switch {
	case constant && name == "matches":
		cost := matching(args[0], actualSize(args[1]))
		return &cost
	case !ok:
		return nil
	case p.actual == nil:
		return &one
	case len(args) == 0:
		return nil
	}
	cost := p.actual(overload, args, result)
	return &cost
}

func estimate(cost checker.CostEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost}
}

// worstEqual prices comparisons of the values of this package.
func (c *costs) worstEqual(in call) *checker.CallEstimate {
	if len(in.args) != 2 || !in.args[0].Type().IsExactType(in.args[1].Type()) {
		return nil
	}
	switch in.args[0].Type() {
	case addresses.is, networks.is, quantities.is, semantic.is:
		return estimate(checker.FixedCostEstimate(1))
	case formats.is:
		return estimate(checker.CostEstimate{Min: 1, Max: maxFormatName}.MultiplyByCostFactor(common.StringTraversalCostFactor))
	case urls.is:
		size := uint64(1)
		for _, arg := range in.args {
			if known := arg.ComputedSize(); known != nil {
				size = max(size, known.Max)
			}
		}
		return estimate(checker.CostEstimate{Min: 1, Max: size}.MultiplyByCostFactor(common.StringTraversalCostFactor))
	}
	return nil
}

func isExtension(v ref.Val) bool {
	switch v.Type() {
	case ref.Type(addresses.is), ref.Type(networks.is), ref.Type(quantities.is), ref.Type(semantic.is), ref.Type(formats.is), ref.Type(urls.is):
		return true
	}
	return false
}

// actualSize is the size of a value: 1 for one without a size.
func actualSize(v ref.Val) uint64 {
	if sizer, ok := v.(traits.Sizer); ok {
		if n, ok := sizer.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}

// traversal is the cost of looking at all of a value.
func traversal(v ref.Val) (cost uint64) {
	switch v := v.(type) {
	case types.String:
		return uint64(float64(len(v)) * common.StringTraversalCostFactor)
	case types.Bytes:
		return uint64(float64(len(v)) * common.StringTraversalCostFactor)
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			cost += traversal(it.Next())
		}
		return cost
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			cost += traversal(key) + traversal(v.Get(key))
		}
		return cost
	}
	return 1
}
