package emit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/generator/internal/oapi"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Types emits the Go types of every group version: structs for clients, with the methods
// that the typed client needs.
func Types(m *model.Model) ([]File, error) {
	header, err := peopleTemplates.ReadFile("templates/types_header.tmpl")
	if err != nil {
		return nil, err
	}
	body, err := peopleTemplates.ReadFile("templates/types_body.tmpl")
	if err != nil {
		return nil, err
	}
	index := indexTypes(m)
	var files []File
	var wrong []error
	for _, gv := range m.GroupVersions {
		if gv.BuiltIn {
			continue
		}
		p := &goTypes{index: index, gv: gv, imports: map[string]bool{}, schemas: openapi3.Schemas{}, constants: map[string]string{}}
		if err := p.collect(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		if len(p.schemas) == 0 {
			continue
		}
		source, err := oapi.Models(oapi.Package{Name: goPackage(gv.Dir), Schemas: p.schemas, Imports: p.importList()},
			oapi.Templates{Header: string(header), Types: string(body)})
		if err != nil {
			return nil, err
		}
		files = append(files, File{gv.Dir + "/types.go", source})
		parts := struct {
			Package, APIVersion string
			Kinds               []goKind
			Enums               []goEnum
		}{goPackage(gv.Dir), apiVersion(gv), p.kinds, p.enums}
		for _, f := range []struct {
			name string
			rows int
		}{{"types_kinds.go", len(p.kinds)}, {"types_constants.go", len(p.enums)}} {
			if f.rows == 0 {
				continue
			}
			if source, err = executeGo(f.name+".tmpl", parts); err != nil {
				return nil, err
			}
			files = append(files, File{gv.Dir + "/" + f.name, source})
		}
	}
	return files, errors.Join(wrong...)
}

// apiVersion is the text of an object's apiVersion: "v1", "apps/v1".
func apiVersion(gv *model.GroupVersion) string {
	if gv.Group == "" || gv.Dir == "meta/v1" {
		return gv.Version
	}
	return gv.Group + "/" + gv.Version
}

// goTypes collects the types of one package as the schemas that oapi-codegen
// turns into Go; types of other packages are Go types in them already.
type goTypes struct {
	index   typeIndex
	gv      *model.GroupVersion
	imports map[string]bool // directories of this module
	schemas openapi3.Schemas
	kinds   []goKind
	enums   []goEnum

	constants map[string]string // the values by name
}

// goKind is a kind that gets methods.
type goKind struct {
	Go, Kind    string
	HasMetadata bool
}

func (p *goTypes) collect() error {
	var wrong []error
	for _, t := range p.gv.Types {
		wrong = append(wrong, p.collectType(t))
	}
	slices.SortFunc(p.kinds, func(a, b goKind) int { return cmp.Compare(a.Go, b.Go) })
	return errors.Join(wrong...)
}

func (p *goTypes) collectType(t *model.Type) error {
	name := goTypeName(t.Name, t.Schema.Goname)
	s, err := p.declaration(t, name)
	if err != nil {
		return err
	}
	if err := p.enum(name, t.Name, t.Schema); err != nil {
		return err
	}
	if s.Value.Description == "" {
		s.Value.Description = "has no description."
	}
	s.Value.Description = wrap(name+": "+s.Value.Description, commentWidth)
	if t.Kind {
		p.addTypeMeta(s.Value)
		p.kinds = append(p.kinds, goKind{Go: name, Kind: t.Name, HasMetadata: hasObjectMeta(t)})
	}
	return p.declare(name, s, t.Schema)
}

// declare adds a type to the package. Two types may not have the same Go name.
func (p *goTypes) declare(name string, s *openapi3.SchemaRef, at *schema.Schema) error {
	if p.schemas[name] != nil {
		return &schema.Error{Pos: at.Pos, What: fmt.Sprintf("the Go type %s is declared twice in package %s", name, goPackage(p.gv.Dir)),
			Fix: "rename one of them, or add x-cluster-go-name"}
	}
	p.schemas[name] = s
	return nil
}

func (p *goTypes) addTypeMeta(s *openapi3.Schema) {
	for i, name := range []string{"kind", "apiVersion"} {
		f := value(&openapi3.Schema{Type: types("string")})
		p.makeField(f, name, i-2, ",omitempty")
		s.Properties[name] = f
	}
}

func (p *goTypes) importList() []oapi.Import {
	var list []oapi.Import
	for _, dir := range slices.Sorted(maps.Keys(p.imports)) {
		if dir == "value" {
			list = append(list, oapi.Import{Path: module + "/value"})
			continue
		}
		list = append(list, oapi.Import{Alias: goPackage(dir), Path: module + "/gen/" + dir})
	}
	return list
}

func hasObjectMeta(t *model.Type) bool {
	return slices.ContainsFunc(t.Schema.Properties, func(f schema.Property) bool {
		return f.Name == "metadata" && f.Schema.Ref == "/meta/v1/ObjectMeta"
	})
}
