package compat

import (
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// sameExpression compares two expressions without their layout: white space, parentheses
// that change nothing, quotes.
func sameExpression(a, b string) bool { return canonical(a) == canonical(b) }

// canonical is the usual spelling of an expression in CEL; a text that is none stays.
func canonical(text string) string { return spelled(text, parser.Unparse) }

// mistakes is an expression whose result is mistakes, without the words of these.
func mistakes(text string) string { return spelled(text, outcome) }

func spelled(text string, spell func(ast.Expr, *ast.SourceInfo, ...parser.UnparserOption) (string, error)) string {
	if tree := parsed(text); tree != nil {
		if out, err := spell(tree.Expr(), tree.SourceInfo()); err == nil {
			return out
		}
	}
	return text
}

// parsed is the tree of an expression, nil if a text is none.
func parsed(text string) *ast.AST {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.MaxRecursionDepth(1000))
	if err != nil {
		return nil
	}
	tree, errs := p.Parse(common.NewTextSource(text))
	if len(errs.GetErrors()) > 0 {
		return nil
	}
	return tree
}

// outcome spells an expression where it is a result: a text that is not empty is a mistake,
// whatever it says.
func outcome(e ast.Expr, info *ast.SourceInfo, o ...parser.UnparserOption) (string, error) {
	var parts []string
	switch call := e.AsCall(); {
	case e.Kind() == ast.CallKind && call.FunctionName() == operators.Conditional:
		condition, err := parser.Unparse(call.Args()[0], info, o...)
		if err != nil {
			return "", err
		}
		parts = append(parts, condition, "?")
		for _, arg := range call.Args()[1:] {
			part, err := outcome(arg, info, o...)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
	case e.Kind() == ast.ListKind:
		for _, element := range e.AsList().Elements() {
			part, err := outcome(element, info, o...)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		parts = append(parts, "list")
	case e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.StringType && e.AsLiteral() != types.String(""):
		return "a mistake", nil
	default:
		return parser.Unparse(e, info, o...)
	}
	return "(" + strings.Join(parts, " ") + ")", nil
}
