package oapi

import (
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

var templates = Templates{
	Header: "package {{.PackageName}}\n",
	Types: `{{range .Types}}
type {{.TypeName}} struct {
{{- range .Schema.Properties}}
	{{.GoFieldName}} {{.GoTypeDef}} // {{index .Extensions "x-json-tag-options"}}
{{- end}}
}
{{end}}`,
}

func example(field string) Package {
	property := openapi3.NewStringSchema()
	property.Extensions = map[string]any{GoName: field, Order: 1.0, Value: true, TagOptions: "x"}
	count := openapi3.NewInt32Schema()
	count.Extensions = map[string]any{GoName: "Z", Order: 0.0}
	s := openapi3.NewObjectSchema().WithProperty("a", property).WithProperty("z", count)
	return Package{Name: "example", Schemas: openapi3.Schemas{"Thing": s.NewRef()}}
}

func TestModels(t *testing.T) {
	got, err := Models(example("A"), templates)
	want := "package example\n\ntype Thing struct {\n\tZ *int32 // <no value>\n\tA string // x\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
}

func TestModelsErrors(t *testing.T) {
	bad := templates
	bad.Types = "type {\n"
	if _, err := Models(example("A"), bad); err == nil || !strings.Contains(err.Error(), "package example") {
		t.Errorf("template that is no Go: %v", err)
	}
	quoted := example("A")
	quoted.Schemas["Thing"].Value.Properties["b\"c"] = openapi3.NewStringSchema().NewRef()
	if _, err := Models(quoted, templates); err == nil {
		t.Error("no error for a property name with a quote")
	}
}

// TestModelsConcurrently fails with -race when two runs meet in oapi-codegen.
func TestModelsConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for _, field := range []string{"A", "B", "C", "D"} {
		wg.Go(func() {
			got, err := Models(example(field), templates)
			if err != nil || !strings.Contains(string(got), "\t"+field+" string") {
				t.Errorf("%s: %s %v", field, got, err)
			}
		})
	}
	wg.Wait()
}
