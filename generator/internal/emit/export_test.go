package emit_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

func everything(t *testing.T) (m *model.Model, groups []string) {
	t.Helper()
	m, err := load.Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range m.GroupVersions {
		groups = append(groups, gv.Group)
	}
	return m, groups
}

// Exported OpenAPI documents are right: 3.0 as a validator says, and the schemas of 3.1 as
// JSON Schema.
func TestExportedOpenAPI(t *testing.T) {
	m, groups := everything(t)
	old, _, err := emit.OpenAPI30(m, groups)
	if err != nil || len(old) < 25 {
		t.Fatal(len(old), err)
	}
	for _, f := range old {
		loader := openapi3.NewLoader()
		doc, err := loader.LoadFromData(f.Data)
		if err == nil {
			err = doc.Validate(loader.Context, openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation())
		}
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
	files, _, err := emit.OpenAPI31(m, groups)
	if err != nil || len(files) != len(old) {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		var doc struct {
			OpenAPI    string
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(f.Data, &doc); err != nil || doc.OpenAPI != "3.1.0" || bytes.Contains(f.Data, []byte(`"nullable":true`)) {
			t.Errorf("%s is not in the words of 3.1: %v", f.Path, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:///"+f.Path, bytes.NewReader(f.Data)); err != nil {
			t.Fatal(err)
		}
		for name := range doc.Components.Schemas {
			if _, err := c.Compile("mem:///" + f.Path + "#/components/schemas/" + name); err != nil {
				t.Errorf("%s: %v", f.Path, err)
			}
		}
	}
}

// Exported JSON Schemas accept the examples of the documents, by the index too, and refuse
// members that there are not.
func TestExportedJSONSchemas(t *testing.T) {
	m, groups := everything(t)
	files, _, err := emit.JSONSchemas(m, groups)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	for _, f := range files {
		if err := c.AddResource("mem:///"+f.Path, bytes.NewReader(f.Data)); err != nil {
			t.Fatal(err)
		}
	}
	index, err := c.Compile("mem:///index.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir("../../../schemas/examples/valid", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(text, &object); err != nil {
			return err
		}
		plain := func() (v any) {
			text, _ := json.Marshal(object)
			_ = json.Unmarshal(text, &v)
			return v
		}
		if slices.Contains([]string{"DeleteOptions", "Eviction", "Scale", "TokenRequest"}, object["kind"].(string)) {
			return nil // bodies of requests only
		}
		if err := index.Validate(plain()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		seen++
		maps.Copy(object, map[string]any{"nowhere": "x"})
		if index.Validate(plain()) == nil {
			t.Errorf("%s: a member that there is not is accepted", path)
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Fatal(seen, err)
	}
	t.Logf("%d examples, %d schemas", seen, len(files)-1)
}
