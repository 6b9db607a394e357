package expression

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Bounds of formats in estimates, in bytes: of a name, and of the pattern of a rule.
const (
	maxFormatName    = 64
	maxFormatPattern = 128
)

// prices are the costs of the functions that cel-go does not know. A zero price is one
// unit.
var prices = makePrices()

func makePrices() map[string]price {
	all := map[string]price{
		"replace":      {(*costs).worstReplace, charged(2)},
		"split":        {(*costs).worstSplit, charged(2)},
		"join":         {(*costs).worstJoin, func(_ string, _ []ref.Val, result ref.Val) uint64 { return scaled(actualSize(result), 2) }},
		"ip":           {(*costs).worstAddress, actualAddress},
		"containsIP":   {(*costs).worstContains, actualContains},
		"containsCIDR": {(*costs).worstContains, actualContains},
		"includes":     {worstIncludes, func(_ string, args []ref.Val, _ ref.Val) uint64 { return traversal(args[0]) }},
		"validate":     {(*costs).worstFormat, actualFormat},
	}
	for _, name := range [...]string{"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"} {
		all[name] = price{(*costs).worstSearch, func(_ string, args []ref.Val, _ ref.Val) uint64 { return traversal(args[0]) }}
	}
	for _, name := range [...]string{"url", "jsonpatch.escapeKey", "lowerAscii", "upperAscii", "substring", "trim"} {
		all[name] = price{read(1, true), charged(1)}
	}
	for _, name := range [...]string{"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"} {
		all[name] = price{read(1, false), charged(1)}
	}
	all["ip.isCanonical"] = price{read(2, false), charged(2)} // it is read and written
	for _, name := range [...]string{"find", "findAll"} {
		all[name] = price{(*costs).worstFind, actualFind}
	}
	for _, name := range [...]string{"masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
		"isLinkLocalUnicast", "isGlobalUnicast",
		"format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch",
		"getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"} {
		all[name] = price{}
	}
	rightsPrices(all)
	return all
}

// mostIncluded bounds the values of a list for the function includes.
const mostIncluded = 48

// worstIncludes compares with each value of the longest list, whatever the operand is.
func worstIncludes(*costs, call) *checker.CallEstimate {
	return estimate(checker.CostEstimate{Max: mostIncluded})
}

// scaled is the cost of reading a string some times.
func scaled(size uint64, times float64) uint64 {
	return uint64(math.Ceil(float64(size) * times * common.StringTraversalCostFactor))
}

func charged(times float64) func(string, []ref.Val, ref.Val) uint64 {
	return func(_ string, args []ref.Val, _ ref.Val) uint64 { return scaled(actualSize(args[0]), times) }
}

// read prices a function that reads its operand some times. same says that the result is
// of the same size at most.
func read(times float64, same bool) func(*costs, call) *checker.CallEstimate {
	return func(c *costs, in call) *checker.CallEstimate {
		size := c.size(in.operand())
		e := estimate(size.MultiplyByCostFactor(times * common.StringTraversalCostFactor))
		if same {
			e.ResultSize = &size
		}
		return e
	}
}

// worstSearch prices a function that looks at all elements of a list, or at a string.
func (c *costs) worstSearch(in call) *checker.CallEstimate {
	if in.target == nil {
		return nil
	}
	elem := c.element(*in.target)
	if elem == nil {
		return read(1, false)(c, in)
	}
	each := checker.FixedCostEstimate(1)
	if kind := elem.Type().Kind(); kind == types.StringKind || kind == types.BytesKind {
		each = each.Add(c.size(elem).MultiplyByCostFactor(common.StringTraversalCostFactor))
	}
	return estimate(c.size(*in.target).MultiplyByCost(each))
}

// worstReplace prices the replacement of parts of a string. The longest result has as many
// replacements as fit, the shortest as few.
func (c *costs) worstReplace(in call) *checker.CallEstimate {
	if in.target == nil || len(in.args) < 2 {
		return nil
	}
	size, part, with := c.size(*in.target), c.size(in.args[0]), c.size(in.args[1])
	// kept is the size of the text that stays, times the number of replacements.
	count := func(size, part uint64, helps bool) (times, kept uint64) {
		switch {
		case part == 0: // around each character
			return size + min(1, math.MaxUint64-size), size
		case !helps:
			return 0, size
		}
		return uint64(math.Ceil(float64(size) / float64(part))), 0
	}
	var times, kept checker.SizeEstimate
	times.Max, kept.Max = count(size.Max, part.Min, with.Max > part.Min)
	times.Min, kept.Min = count(size.Min, part.Max, part.Max > with.Min)
	result := times.Multiply(with).Add(kept)
	return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(2 * common.StringTraversalCostFactor), ResultSize: &result}
}

// worstSplit prices the split of a string, into single characters at worst.
func (c *costs) worstSplit(in call) *checker.CallEstimate {
	if in.target == nil {
		return nil
	}
	size := c.size(*in.target)
	most := size.Max
	if len(in.args) > 1 {
		if limit := in.args[1].Expr().AsLiteral(); limit != nil {
			if n, ok := limit.(types.Int); ok {
				most = uint64(n)
			}
		}
	}
	return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(2 * common.StringTraversalCostFactor), ResultSize: &checker.SizeEstimate{Max: most}}
}

