package compat

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/parser"
)

// mostAtoms bounds the comparisons of expressions that are proved.
const mostAtoms = 14

// claim is a condition made of atoms: conditions that are true or false, whatever the others
// are, as far as conflict knows.
type claim struct {
	all, any []claim // claims that hold together, or of which one holds
	atom     string  // spelled; "" for none
	not      bool
}

// atom is the spelling of a comparison, and its parts.
type atom struct {
	less, equal bool // left < right, left == right; neither for another condition
	left, right operand
}

type operand struct {
	text  string
	value ref.Val // nil for one that is not known
}

// claims reads expressions.
type claims struct {
	atoms  map[string]atom
	strict bool // a member without has(member) cannot be read
}

func newClaims(strict bool) *claims { return &claims{map[string]atom{}, strict} }

// always is a claim that holds.
func always() claim { return claim{all: []claim{}} }

// negated is the claim that another one does not hold.
func negated(c claim) claim {
	turn := func(parts []claim) (all []claim) {
		if parts == nil {
			return nil
		}
		all = []claim{}
		for _, part := range parts {
			all = append(all, negated(part))
		}
		return all
	}
	return claim{all: turn(c.any), any: turn(c.all), atom: c.atom, not: !c.not && c.atom != ""}
}

// of is the claim that an expression is true.
func (y *claims) of(e ast.Expr, info *ast.SourceInfo) claim {
	if e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.BoolType {
		if e.AsLiteral() == types.True {
			return always()
		}
		return negated(always())
	}
	if e.Kind() != ast.CallKind {
		return y.plain(e, info)
	}
	var parts []claim
	args := e.AsCall().Args()
	below := func() []claim {
		for _, arg := range args {
			parts = append(parts, y.of(arg, info))
		}
		return parts
	}
	switch e.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return claim{all: below()}
	case operators.LogicalOr:
		return claim{any: below()}
	case operators.LogicalNot:
		return negated(y.of(args[0], info))
	case operators.Conditional:
		below()
		return claim{all: []claim{{any: []claim{negated(parts[0]), parts[1]}}, {any: []claim{parts[0], parts[2]}},
			{any: []claim{parts[0], negated(parts[0])}}}} // a condition that fails is not made good
	case operators.In:
		if args[1].Kind() == ast.ListKind {
			parts = []claim{}
			for _, value := range args[1].AsList().Elements() {
				parts = append(parts, y.compared(false, args[0], value, info))
			}
			return claim{any: parts}
		}
	}
	if len(args) != 2 {
		return y.plain(e, info)
	}
	switch e.AsCall().FunctionName() {
	case operators.Less:
		return y.compared(true, args[0], args[1], info)
	case operators.Greater:
		return y.compared(true, args[1], args[0], info)
	case operators.LessEquals:
		return negated(y.compared(true, args[1], args[0], info))
	case operators.GreaterEquals:
		return negated(y.compared(true, args[0], args[1], info))
	case operators.Equals:
		return y.compared(false, args[0], args[1], info)
	case operators.NotEquals:
		return negated(y.compared(false, args[0], args[1], info))
	}
	return y.plain(e, info)
}

func (y *claims) plain(e ast.Expr, info *ast.SourceInfo) claim {
	text, err := parser.Unparse(e, info)
	if err != nil {
		return always()
	}
	y.atoms[text] = atom{left: operand{text: text}}
	return claim{atom: text}
}

func (y *claims) compared(less bool, left, right ast.Expr, info *ast.SourceInfo) claim {
	side := func(e ast.Expr) operand {
		text, _ := parser.Unparse(e, info)
		o := operand{text: text}
		if e.Kind() == ast.LiteralKind {
			o.value = e.AsLiteral()
		}
		return o
	}
	a := atom{less: less, equal: !less, left: side(left), right: side(right)}
	if !less && (a.left.value != nil || a.right.value == nil && a.left.text > a.right.text) {
		a.left, a.right = a.right, a.left
	}
	name := a.left.text + map[bool]string{true: " < ", false: " == "}[less] + a.right.text
	y.atoms[name] = a
	return claim{atom: name}
}

// holds evaluates a claim; known is false where atoms without a value decide.
func (c claim) holds(values map[string]bool) (yes, known bool) {
	switch {
	case c.atom != "":
		v, has := values[c.atom]
		return v != c.not, has
	case c.any != nil:
		yes, known = negated(c).holds(values)
		return !yes, known
	}
	known = true
	for _, part := range c.all {
		switch yes, ok := part.holds(values); {
		case ok && !yes:
			return false, true
		case !ok:
			known = false
		}
	}
	return true, known
}

// follows reports whether a claim holds wherever all the given ones do. facts are atoms whose
// values are known. What an atom reads may be missing: the atom then fails, and has no value.
func (y *claims) follows(given []claim, c claim, facts map[string]bool) bool {
	subjects := y.subjects()
	if len(y.atoms) > mostAtoms || len(subjects) > mostAtoms/2 {
		return false
	}
	values, missing := map[string]bool{}, map[string]bool{}
	var valued func(rest []string) bool
	valued = func(rest []string) bool { // whether some values keep the given claims, and not the other
		if slices.ContainsFunc(given, func(g claim) bool { yes, known := g.holds(values); return known && !yes || !known && len(rest) == 0 }) {
			return false
		}
		if yes, known := c.holds(values); len(rest) == 0 || known && yes {
			return !known || !yes
		}
		for _, v := range [...]bool{true, false} {
			if fact, is := facts[rest[0]]; is && fact != v || y.conflict(values, rest[0], v) || y.unlike(rest[0], v, missing) {
				continue
			}
			values[rest[0]] = v
			found := valued(rest[1:])
			delete(values, rest[0])
			if found {
				return true
			}
		}
		return false
	}
	for set := range 1 << len(subjects) {
		for i, subject := range subjects {
			missing[subject] = set&(1<<i) != 0
		}
		names := slices.DeleteFunc(sorted(y.atoms), func(name string) bool { return missing[y.atoms[name].left.text] || missing[y.atoms[name].right.text] })
		if valued(names) {
			return false
		}
	}
	return true
}

