package oapi

import (
	"fmt"
	"go/format"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// Extensions of property schemas that the templates read, in addition to those of
// oapi-codegen itself.
const (
	// Order is the position of a property in its struct, a float64.
	Order = "x-order"
	// GoName is the name of the field, a string.
	GoName = "x-go-name"
	// GoType is the Go type, a string; without it oapi-codegen derives the
	// type from the schema.
	GoType = "x-go-type"
	// Value marks an optional property that is not a pointer, a bool.
	Value = "x-go-type-skip-optional-pointer"
	// TagOptions follows the name in the json tag, a string like ",omitempty".
	TagOptions = "x-json-tag-options"
)

// Package is one Go package of types. Schemas are its types by Go name; a
// reference inside the package is "#/components/schemas/<Go name>".
type Package struct {
	Name    string
	Schemas openapi3.Schemas
	Imports []Import // in the order in which they are written
}

// Import is a package that GoType extensions name.
type Import struct{ Alias, Path string }

// Templates are those that replace templates of oapi-codegen.
type Templates struct {
	Header string // package clause and imports
	Types  string // type declarations
}

// running guards the package variables of oapi-codegen.
var running sync.Mutex

// Models returns the formatted Go source of a package of types. An error means
// a schema that oapi-codegen refuses, or a template that gives no valid Go.
func Models(p Package, t Templates) ([]byte, error) {
	spec := &openapi3.T{
		OpenAPI:    "3.0.3",
		Info:       &openapi3.Info{Title: p.Name, Version: "v1"},
		Paths:      openapi3.NewPaths(),
		Components: &openapi3.Components{Schemas: p.Schemas},
	}
	config := codegen.Configuration{
		PackageName: p.Name,
		Generate:    codegen.GenerateOptions{Models: true},
		OutputOptions: codegen.OutputOptions{
			SkipFmt:       true, // it would look for imports, which are known
			SkipPrune:     true,
			UserTemplates: map[string]string{"imports.tmpl": t.Header, "typedef.tmpl": t.Types},
		},
	}
	for _, i := range p.Imports {
		config.AdditionalImports = append(config.AdditionalImports, codegen.AdditionalImport{Alias: i.Alias, Package: i.Path})
	}
	running.Lock()
	defer running.Unlock()
	source, err := codegen.Generate(spec, config)
	if err != nil {
		return nil, fmt.Errorf("types of package %s: %w", p.Name, err)
	}
	formatted, err := format.Source([]byte(source))
	if err != nil {
		return nil, fmt.Errorf("types of package %s: the templates give Go that does not parse: %w", p.Name, err)
	}
	return formatted, nil
}
