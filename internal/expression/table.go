package expression

import (
	"cmp"
	"strconv"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// documentBase has cel.bind too, for the expressions of the documents.
var documentBase = sync.OnceValues(func() (*base, error) { return newBase(ext.Bindings()) })

// textKinds are the kinds of tables whose values are strings in expressions too.
var textKinds = map[schema.Kind]Kind{schema.Boolean: Boolean, schema.Integer: Integer, schema.Number: Number, schema.IntOrString: IntOrString, schema.Any: Dynamic}

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

// Cell is the expression of a table cell. It sees an object as self.
type Cell struct {
	table *schema.Table
	of    schema.Ref
	text  string

	once    sync.Once
	program *Program
	err     error
}

// NewCell is the cell of an expression over objects of a type. It is compiled when it is
// needed.
func NewCell(t *schema.Table, of schema.Ref, text string) *Cell {
	return &Cell{table: t, of: of, text: text}
}

// Compile returns the mistake in the expression, whose value has to fit into a cell.
func (c *Cell) Compile() error {
	c.once.Do(func() {
		ts := &Types{}
		var scope *Scope
		if scope, c.err = newScope(documentBase, ts, Variable{Name: "self", Type: ts.OfTable("", c.table, c.of)}); c.err != nil {
			return
		}
		if c.program, c.err = scope.Compile(c.text, Anything); c.err != nil {
			return
		}
		switch is := c.program.checked.OutputType(); is {
		case cel.StringType, cel.IntType, cel.BoolType, cel.DoubleType:
		default:
			c.err = &Problem{ResultProblem, "the value is of type " + is.String() + ", cells show a string, int, double or bool"}
		}
	})
	return c.err
}

// Show is the value of the cell of an object: a string, an int64, a float64 or a bool, nil
// where the expression fails.
func (c *Cell) Show(obj document.Value) any {
	if c.Compile() != nil {
		return nil
	}
	v, err := c.program.eval(obj)
	if err != nil {
		return nil
	}
	return v.Value()
}
