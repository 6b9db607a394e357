package expression

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// documentBase has cel.bind too, and check, which returns the mistakes that a named check
// finds in a text, for the expressions of the documents.
var documentBase = sync.OnceValues(func() (*base, error) {
	check := cel.Function("check", cel.Overload("check_string_string_list", []*cel.Type{cel.StringType, cel.StringType}, cel.ListType(cel.StringType),
		cel.BinaryBinding(func(name, text ref.Val) ref.Val {
			return types.NewStringList(types.DefaultTypeAdapter, document.CheckFormat(string(name.(types.String)), string(text.(types.String))))
		})))
	return newBase(ext.Bindings(), check)
})

// textKinds are the kinds of tables whose values are strings in expressions too.
var textKinds = map[schema.Kind]Kind{schema.Boolean: Boolean, schema.Integer: Integer, schema.Number: Number,
	schema.IntOrString: IntOrString, schema.Any: Dynamic}

// tableTypes makes the types of expressions of those of a table, as far as expressions
// need them.
type tableTypes struct {
	*Types
	prefix string // of the names of objects
	table  *schema.Table
	known  map[schema.Ref]*Type
}

// OfTable declares a type of a table. The name sets it apart from those of other tables.
func (ts *Types) OfTable(name string, table *schema.Table, at schema.Ref) *Type {
	if ts.objects == nil {
		ts.objects = map[string]*Type{}
	}
	return (&tableTypes{ts, name, table, map[schema.Ref]*Type{}}).of(at)
}

// of is the type of the values of a type of the table. Members of its objects that are not
// set have the zero value of their type, as those of messages have in CEL; has() tells
// them apart.
func (ts *tableTypes) of(at schema.Ref) *Type {
	if at < 0 {
		return dynamic
	}
	if t := ts.known[at]; t != nil {
		return t
	}
	src, t := &ts.table.Types[at], &Type{}
	ts.known[at] = t
	switch src.Kind {
	case schema.Object:
		name := ts.prefix + cmp.Or(src.Name, "object") + "#" + strconv.Itoa(int(at))
		t.Kind, t.zeros, t.native = Object, true, types.NewObjectType(name)
		ts.objects[name] = t
		t.declare = sync.OnceFunc(func() {
			for _, f := range src.Fields {
				member := Field{Name: f.Name, Type: ts.of(f.Type)}
				if word, ok := Escape(f.Name + "x"); ok && word == f.Name+"x" {
					member.Plain = true
				}
				t.Fields = append(t.Fields, member)
			}
			t.index()
		})
	case schema.Map:
		t.Kind, t.Elem = Map, ts.of(src.Elem)
		t.native = types.NewMapType(types.StringType, t.Elem.native)
	case schema.List:
		t.Kind, t.Elem = List, ts.of(src.Elem)
		t.native = types.NewListType(t.Elem.native)
	default:
		if kind, ok := textKinds[src.Kind]; ok {
			t.Kind = kind
		} else {
			t.Kind = String
		}
		t.native = simple[t.Kind]
	}
	return t
}

// zero is the value of a member that is not set.
func (t *Type) zero() ref.Val {
	switch t.Kind {
	case Object, Map:
		return &object{t: t, size: -1}
	case List:
		return &list{t: t}
	case String:
		return types.String("")
	case Boolean:
		return types.False
	case Integer:
		return types.Int(0)
	case Number:
		return types.Double(0)
	}
	return types.NullValue
}

// phrase is an expression of the documents. It is compiled when it is needed.
type phrase struct {
	text    string
	compile func(text string) (*Program, error)

	once    sync.Once
	program *Program
	err     error
}

func (p *phrase) ready() error {
	p.once.Do(func() { p.program, p.err = p.compile(p.text) })
	return p.err
}

// eval is the value for the values of the first variables.
func (p *phrase) eval(values ...document.Value) (Value, error) {
	if err := p.ready(); err != nil {
		return nil, err
	}
	b := p.program.scope.Bind()
	for i, v := range values {
		if b.Set(i, v); v.Kind() <= document.Null {
			b.values[i] = p.program.scope.variables[i].Type.zero()
		}
	}
	return p.program.Eval(context.Background(), b)
}

// inTable compiles an expression over variables whose types are some of a table. Its value
// has to be of one of the types that fit.
func inTable(t *schema.Table, text string, fit []*types.Type, names []string, of ...schema.Ref) (*Program, error) {
	ts := tableTypes{&Types{objects: map[string]*Type{}}, "", t, map[schema.Ref]*Type{}}
	variables := make([]Variable, len(names))
	for i := range names {
		variables[i] = Variable{Name: names[i], Type: ts.of(of[i])}
	}
	scope, err := newScope(documentBase, ts.Types, nil, variables...)
	if err != nil {
		return nil, err
	}
	p, err := scope.Compile(text, Anything)
	if err != nil {
		return nil, err
	}
	if is := p.checked.OutputType(); !slices.ContainsFunc(fit, is.IsExactType) {
		return nil, &Problem{ResultProblem, fmt.Sprintf("the value is of type %s, which is none of %v", is, fit)}
	}
	return p, nil
}

// Cell is the expression of a table cell. It sees an object as self.
type Cell struct{ phrase }

// NewCell is the cell of an expression over objects of a type.
func NewCell(t *schema.Table, of schema.Ref, text string) *Cell {
	return &Cell{phrase{text: text, compile: func(text string) (*Program, error) {
		return inTable(t, text, []*types.Type{types.StringType, types.IntType, types.BoolType, types.DoubleType}, []string{"self"}, of)
	}}}
}

// Compile returns the mistake in the expression, whose value has to fit into a cell.
func (c *Cell) Compile() error { return c.ready() }

// Show is the value of the cell of an object: a string, an int64, a float64 or a bool, nil
// where the expression fails.
func (c *Cell) Show(obj document.Value) any {
	v, err := c.eval(obj)
	if err != nil {
		return nil
	}
	return v.Value()
}
