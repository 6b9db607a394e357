package compat

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/parser"
)

// refuses reports whether an expression that finds mistakes finds one wherever another one
// does, as far as their parts show it: a clause that went, a bound that is wider, a further
// alternative.
func refuses(old, now string) bool {
	if mistakes(old) == mistakes(now) {
		return true
	}
	a, b := refusal(now), refusal(old)
	return a.expr != nil && b.expr != nil && a.implies(b)
}

// claim is a condition, or that it does not hold.
type claim struct {
	expr ast.Expr
	info *ast.SourceInfo
	not  bool
}

// refusal is the condition under which an expression finds its one mistake; without one it
// has another form.
func refusal(text string) claim {
	tree := parsed(text)
	if tree == nil || tree.Expr().Kind() != ast.CallKind || tree.Expr().AsCall().FunctionName() != operators.Conditional {
		return claim{}
	}
	args := tree.Expr().AsCall().Args()
	isText := func(e ast.Expr, empty bool) bool {
		return e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.StringType && (e.AsLiteral() == types.String("")) == empty
	}
	for i, not := range [...]bool{false, true} {
		if isText(args[1+i], false) && isText(args[2-i], true) {
			return claim{args[0], tree.SourceInfo(), not}.plain()
		}
	}
	return claim{}
}

// plain is the claim without a negation in front.
func (c claim) plain() claim {
	for c.expr.Kind() == ast.CallKind && c.expr.AsCall().FunctionName() == operators.LogicalNot {
		c.expr, c.not = c.expr.AsCall().Args()[0], !c.not
	}
	return c
}

// parts are the claims that hold together, or of which one holds.
func (c claim) parts(together bool) []claim {
	name := operators.LogicalOr
	if together != c.not {
		name = operators.LogicalAnd
	}
	if c.expr.Kind() != ast.CallKind || c.expr.AsCall().FunctionName() != name {
		return nil
	}
	var all []claim
	for _, arg := range c.expr.AsCall().Args() {
		all = append(all, claim{arg, c.info, c.not}.plain())
	}
	return all
}

func (c claim) implies(o claim) bool {
	fails := func(part claim) bool { return !part.implies(o) }
	if parts := c.parts(false); parts != nil {
		return !slices.ContainsFunc(parts, fails)
	}
	if parts := o.parts(true); parts != nil {
		return !slices.ContainsFunc(parts, func(part claim) bool { return !c.implies(part) })
	}
	if slices.ContainsFunc(c.parts(true), func(part claim) bool { return part.implies(o) }) || slices.ContainsFunc(o.parts(false), c.implies) {
		return true
	}
	return c.not == o.not && c.spelled(c.expr) == o.spelled(o.expr) || c.bounds(o)
}

func (c claim) spelled(e ast.Expr) string {
	text, err := parser.Unparse(e, c.info)
	if err != nil {
		return ""
	}
	return text
}

// bound is a comparison with a number on the right: more than it, or less.
func (c claim) bound() (of string, more, equal bool, limit ref.Val) {
	if c.expr.Kind() != ast.CallKind || len(c.expr.AsCall().Args()) != 2 {
		return "", false, false, nil
	}
	call := c.expr.AsCall()
	right := call.Args()[1]
	if right.Kind() != ast.LiteralKind {
		return "", false, false, nil
	}
	switch call.FunctionName() {
	case operators.Greater:
		more = true
	case operators.GreaterEquals:
		more, equal = true, true
	case operators.LessEquals:
		equal = true
	case operators.Less:
	default:
		return "", false, false, nil
	}
	if c.not {
		more, equal = !more, !equal
	}
	return c.spelled(call.Args()[0]), more, equal, right.AsLiteral()
}

// bounds reports whether both are comparisons of one thing, and the other one's bound is
// passed with this one's.
func (c claim) bounds(o claim) bool {
	of, more, equal, limit := c.bound()
	same, moreToo, equalToo, other := o.bound()
	if limit == nil || other == nil || of == "" || of != same || more != moreToo || limit.Type() != other.Type() {
		return false
	}
	comparer, ok := limit.(traits.Comparer)
	if !ok {
		return false
	}
	switch order := comparer.Compare(other); {
	case order == types.IntZero:
		return equalToo || !equal
	case more:
		return order == types.IntOne
	default:
		return order == types.IntNegOne
	}
}
