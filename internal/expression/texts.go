package expression

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

// TextsOf are the texts of a value that is a text, a list of texts, or null; false for any other. Empty texts are left out.
func TextsOf(v Value) (texts []string, ok bool) {
	switch v := v.(type) {
	case types.Null:
		return nil, true
	case types.String:
		if v != "" {
			texts = append(texts, string(v))
		}
		return texts, true
	case traits.Lister:
		for all := v.Iterator(); all.HasNext() == types.True; {
			text, ok := all.Next().(types.String)
			if !ok {
				return nil, false
			}
			if text != "" {
				texts = append(texts, string(text))
			}
		}
		return texts, true
	}
	return nil, false
}

// Selects reports whether the expression selects a member of a variable somewhere, by its name.
func (p *Program) Selects(variable, member string) bool {
	of := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == variable }
	found := false
	ast.PreOrderVisit(p.checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			s := e.AsSelect()
			found = found || of(s.Operand()) && s.FieldName() == member
		case ast.CallKind:
			c := e.AsCall()
			if c.FunctionName() == operators.OptSelect && len(c.Args()) == 2 && of(c.Args()[0]) && c.Args()[1].Kind() == ast.LiteralKind {
				found = found || c.Args()[1].AsLiteral() == types.String(member)
			}
		}
	}))
	return found
}
