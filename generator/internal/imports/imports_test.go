package imports_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/imports"
	"github.com/capstan-dev/capstan/generator/internal/load"
)

const repository = "../../.."

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// unsaid are the findings about documents with parts that OpenAPI does not say: endpoints of
// subresources (which are noted), and whether an object without members may have some.
var unsaid = map[string]int{"api_v1.json": 17, "apis_apiextensions.k8s.io_v1.json": 1, "apis_apps_v1.json": 1, "apis_certificates.k8s.io_v1.json": 1, "apis_internal.apiserver.k8s.io_v1alpha1.json": 1}

// The OpenAPI documents of the built-in groups become documents that say the same, as far
// as OpenAPI says it: the gate finds nothing, in either direction.
func TestPublishedOpenAPIIsImported(t *testing.T) {
	m, err := load.Load(repository)
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, gv := range m.GroupVersions {
		if gv.Served && !strings.HasPrefix(gv.Group, "auth") { // which keep nothing
			groups = append(groups, gv.Group)
		}
	}
	files, _, err := emit.OpenAPI30(m, slices.Compact(groups))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Path, func(t *testing.T) {
			dir := t.TempDir()
			profile, err := os.ReadFile(filepath.Join(repository, "openapi", "profile.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			releases, err := os.ReadFile(filepath.Join(repository, "openapi", "releases.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string][]byte{"openapi/profile.yaml": profile, "openapi/releases.yaml": releases, "published.json": f.Data})
			source, err := foreign.Parse("published.json", f.Data)
			if err != nil {
				t.Fatal(err)
			}
			made, err := imports.Of(source, imports.Options{Root: dir})
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, made.Files)
			files, _, err := emit.OpenAPI30(made.Model, groups)
			if err != nil {
				t.Fatal(err)
			}
			again := slices.IndexFunc(files, func(g emit.File) bool { return g.Path == f.Path })
			if again < 0 {
				t.Fatalf("%s is not published again", f.Path)
			}
			write(t, dir, map[string][]byte{"again.json": files[again].Data})
			var found []string
			for _, sides := range [][2]string{{"published.json", "again.json"}, {"again.json", "published.json"}} {
				old, err := compat.Source{}.Open(t.Context(), filepath.Join(dir, sides[0]))
				if err != nil {
					t.Fatal(err)
				}
				now, err := compat.Source{}.Open(t.Context(), filepath.Join(dir, sides[1]))
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range compat.Compare(old, now, compat.Options{}).Findings {
					if c.Rule == "list-semantics-changed" && strings.Contains(fmt.Sprint(made.Notes), "the list key") {
						continue // which is noted: OpenAPI does not say how elements without a key are told apart
					}
					found = append(found, strings.ReplaceAll(c.String(), dir, ""))
				}
			}
			if len(found) != unsaid[f.Path] {
				t.Errorf("%d notes: %v\n%d findings: %s", len(made.Notes), made.Notes, len(found), strings.Join(found[:min(len(found), 4)], "\n"))
			}
		})
	}
}

