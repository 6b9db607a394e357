package emit

import (
	"fmt"
	"go/token"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/generator/internal/oapi"
	"github.com/capstan-dev/capstan/internal/schema"
)

// commentWidth is where comments of the generated types are wrapped.
const commentWidth = 100

// valueTypes are the Go types of the published types that need no document.
var valueTypes = map[string]string{
	"Time": "value.Time", "MicroTime": "value.MicroTime", "Duration": "value.Duration",
	"Quantity": "value.Quantity", "IntOrString": "value.IntOrString", "RawExtension": "value.Raw", "JSON": "value.Raw",
}

// declaration translates the schema of a named type.
func (p *goTypes) declaration(t *model.Type, name string) (*openapi3.SchemaRef, error) {
	if t.Schema.Ref == "" && len(t.Schema.Properties) > 0 {
		return p.structure(t, t.Schema, name)
	}
	return p.schema(t, t.Schema, name)
}

// schema translates a schema of a document that declares t. An object that is
// described in place becomes a type with that name.
func (p *goTypes) schema(t *model.Type, s *schema.Schema, name string) (*openapi3.SchemaRef, error) {
	if s.Ref != "" {
		target, err := p.index.resolve(t, s)
		if err != nil {
			return nil, err
		}
		return p.ref(target, s.Description), nil
	}
	if name := builtinOf(s); name != "" {
		p.imports["value"] = true
		return goType(valueTypes[name], s.Description), nil
	}
	switch {
	case s.PreserveAny && len(s.Properties) == 0 || s.Type == "" && len(s.Properties) == 0 && s.Additional == nil:
		p.imports["value"] = true
		return goType("value.Raw", s.Description), nil
	case s.Type == "array":
		items, err := p.element(t, s.Items, name)
		if err != nil {
			return nil, err
		}
		return value(&openapi3.Schema{Type: types("array"), Items: items, Description: s.Description}), nil
	case s.Additional != nil:
		values, err := p.element(t, s.Additional, name)
		if err != nil {
			return nil, err
		}
		out := object3(s.Description)
		out.AdditionalProperties.Schema = values
		return value(out), nil
	case s.Type == "object" && len(s.Properties) == 0:
		return goType("struct{}", s.Description), nil
	case len(s.Properties) > 0:
		inner, err := p.structure(t, s, name)
		if err != nil {
			return nil, err
		}
		inner.Value.Description = wrap(name+": "+s.Description, commentWidth)
		return p.local(name, s.Description), p.declare(name, inner, s)
	}
	out := &openapi3.Schema{Type: types(s.Type), Format: s.Format, Description: s.Description}
	switch {
	case s.Type == "number":
		out.Format = "double"
	case s.Type == "string" && s.Format != "byte":
		out.Format = ""
	case s.Type == "integer" && s.Format == "":
		out.Format = "int64"
	}
	return value(out), nil
}

// element translates the values of a list or a map; without a schema they may be
// anything.
func (p *goTypes) element(t *model.Type, s *schema.Schema, name string) (*openapi3.SchemaRef, error) {
	if s == nil {
		s = &schema.Schema{PreserveAny: true}
	}
	return p.schema(t, s, name)
}

// structure translates an object with its fields in the order of the document.
func (p *goTypes) structure(t *model.Type, s *schema.Schema, name string) (*openapi3.SchemaRef, error) {
	out := object3(s.Description)
	named := map[string]string{}
	for i, f := range s.Properties {
		if err := checkGoField(f, named); err != nil {
			return nil, err
		}
		fs, err := p.schema(t, f.Schema, name+goName(f.Name))
		if err != nil {
			return nil, err
		}
		if err := p.enum(name+goName(f.Name), name+"."+f.Name, f.Schema); err != nil {
			return nil, err
		}
		shape, err := p.shapeOf(t, f.Schema)
		if err != nil {
			return nil, err
		}
		pointer, options := fieldForm(f.Schema.Presence, s.Publishes(f.Name), shape)
		p.makeField(fs, f.Name, i, options)
		fs.Extensions[oapi.Value] = !pointer
		if f.Schema.Goname != "" && f.Schema.Ref == "" {
			fs.Extensions[oapi.GoName] = f.Schema.Goname
		}
		fs.Value.Description = wrap(f.Schema.Description, commentWidth)
		out.Properties[f.Name] = fs
	}
	return value(out), nil
}