// subjects are the texts that atoms read, and which may be missing.
func (y *claims) subjects() (all []string) {
	for _, name := range sorted(y.atoms) {
		for _, o := range []operand{y.atoms[name].left, y.atoms[name].right} {
			if o.value == nil && o.text != "" && !(strings.HasPrefix(o.text, "has(self.") && strings.Count(o.text, ".") == 1) {
				all = append(all, o.text)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// unlike reports whether an atom that tells of the presence of a member has another value than
// its presence. In documents an absent member may be read.
func (y *claims) unlike(name string, v bool, missing map[string]bool) bool {
	member, is := strings.CutPrefix(name, "has(")
	absent, read := missing[strings.TrimSuffix(member, ")")]
	return is && read && y.strict && absent == v
}

// conflict reports whether an atom cannot have a value next to one of the others.
func (y *claims) conflict(values map[string]bool, name string, v bool) bool {
	a := y.atoms[name]
	for other, w := range values {
		if !y.possible(a, v, y.atoms[other], w) {
			return true
		}
	}
	return false
}

// possible reports whether two atoms can have some values together. They are compared with
// places before, at, between and behind the constants of both.
func (y *claims) possible(a atom, v bool, b atom, w bool) bool {
	if !(a.less || a.equal) || !(b.less || b.equal) {
		return true
	}
	x, limits := a.subject(), []ref.Val{a.limit(), b.limit()}
	if limits[0] != nil && limits[1] != nil {
		if x != b.subject() || limits[0].Type() != limits[1].Type() {
			return true
		}
		order, ok := compared(limits[0], limits[1])
		if !ok {
			return !(a.equal && b.equal && v && w)
		}
		for place := -3; place <= 3; place++ { // the first constant at 0, the second one at 2, 0 or -2
			if a.at(place) == v && b.at(place+2*order) == w {
				return true
			}
		}
		return false
	}
	if limits[0] != nil || limits[1] != nil {
		return true
	}
	for order := -1; order <= 1; order++ { // of the two sides of the first
		turned := order
		switch {
		case a.left.text == b.left.text && a.right.text == b.right.text:
		case a.left.text == b.right.text && a.right.text == b.left.text:
			turned = -order
		default:
			return true
		}
		if (a.less && order < 0 || a.equal && order == 0) == v && (b.less && turned < 0 || b.equal && turned == 0) == w {
			return true
		}
	}
	return false
}

func compared(a, b ref.Val) (order int, ok bool) {
	if c, is := a.(traits.Comparer); is {
		if n, is := c.Compare(b).(types.Int); is {
			return int(n), true
		}
	}
	return 0, false
}

// subject is the side whose value varies.
func (a atom) subject() string {
	if a.left.value != nil {
		return a.right.text
	}
	return a.left.text
}

func (a atom) limit() ref.Val {
	if a.left.value != nil {
		return a.left.value
	}
	return a.right.value
}

// at is the value of the atom where its subject is less than, equal to or more than its
// constant.
func (a atom) at(place int) bool {
	switch {
	case a.equal:
		return place == 0
	case a.left.value != nil:
		return place > 0
	}
	return place < 0
}

// refuses reports whether one of some expressions that find mistakes finds one wherever
// another one does.
func refuses(old []string, now string, facts map[string]bool) bool {
	if slices.ContainsFunc(old, func(text string) bool { return mistakes(text) == mistakes(now) }) {
		return true
	}
	y := newClaims(false)
	c, ok := y.kept(now)
	if !ok {
		return false
	}
	var given []claim
	for _, text := range old {
		if g, ok := y.kept(text); ok {
			given = append(given, g)
		}
	}
	return y.follows(given, c, facts)
}

// kept is the claim that an expression finds no mistake, if its form is a condition with one
// mistake.
func (y *claims) kept(text string) (c claim, ok bool) {
	tree := parsed(text)
	if tree == nil || tree.Expr().Kind() != ast.CallKind || tree.Expr().AsCall().FunctionName() != operators.Conditional {
		return c, false
	}
	args := tree.Expr().AsCall().Args()
	isText := func(e ast.Expr, empty bool) bool {
		return e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.StringType && (e.AsLiteral() == types.String("")) == empty
	}
	c = y.of(args[0], tree.SourceInfo())
	switch {
	case isText(args[1], false) && isText(args[2], true):
		return negated(c), true
	case isText(args[1], true) && isText(args[2], false):
		return c, true
	}
	return c, false
}

// ruled reports whether rules in CEL, of which all have to be true, refuse all that another
// one refuses.
func ruled(old []string, now string, facts map[string]bool) bool {
	if slices.Contains(old, now) {
		return true
	}
	tree := parsed(now)
	if tree == nil {
		return false
	}
	y := newClaims(true)
	c := y.of(tree.Expr(), tree.SourceInfo())
	var given []claim
	for _, text := range old {
		if tree := parsed(text); tree != nil && (!strings.Contains(text, "oldSelf") || strings.Contains(now, "oldSelf")) {
			given = append(given, y.of(tree.Expr(), tree.SourceInfo()))
		}
	}
	return y.follows(given, c, facts)
}