const trucks = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trucks.fleet.example.com}
spec:
  group: fleet.example.com
  names: {plural: trucks, kind: Truck, singular: truck, shortNames: [tr]}
  scope: Namespaced
  conversion: {strategy: None}
  versions:
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {wheels: {type: integer, format: int32}, color: {type: string}}}
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1}
    selectableFields: [{jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        x-kubernetes-validations: [{rule: 'self.metadata.name.size() < 40', message: short names only}]
        properties:
          spec:
            type: object
            required: [wheels]
            properties:
              wheels: {type: integer, format: int32, minimum: 2, x-kubernetes-validations: [{rule: self == oldSelf}]}
              note: {type: string, nullable: true, maxLength: 9, pattern: "^[a-z]*$", enum: [a, b, null]}
              color: {type: string, default: red, x-kubernetes-validations: [{rule: 'self != "pink"', message: no pink, reason: FieldValueForbidden}]}
              port: {x-kubernetes-int-or-string: true}
              load: {type: object, x-kubernetes-preserve-unknown-fields: true}
              part: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              tags: {type: array, x-kubernetes-list-type: set, maxItems: 5, items: {type: string, x-kubernetes-validations: [{rule: 'self.size() > 1', message: longer}]}}
          status: {type: object, properties: {conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}}}
`

func of(t *testing.T, text string) (*imports.Result, error) {
	t.Helper()
	f, err := foreign.Parse("crd.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return imports.Of(f, imports.Options{Root: t.TempDir()})
}

// All that a definition says is in the documents.
func TestADefinitionIsImported(t *testing.T) {
	made, err := of(t, trucks)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, name := range slices.Sorted(maps.Keys(made.Files)) {
		all += "## " + name + "\n" + string(made.Files[name])
	}
	for _, want := range []string{"imported: true", "storedAs: fleet/v1/Truck", "carries: [", "deprecated:", "generation: true", "selectable: [spec.color]", "priority: 1",
		`shows: 'self.status.conditions.filter(e, e.type == "Ready").map(e, string(e.status)).join(" ")'`, "x-cluster-as-sent: true", "x-cluster-immutable: true", "format: int-or-string",
		`finds: '(!has(self.color) || cel.bind(self, self.color, self != "pink")) ? "" : "no pink"'`, "cause: forbidden", "nullable: true", "x-cluster-list-type: set", "required: [wheels]", "$ref: '#/$defs/TruckSpec'",
		`self.all(self, self.size() > 1)`, "default: red", "maxLength: 9", "apiVersion", "minimum: 2", "short names only"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	for _, n := range made.Notes {
		if !strings.HasPrefix(n.String(), "crd.yaml:") {
			t.Errorf("a note without a line: %s", n)
		}
	}
}

// Wrong files are refused with the line, and the remedy.
func TestWrongFilesAreRefused(t *testing.T) {
	change := func(old, now string) string {
		if !strings.Contains(trucks, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(trucks, old, now, 1)
	}
	petstore := `{"openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "paths": {"/pets": {"get": {"responses": {}}}}, "components": {"schemas": {"Pet": {"type": "object"}}}}`
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "crd.yaml:1: the file is empty"},
		{"a list", "- a", "crd.yaml:1: the file is empty"},
		{"no YAML", "a: [", "crd.yaml:1: not YAML or JSON"},
		{"OpenAPI 2", `{"swagger": "2.0"}`, "crd.yaml:1: the document is OpenAPI 2.0; convert it to OpenAPI 3"},
		{"OpenAPI 4", `openapi: "4.0"`, "write OpenAPI 3.0 or 3.1"},
		{"other paths", petstore, "crd.yaml:1: no path of the document is that of a resource"},
		{"another object", "kind: Pod\napiVersion: v1", "neither a custom resource definition nor OpenAPI"},
		{"not structural", change("port: {x-kubernetes-int-or-string: true}", "port: {description: any}"), "crd.yaml:39: the schema is not structural: a value has no type"},
		{"members and others", change("load: {type: object,", "load: {type: object, properties: {a: {type: string}}, additionalProperties: {type: string},"), "crd.yaml:40: the schema is not structural: it has properties and additionalProperties"},
		{"a reference to the net", change("port: {x-kubernetes-int-or-string: true}", "port: {$ref: https://example.com/a.json}"), `crd.yaml:39: a schema of a custom resource refers to "https://example.com/a.json"`},
		{"an alias", change("port: {x-kubernetes-int-or-string: true}", "port: *a"), "unknown anchor"},
		{"a key twice", change("  scope: Namespaced", "  scope: Namespaced\n  scope: Cluster"), `crd.yaml:8: the key "scope" is here twice, first in line 7`},
		{"unknown fields everywhere", change("  scope: Namespaced", "  preserveUnknownFields: true\n  scope: Namespaced"), "crd.yaml:7: the schema of Truck is not structural"},
		{"two kinds of a name", trucks + "---\n" + trucks, "two definitions have the kind Truck"},
	} {
		if _, err := of(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// No file makes the import fail in another way, nor take long.
func FuzzImport(f *testing.F) {
	f.Add(trucks)
	f.Add(`{"openapi": "3.1.0", "paths": {"/apis/a.example.com/v1/as": {"get": {"x-x-group-version-kind": {"group": "a.example.com", "version": "v1", "kind": "A"}}, "post": {}}, "/apis/a.example.com/v1/as/{name}": {"get": {}}},
 "components": {"schemas": {"com.example.a.v1.A": {"type": "object", "x-x-group-version-kind": [{"group": "a.example.com", "version": "v1", "kind": "A"}], "properties": {"metadata": {"type": "object"}, "b": {"$ref": "#/components/schemas/com.example.a.v1.B"}}}, "com.example.a.v1.B": {"type": ["object", "null"], "properties": {"b": {"allOf": [{"$ref": "#/components/schemas/com.example.a.v1.B"}]}}}}}}`)
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 20_000 {
			return
		}
		source, err := foreign.Parse("fuzz.yaml", []byte(text))
		if err != nil {
			return
		}
		made, err := imports.Of(source, imports.Options{Root: root})
		if err == nil && (len(made.Files) < 2 || made.Model == nil) {
			t.Errorf("%d documents of %q", len(made.Files), text)
		}
	})
}
