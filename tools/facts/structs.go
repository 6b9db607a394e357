package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// How the server writes the zero value of a field.
const (
	explicit = "explicit" // unset and zero differ
	always   = "always"   // zero is written
	implicit = "implicit" // zero is not written, unless the field is a struct
	omitted  = "omitted"  // zero is not written, though the field is a struct
)

// structure is a struct of Go: the presence of its fields, and the types whose fields it has too.
type structure struct {
	fields map[string]string
	inline []string
}

// structures are structs by their types.
type structures map[string]*structure

// presence is that of a field, also of one of an inline type; "" for none.
func (all structures) presence(of, field string) string {
	s := all[of]
	if s == nil {
		return ""
	}
	if found := s.fields[field]; found != "" {
		return found
	}
	for _, inline := range s.inline {
		if found := all.presence(inline, field); found != "" {
			return found
		}
	}
	return ""
}

// number is that of a field in the binary form. A field of an embedded type is in a message of its own: 2.30 is the
// number 30 in the message 2. "" is none.
func (all structures) number(of, field string, numbers map[string]map[string]string) string {
	if n := numbers[of][field]; n != "" || all[of] == nil {
		return n
	}
	for _, inline := range all[of].inline {
		_, name, _ := strings.Cut(inline, ".")
		if name == "" {
			continue
		}
		outer, inner := numbers[of][strings.ToLower(name[:1])+name[1:]], all.number(inline, field, numbers)
		if outer != "" && inner != "" {
			return outer + "." + inner
		}
	}
	return ""
}

// read adds the structs in a file of Go.
func (all structures) read(dir string, source []byte) {
	dir = strings.TrimPrefix(dir, "pkg/apis/")
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return // what does not compile has no types
	}
	imports := map[string]string{} // types of packages, by the name of the import
	for _, spec := range file.Imports {
		from := strings.Split(strings.Trim(spec.Path.Value, `"`), "/")
		if n := len(from); n > 1 {
			name := from[n-1]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = from[n-2] + "/" + from[n-1]
		}
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			named, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if s, ok := named.Type.(*ast.StructType); ok {
				all[dir+"."+named.Name.Name] = newStructure(dir, imports, s)
			} else if named.Assign.IsValid() {
				all[dir+"."+named.Name.Name] = &structure{inline: []string{inlineType(dir, imports, named.Type)}}
			}
		}
	}
}

func newStructure(dir string, imports map[string]string, s *ast.StructType) *structure {
	made := &structure{fields: map[string]string{}}
	for _, f := range s.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag = reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		_, pointer := f.Type.(*ast.StarExpr)
		switch {
		case name == "" && len(f.Names) == 0:
			made.inline = append(made.inline, inlineType(dir, imports, f.Type))
		case name == "" || name == "-":
		case pointer:
			made.fields[name] = explicit
		case strings.Contains(options, "omitzero"):
			made.fields[name] = omitted
		case !strings.Contains(options, "omitempty"):
			made.fields[name] = always
		default:
			made.fields[name] = implicit
		}
	}
	return made
}

// inlineType is the type of an embedded field.
func inlineType(dir string, imports map[string]string, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return dir + "." + t.Name
	case *ast.SelectorExpr:
		if in, ok := t.X.(*ast.Ident); ok {
			return imports[in.Name] + "." + t.Sel.Name
		}
	}
	return ""
}