// worstJoin prices the join of the strings of a list.
func (c *costs) worstJoin(in call) *checker.CallEstimate {
	if in.target == nil {
		return nil
	}
	var size checker.SizeEstimate
	count := c.size(*in.target)
	if elem := c.element(*in.target); elem != nil {
		size = count.Multiply(c.size(elem))
	}
	if len(in.args) > 0 {
		between := checker.SizeEstimate{Min: count.Min - min(1, count.Min), Max: count.Max - min(1, count.Max)}
		size = size.Add(c.size(in.args[0]).Multiply(between))
	}
	return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(common.StringTraversalCostFactor), ResultSize: &size}
}

// worstFind prices the search for a regular expression.
func (c *costs) worstFind(in call) *checker.CallEstimate {
	if in.target == nil || len(in.args) == 0 {
		return nil
	}
	size := c.size(*in.target)
	text := size.Add(checker.FixedSizeEstimate(1)).MultiplyByCostFactor(common.StringTraversalCostFactor)
	pattern := c.size(in.args[0]).MultiplyByCostFactor(common.RegexStringLengthCostFactor)
	return &checker.CallEstimate{CostEstimate: text.Multiply(pattern), ResultSize: &checker.SizeEstimate{Max: size.Max}}
}

func actualFind(_ string, args []ref.Val, _ ref.Val) uint64 {
	if len(args) < 2 {
		return 1
	}
	return matching(args[0], actualSize(args[1]))
}

// matching is the cost of a regular expression of a size for a string.
func matching(text ref.Val, pattern uint64) uint64 {
	return scaled(1+actualSize(text), 1) * uint64(math.Ceil(float64(pattern)*common.RegexStringLengthCostFactor))
}

func (c *costs) worstAddress(in call) *checker.CallEstimate {
	if in.overload == "cidr_ip" {
		return estimate(checker.FixedCostEstimate(1))
	}
	return read(1, false)(c, in)
}

func actualAddress(overload string, args []ref.Val, _ ref.Val) uint64 {
	if overload == "cidr_ip" {
		return 1
	}
	return scaled(actualSize(args[0]), 1)
}

// worstContains prices the comparison of two addresses of 4 to 16 bytes, and for networks
// the mask.
func (c *costs) worstContains(in call) *checker.CallEstimate {
	if len(in.args) == 0 {
		return nil
	}
	bytes := checker.SizeEstimate{Min: 4, Max: 16}
	cost := bytes.Add(bytes).MultiplyByCostFactor(common.StringTraversalCostFactor)
	if in.overload == "cidr_contains_cidr" || in.overload == "cidr_contains_cidr_string" {
		cost = cost.Add(bytes.MultiplyByCostFactor(common.StringTraversalCostFactor)).Add(checker.FixedCostEstimate(1))
	}
	if in.overload == "cidr_contains_ip_string" || in.overload == "cidr_contains_cidr_string" {
		cost = cost.Add(checker.CostEstimate(c.size(in.args[0])).MultiplyByCostFactor(common.StringTraversalCostFactor))
	}
	return estimate(cost)
}

func actualContains(overload string, args []ref.Val, _ ref.Val) uint64 {
	if len(args) < 2 {
		return 1
	}
	size := actualSize(args[0])
	cost := scaled(size+size, 1)
	if overload == "cidr_contains_cidr" || overload == "cidr_contains_cidr_string" {
		cost += scaled(size, 1) + 1
	}
	if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
		cost += scaled(actualSize(args[1]), 1)
	}
	return cost
}

func (c *costs) worstFormat(in call) *checker.CallEstimate {
	if len(in.args) == 0 {
		return nil
	}
	text := c.size(in.args[0]).MultiplyByCostFactor(common.StringTraversalCostFactor)
	return estimate(text.MultiplyByCostFactor(maxFormatPattern * common.RegexStringLengthCostFactor))
}

func actualFormat(_ string, args []ref.Val, _ ref.Val) uint64 {
	f, ok := formats.in(args[0])
	if !ok || len(args) < 2 {
		return 1
	}
	return matching(args[1], uint64(f.pattern))
}

// element is any element of a list in an expression; nil for other values.
func (c *costs) element(list checker.AstNode) checker.AstNode {
	of := list.Type().Parameters()
	if len(of) == 0 {
		return nil
	}
	e := element{is: of[0]}
	if path := list.Path(); path != nil {
		e.path = append(append([]string(nil), path...), "@items")
	}
	return e
}

// element implements checker.AstNode.
type element struct {
	path []string
	is   *types.Type
}

func (e element) Path() []string                      { return e.path }
func (e element) Type() *types.Type                   { return e.is }
func (e element) Expr() ast.Expr                      { return nil }
func (e element) ComputedSize() *checker.SizeEstimate { return nil }
