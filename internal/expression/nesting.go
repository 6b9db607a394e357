package expression

import (
	"strings"

	"github.com/google/cel-go/common/ast"
)

// maxExpanded bounds the size of an expression with its macros, in bytes.
const maxExpanded = 256 << 10

// expanded bounds the size of an expression after the parser has replaced macros: those
// of optional values copy their operand, which may have further ones. Other expressions
// are bounded by the parser.
func expanded(text string) int {
	copies := strings.Count(text, "optMap") + strings.Count(text, "optFlatMap")
	if copies == 0 {
		return 0
	}
	return len(text) << min(copies, 30)
}

// maxNesting bounds the depth of lists and maps that an expression makes. The checker
// takes time by the third power of it.
const maxNesting = 32

// nesting is the greatest depth of lists and maps that an expression makes.
func nesting(e ast.Expr) int {
	return deepest(e, func(e ast.Expr) bool {
		return e.Kind() == ast.ListKind || e.Kind() == ast.MapKind || e.Kind() == ast.StructKind
	})
}

// loops is the greatest depth of loops in each other over lists and maps that the
// expression does not write out, so that the cost grows by this power of their length.
func loops(e ast.Expr) int {
	return deepest(e, func(e ast.Expr) bool {
		return e.Kind() == ast.ComprehensionKind && e.AsComprehension().IterRange().Kind() != ast.ListKind && e.AsComprehension().IterRange().Kind() != ast.MapKind
	})
}

// deepest is the greatest number of counted expressions in each other.
func deepest(e ast.Expr, counts func(ast.Expr) bool) (depth int) {
	within := func(all ...ast.Expr) {
		for _, e := range all {
			depth = max(depth, deepest(e, counts))
		}
	}
	switch e.Kind() {
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			within(c.Target())
		}
		within(c.Args()...)
	case ast.SelectKind:
		within(e.AsSelect().Operand())
	case ast.ListKind:
		within(e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			within(entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			within(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		within(c.LoopCondition(), c.LoopStep())
		if counts(e) {
			depth++
		}
		within(c.IterRange(), c.AccuInit(), c.Result())
		return depth
	}
	if counts(e) {
		depth++
	}
	return depth
}
