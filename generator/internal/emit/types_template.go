package emit

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"text/template"
)

//go:embed templates/*.tmpl
var peopleTemplates embed.FS

// executeGo runs one of the templates and formats the Go source that it gives.
func executeGo(name string, data any) ([]byte, error) {
	b, err := execute(name, data)
	if err != nil {
		return nil, err
	}
	source, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("template %s gives Go that does not parse: %w", name, err)
	}
	return source, nil
}

// execute runs one of the templates.
func execute(name string, data any) (*bytes.Buffer, error) {
	t, err := template.ParseFS(peopleTemplates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	return &b, t.Execute(&b, data)
}
