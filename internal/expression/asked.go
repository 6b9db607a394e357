package expression

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Elements is the step of a path into the elements of a list or the values of a map.
const Elements = "[]"

// Asked has the members and constants that the expression of a rule names.
type Asked struct {
	Compared []Comparison
	Nest     [][]string // the paths of the lists in the deepest loops in each other, from the outside; nil for a list that is made
	At       []string   // the paths that findings name
	Reads    [][]string // the paths of members outside of lists
	Texts    []string   // constants
	Numbers  []float64
	// Plain marks an expression of comparisons, sizes and presence only, whose answer depends on few properties of values.
	Plain bool
}

// Comparison is a member that is compared with a text. Paths begin with the variable.
type Comparison struct {
	Path []string
	Text string
}

// plainCalls are the functions of plain expressions.
var plainCalls = []string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse, operators.Conditional, operators.Equals,
	operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In, operators.OldIn, operators.Add,
	operators.Subtract, operators.Negate, operators.Index, "size", "int", "string"}

// Asked reads the compiled expression of a rule of a type.
func (f *Finder) Asked(of schema.Ref, d *schema.Demand) Asked {
	p := f.phrase(of, d)
	a := asking{Asked: Asked{Plain: true}, names: map[string][]string{"self": {"self"}, "parent": {"parent"}, "oldSelf": {"oldSelf"}}}
	if p.ready() == nil {
		a.Nest = a.read(p.program.checked.NativeRep().Expr())
	}
	return a.Asked
}

// asking is the reading of one expression.
type asking struct {
	Asked
	names map[string][]string // the paths of variables
}

// read takes what an expression asks, and returns the deepest loops in it.
func (a *asking) read(e ast.Expr) (nest [][]string) {
	deepest := func(all ...ast.Expr) {
		for _, e := range all {
			if n := a.read(e); len(n) > len(nest) {
				nest = n
			}
		}
	}
	switch e.Kind() {
	case ast.LiteralKind:
		a.constant(e)
	case ast.CallKind:
		c := e.AsCall()
		a.call(c)
		if c.IsMemberFunction() {
			deepest(c.Target())
		}
		deepest(c.Args()...)
	case ast.SelectKind:
		if path := a.path(e); len(path) > 1 && !slices.Contains(path, Elements) {
			a.Reads = append(a.Reads, path)
		}
		deepest(e.AsSelect().Operand())
	case ast.ListKind:
		deepest(e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			key, value := entry.AsMapEntry().Key(), entry.AsMapEntry().Value()
			if is(key, types.String("at")) && is(value, nil) {
				a.At = append(a.At, string(value.AsLiteral().(types.String)))
			}
			deepest(value)
		}
	case ast.ComprehensionKind:
		return a.loop(e.AsComprehension())
	}
	return nest
}

// loop reads a loop, or the value that cel.bind gives a name.
func (a *asking) loop(c ast.ComprehensionExpr) (nest [][]string) {
	if c.IterRange().Kind() == ast.ListKind && c.IterRange().AsList().Size() == 0 {
		nest = a.read(c.AccuInit())
		a.within(c.AccuVar(), a.path(c.AccuInit()), func() {
			if n := a.read(c.Result()); len(n) > len(nest) {
				nest = n
			}
		})
		return nest
	}
	of := a.source(c.IterRange())
	var elements []string
	if of != nil {
		elements = append(slices.Clone(of), Elements)
	}
	outside := a.read(c.IterRange())
	a.within(c.IterVar(), elements, func() {
		nest = a.read(c.LoopStep())
		if n := a.read(c.LoopCondition()); len(n) > len(nest) {
			nest = n
		}
	})
	a.Plain = false
	if kind := c.IterRange().Kind(); kind != ast.ListKind && kind != ast.MapKind {
		nest = append([][]string{of}, nest...)
	}
	if len(outside) > len(nest) {
		return outside
	}
	return nest
}

// source is the path of a list, or of that which a loop makes a list of.
func (a *asking) source(e ast.Expr) []string {
	for e.Kind() == ast.ComprehensionKind {
		e = e.AsComprehension().IterRange()
	}
	return a.path(e)
}

// within reads with a name for a path.
func (a *asking) within(name string, path []string, read func()) {
	before, had := a.names[name]
	a.names[name] = path
	read()
	if delete(a.names, name); had {
		a.names[name] = before
	}
}

func (a *asking) constant(e ast.Expr) {
	switch v := e.AsLiteral().(type) {
	case types.String:
		a.Texts = append(a.Texts, string(v))
	case types.Int:
		a.Numbers = append(a.Numbers, float64(v))
	case types.Double:
		a.Numbers = append(a.Numbers, float64(v))
	}
}

// call takes the comparisons of a call.
func (a *asking) call(c ast.CallExpr) {
	a.Plain = a.Plain && slices.Contains(plainCalls, c.FunctionName())
	args := c.Args()
	if len(args) != 2 {
		return
	}
	compare := func(member, text ast.Expr) {
		if path := a.path(member); len(path) > 1 && text.Kind() == ast.LiteralKind {
			if s, ok := text.AsLiteral().(types.String); ok {
				a.Compared = append(a.Compared, Comparison{path, string(s)})
			}
		}
	}
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals:
		compare(args[0], args[1])
		compare(args[1], args[0])
	case operators.In, operators.OldIn:
		if args[1].Kind() == ast.ListKind {
			for _, text := range args[1].AsList().Elements() {
				compare(args[0], text)
			}
		} else if path := a.path(args[1]); path != nil && is(args[0], nil) {
			a.Compared = append(a.Compared, Comparison{append(slices.Clone(path), Elements), string(args[0].AsLiteral().(types.String))})
		}
	}
}

// is reports whether an expression is a text; nil stands for any.
func is(e ast.Expr, text any) bool {
	if e.Kind() != ast.LiteralKind {
		return false
	}
	s, ok := e.AsLiteral().(types.String)
	return ok && (text == nil || s == text)
}

// path is the way to a member from a variable; nil for other expressions.
func (a *asking) path(e ast.Expr) []string {
	switch e.Kind() {
	case ast.IdentKind:
		return a.names[e.AsIdent()]
	case ast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() {
			if of := a.path(s.Operand()); of != nil {
				return append(slices.Clone(of), s.FieldName())
			}
		}
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index {
			if of := a.path(c.Args()[0]); of != nil {
				return append(slices.Clone(of), Elements)
			}
		}
	}
	return nil
}