// checkGoField refuses a field whose name in Go is not one, or that of another field; named
// holds those before it.
func checkGoField(f schema.Property, named map[string]string) error {
	name := goName(f.Name)
	if f.Schema.Goname != "" && f.Schema.Ref == "" {
		name = f.Schema.Goname
	}
	if other := named[name]; other != "" {
		return &schema.Error{Of: model.OfGoName, Pos: f.Pos, What: fmt.Sprintf("the field %s has the name %s in Go, as %s does", f.Name, name, other),
			Fix: "rename it, or add x-cluster-go-name"}
	}
	if named[name] = f.Name; !token.IsIdentifier(name) {
		return &schema.Error{Of: model.OfGoName, Pos: f.Pos, What: fmt.Sprintf("the field %s would be %s in Go, which is not a name there", f.Name, name),
			Fix: "write a name in camelCase, or add x-cluster-go-name"}
	}
	return nil
}

// shape holds the properties of a type that decide the form of a Go field.
type shape uint8

const (
	shapeScalar shape = iota
	shapeValue        // scalars that are structs in Go
	shapeStruct
	shapeNilable // slices and maps: nil stands for absent
)

// shapeOf finds the shape of a schema, through references.
func (p *goTypes) shapeOf(t *model.Type, s *schema.Schema) (shape, error) {
	for range 32 { // a chain of references that is longer never ends
		if s.Ref == "" {
			break
		}
		target, err := p.index.resolve(t, s)
		if err != nil {
			return 0, err
		}
		t, s = target, target.Schema
	}
	switch name := builtinOf(s); {
	case name == "RawExtension" || name == "JSON":
		return shapeNilable, nil
	case name == "Quantity":
		return shapeScalar, nil
	case name != "":
		return shapeValue, nil
	case s.Type == "array" || s.Additional != nil || s.Format == "byte" || s.PreserveAny && len(s.Properties) == 0 || s.Type == "":
		if len(s.Properties) == 0 {
			return shapeNilable, nil
		}
		return shapeStruct, nil
	case s.Type == "object":
		return shapeStruct, nil
	}
	return shapeScalar, nil
}

// fieldForm decides whether a field is a pointer, and the rest of its json tag after the
// name, so that a written struct has the members that the presence asks for.
func fieldForm(presence string, required bool, s shape) (pointer bool, options string) {
	if presence == "" {
		switch {
		case required:
			presence = "always"
		case s == shapeStruct:
			presence = "explicit"
		default:
			presence = "implicit"
		}
	}
	switch {
	case presence == "always":
		return false, ""
	case s == shapeNilable && presence == "explicit":
		return false, ",omitzero" // nil is absent, an empty list is not
	case s == shapeStruct || presence == "explicit":
		return true, ",omitempty"
	case s == shapeValue:
		return false, ",omitzero"
	}
	return false, ",omitempty"
}

// ref refers to a named type, of this package or of another.
func (p *goTypes) ref(t *model.Type, description string) *openapi3.SchemaRef {
	name := goTypeName(t.Name, t.Schema.Goname)
	if t.GV != p.gv {
		p.imports[t.GV.Dir] = true
		return goType(goPackage(t.GV.Dir)+"."+name, description)
	}
	return p.local(name, description)
}

// local refers to a type of this package by its Go name.
func (p *goTypes) local(name, description string) *openapi3.SchemaRef {
	return &openapi3.SchemaRef{
		Ref: "#/components/schemas/" + name, Value: &openapi3.Schema{Description: description}, Extensions: map[string]any{},
	}
}

// makeField makes a schema the field of a struct.
func (p *goTypes) makeField(s *openapi3.SchemaRef, name string, order int, options string) {
	s.Extensions[oapi.Order] = float64(order)
	s.Extensions[oapi.GoName] = goName(name)
	s.Extensions[oapi.TagOptions] = options
	s.Extensions[oapi.Value] = true
}

func goType(name, description string) *openapi3.SchemaRef {
	s := value(&openapi3.Schema{Description: description})
	s.Extensions[oapi.GoType] = name
	return s
}

// value wraps a schema so that its extensions may be set in one place.
func value(s *openapi3.Schema) *openapi3.SchemaRef {
	if s.Extensions == nil {
		s.Extensions = map[string]any{}
	}
	return &openapi3.SchemaRef{Value: s, Extensions: s.Extensions}
}

func object3(description string) *openapi3.Schema {
	return &openapi3.Schema{Type: types("object"), Properties: openapi3.Schemas{}, Description: description}
}

func types(name string) *openapi3.Types { return &openapi3.Types{name} }
