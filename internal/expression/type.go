package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Kind is the shape of values in expressions.
type Kind uint8

// The kinds of values. Opaque values can only be compared, as parts of others.
const (
	Dynamic Kind = iota // any JSON, whose shape shows at run time
	Object
	Map
	List
	String
	Bytes // base64
	Duration
	Date
	DateTime
	Boolean
	Integer
	Number
	IntOrString
	Opaque
	Unknown  // any JSON, whose parts expressions cannot name
	Quantity // an amount, like 50Mi
)

// Type declares the values of a variable or of a part of it. It does not change once a
// Scope uses it.
type Type struct {
	Kind     Kind
	Nullable bool
	ListType schema.ListType // List: the meaning of equality and of +
	Keys     []string        // List of type ListMap
	Elem     *Type           // Map and List
	Fields   []Field         // Object
	// MaxElements bounds the elements of lists and maps, and the bytes of texts.
	// MinSize is the length of the shortest JSON text of a value. Both are for the
	// estimate of costs.
	MaxElements, MinSize int64

	zeros   bool   // Object: members that are not set have the zero value of their type
	declare func() // Object: makes the fields, if they are made when they are needed

	native    *types.Type
	byName    map[string]*Field
	byEscaped map[string]*Field // those that expressions can name
}

// field finds a field of an object by its name, and named by its name in expressions; nil
// for none.
func (t *Type) field(name string) *Field {
	if t.declare != nil {
		t.declare()
	}
	return t.byName[name]
}

func (t *Type) named(name string) *Field {
	if t.declare != nil {
		t.declare()
	}
	return t.byEscaped[name]
}

// Field is a member of an Object.
type Field struct {
	Name string
	Type *Type
	// Plain is set where expressions write a reserved word as it is, not escaped: the
	// grammar allows it behind a dot.
	Plain bool

	escaped string // "" for one that expressions cannot name
	access  *types.FieldType
}

// dynamic is the type of values without a declared one.
var dynamic = &Type{Kind: Dynamic, native: types.DynType}

// simple are the types of CEL for kinds without parts.
var simple = map[Kind]*types.Type{
	Dynamic: types.DynType, String: types.StringType, Bytes: types.BytesType, Duration: types.DurationType, Date: types.TimestampType,
	DateTime: types.TimestampType, Boolean: types.BoolType, Integer: types.IntType, Number: types.DoubleType, IntOrString: types.DynType, Opaque: types.DynType,
	Unknown: types.AnyType, Quantity: quantities.is,
}

// Member is the type of a member of an object or map, nil for one that is not declared.
func (t *Type) Member(name string) *Type {
	if f := t.field(name); f != nil {
		return f.Type
	}
	if t.Kind == Map {
		return t.Elem
	}
	return nil
}

// Types are declared types, by name: those of all objects below the roots.
type Types struct {
	Changes bool // expressions may make configurations and patches
	objects map[string]*Type
}

// Declare gives types and all below them their names in messages of the compiler, which
// begin with that of the root.
func (ts *Types) Declare(name string, t *Type) {
	if ts.objects == nil {
		ts.objects = map[string]*Type{}
	}
	if t.native != nil {
		return
	}
	switch t.Kind {
	case Object:
		t.native = types.NewObjectType(name)
		ts.objects[name] = t
		for i := range t.Fields {
			ts.Declare(name+"."+t.Fields[i].Name, t.Fields[i].Type)
		}
		t.index()
	case Map:
		ts.Declare(name+"[]", t.Elem)
		t.native = types.NewMapType(types.StringType, t.Elem.native)
	case List:
		ts.Declare(name+"[]", t.Elem)
		t.native = types.NewListType(t.Elem.native)
	default:
		t.native = simple[t.Kind]
	}
}

// index makes the fields of an object known by their names.
func (t *Type) index() {
	t.byName, t.byEscaped = make(map[string]*Field, len(t.Fields)), make(map[string]*Field, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		t.byName[f.Name] = f
		if f.declare() {
			t.byEscaped[f.escaped] = f
			if also, _ := Escape(f.Name); f.Plain {
				t.byEscaped[also] = f // as custom resources write it
			}
		}
	}
}

// declare makes the access to a field of an object, and reports whether expressions can
// name it.
func (f *Field) declare() bool {
	escaped, ok := Escape(f.Name)
	if !ok || f.Type.Kind == Opaque {
		return false
	}
	if f.escaped = escaped; f.Plain {
		f.escaped = f.Name
	}
	f.access = &types.FieldType{Type: f.Type.native,
		IsSet: func(target any) bool {
			o, ok := target.(*object)
			return ok && o.get(f.Name).Kind() > document.Null
		},
		GetFrom: func(target any) (any, error) {
			o, ok := target.(*object)
			if !ok {
				return nil, noSuchKey(f.escaped)
			}
			switch v, ok := o.field(f); err := v.(type) {
			case *types.Err:
				return nil, err
			default:
				if ok {
					return v, nil
				}
				if o.t.zeros {
					return f.Type.zero(), nil
				}
				return nil, noSuchKey(f.escaped)
			}
		}}
	return true
}

func noSuchKey(name string) error { return types.NewErr("no such key: %s", name).(*types.Err) }

// provider finds declared types, and those of the base environment.
type provider struct {
	types.Provider
	adapter  types.Adapter
	declared *Types
	composed *Type // nil for none
}

// object is the declared type of a name; nil for none.
func (p *provider) object(name string) *Type {
	if name == composedType {
		return p.composed
	}
	return p.declared.objects[name]
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t := p.object(name); t != nil {
		return types.NewTypeTypeWithParam(t.native), true
	}
	if p.makes(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t := p.object(name); t != nil {
		t.named("")
		return slices.Sorted(maps.Keys(t.byEscaped)), true
	}
	if p.makes(name) {
		return nil, true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if t := p.object(name); t != nil {
		if f := t.named(field); f != nil {
			return f.access, true
		}
		return nil, false
	}
	if p.makes(name) {
		return madeField(name, field)
	}
	return p.Provider.FindStructFieldType(name, field)
}

// NativeToValue implements types.Adapter.
func (p *provider) NativeToValue(v any) ref.Val { return p.adapter.NativeToValue(v) }
