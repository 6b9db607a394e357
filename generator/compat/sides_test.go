package compat

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

// The documents of this repository and the published ones say the same, in both directions.
func TestPublishedDocumentsAreThoseOfTheProject(t *testing.T) {
	server := published(t, nil)
	defer server.Close()
	docs, err := Documents(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	source := Source{Root: "."}
	live, err := source.Open(context.Background(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Report{"documents to server": Compare(docs, live, Options{Now: day}), "server to documents": Compare(live, docs, Options{Now: day}), "server to itself": Compare(live, live, Options{Now: day})} {
		for i, f := range r.Findings {
			if i < 30 {
				t.Errorf("%s: %v", name, f)
			}
		}
		if r.Counts.Resources < 50 || r.Counts.Fields < 1000 {
			t.Errorf("%s: %+v", name, r.Counts)
		}
	}
}

// published serves the published OpenAPI documents, and discovery without names.
func published(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	dir := filepath.Join("..", "..", "internal", "gen", "openapi", "v3")
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/openapi/v3/"), "/", "__") + ".json"
		switch text, err := os.ReadFile(filepath.Join(dir, name)); {
		case answer != nil:
			answer(w, r)
		case r.URL.Path == "/openapi/v3":
			files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
			var parts []string
			for _, f := range files {
				p := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(f), ".json"), "__", "/")
				if _, err := os.Stat(filepath.Join("..", "..", "openapi", "released")); err == nil {
					parts = append(parts, `"`+p+`":{"serverRelativeURL":"/openapi/v3/`+p+`"}`)
				}
			}
			_, _ = w.Write([]byte(`{"paths":{` + strings.Join(parts, ",") + `}}`))
		case err == nil:
			_, _ = w.Write(text)
		default:
			_, _ = w.Write([]byte(`{"resources":[]}`))
		}
	}))
}

const boat = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.org}
spec:
  group: sea.example.org
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bo], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.crew, statusReplicasPath: .status.crew}}
    additionalPrinterColumns:
    - {name: Crew, type: integer, jsonPath: .spec.crew}
    selectableFields: [{jsonPath: .spec.port}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: self.crew < 100}]
            properties:
              crew: {type: integer, format: int32, minimum: 1, maximum: 9}
              port: {type: string, enum: [Hull, Kiel], default: Kiel}
              code: {type: string, pattern: "^[a-z]{1,8}$", nullable: true}
              sails: {type: array, maxItems: 3, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}}
              mast: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              flags: {type: object, additionalProperties: {type: string}}
              log: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {crew: {type: integer}}}
`

const harbour = `openapi: 3.0.3
info: {title: harbour, version: "1"}
paths:
  /boats/{id}:
    get:
      parameters: [{name: wide, in: query, schema: {type: boolean}}]
      responses: {"200": {description: One., content: {application/json: {schema: {$ref: "#/components/schemas/Boat"}}}}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Boat"}}}}
      responses: {"200": {description: Done.}}
components:
  schemas:
    Boat: {type: object, required: [name], properties: {name: {type: string, maxLength: 9}, next: {$ref: "#/components/schemas/Boat"}}}
`

// Changes of files of others have verdicts like those of documents.
func TestFiles(t *testing.T) {
	for _, c := range []struct{ name, text, old, new, want string }{
		{"nothing", boat, "", "", ""},
		{"a minimum is raised", boat, "minimum: 1", "minimum: 2", "E:bounds-tightened"},
		{"a minimum is spelled differently", boat, "minimum: 1", "minimum: 0, exclusiveMinimum: true", ""},
		{"a word goes", boat, "[Hull, Kiel]", "[Kiel]", "E:enum-value-removed"},
		{"a default changes", boat, "default: Kiel", "default: Hull", "E:field-default-changed"},
		{"a pattern widens", boat, "{1,8}", "{1,9}", ""},
		{"a pattern narrows", boat, "{1,8}", "{1,7}", "E:pattern-changed"},
		{"null is refused", boat, ", nullable: true", "", "E:rule-added"},
		{"a field goes", boat, "              flags: {type: object, additionalProperties: {type: string}}\n", "", "E:field-removed"},
		{"a field is added", boat, "              crew:", "              deck: {type: string}\n              crew:", ""},
		{"a type changes", boat, "crew: {type: integer, format: int32, minimum: 1, maximum: 9}", "crew: {type: string}", "E:field-type-changed"},
		{"a rule is added", boat, "{rule: self.crew < 100}", "{rule: self.crew < 100}, {rule: self.crew > 2}", "E:rule-added"},
		{"a rule has parentheses and a message", boat, "{rule: self.crew < 100}", "{rule: (self.crew<100), message: too many}", ""},
		{"a rule goes", boat, "            x-kubernetes-validations: [{rule: self.crew < 100}]\n", "", ""},
		{"a list loses its keys", boat, "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], ", "", "E:list-semantics-changed"},
		{"required", boat, "required: [spec]", "required: [spec, status]", "E:field-required"},
		{"a short name goes", boat, "shortNames: [bo], ", "", "W:resource-short-name-removed"},
		{"a column goes", boat, "{name: Crew,", "{name: Team,", "W:resource-column-removed"},
		{"a field label goes", boat, "{jsonPath: .spec.port}", "{jsonPath: .spec.code}", "E:resource-field-label-removed"},
		{"the scale moves", boat, ".spec.crew, status", ".spec.mast, status", "E:scale-path-changed"},
		{"the status goes", boat, "status: {}, ", "", "E:subresource-removed"},
		{"the scope changes", boat, "scope: Namespaced", "scope: Cluster", "E:resource-scope-changed"},
		{"unknown members are dropped", boat, ", x-kubernetes-preserve-unknown-fields: true", "", "E:field-removed"},
		{"an operation goes", harbour, "    put:", "    trace:", "E:resource-verb-removed"},
		{"a length shrinks", harbour, "maxLength: 9", "maxLength: 8", "E:bounds-tightened"},
		{"a parameter goes", harbour, "name: wide", "name: narrow", "E:field-removed"},
		{"a parameter is required", harbour, "in: query,", "in: query, required: true,", "E:field-required"},
		{"a path goes", harbour, "/boats/{id}", "/ships/{id}", "E:resource-removed"},
		{"a description changes", harbour, "One.", "A boat.", ""},
	} {
		old, err := fileSurface(foreign.Parse("old.yaml", []byte(c.text)))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(c.text, c.old) {
			t.Fatalf("%s: no %q", c.name, c.old)
		}
		now, err := fileSurface(foreign.Parse("new.yaml", []byte(strings.Replace(c.text, c.old, c.new, 1))))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r := Compare(old, now, Options{Now: day}); verdict(r.Findings) != c.want {
			t.Errorf("%s: %v, want %q", c.name, r.Findings, c.want)
		}
	}
}

// Files that cannot be compared are refused with line and remedy.
func TestBadInput(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "bad.yaml:1: the file is empty"},
		{"not YAML", "a: [", "bad.yaml:1: not YAML or JSON"},
		{"OpenAPI 2", "swagger: \"2.0\"\ninfo: {}\n", "bad.yaml:1: the document is OpenAPI 2.0; convert it to OpenAPI 3"},
		{"OpenAPI 4", "openapi: 4.0.0\n", "bad.yaml:1: the document is OpenAPI 4.0.0"},
		{"another kind", "apiVersion: v1\nkind: Pod\n", "neither a custom resource definition nor OpenAPI"},
		{"an old definition", strings.Replace(boat, "k8s.io/v1", "k8s.io/v1beta1", 1), "bad.yaml:1: the definition is of the version v1beta1"},
		{"a value without a type", strings.Replace(boat, "code: {type: string, ", "code: {", 1), "bad.yaml:27: the schema is not structural: a value has no type"},
		{"properties and others", strings.Replace(boat, "flags: {type: object,", "flags: {type: object, properties: {a: {type: string}},", 1), "the schema is not structural: it has properties and additionalProperties"},
		{"a reference in a definition", strings.Replace(boat, "port: {", "port: {$ref: \"#/a\", ", 1), "a schema of a custom resource refers to"},
		{"nothing stored", strings.Replace(boat, "storage: true", "storage: false", 1), "no version of boats is stored"},
		{"the net", strings.Replace(harbour, "next: {$ref: \"#/components/schemas/Boat\"}", "next: {$ref: \"https://example.org/boat.json\"}", 1), "bad.yaml:13: $ref \"https://example.org/boat.json\" leads out of the document; nothing is fetched"},
		{"another file", strings.Replace(harbour, "next: {$ref: \"#/components/schemas/Boat\"}", "next: {$ref: \"../../etc/passwd\"}", 1), "leads out of the document"},
		{"nowhere", strings.Replace(harbour, "next: {$ref: \"#/components/schemas/Boat\"}", "next: {$ref: \"#/components/schemas/Ship\"}", 1), "leads nowhere"},
		{"a circle", harbour + "    A: {$ref: \"#/components/schemas/B\"}\n    B: {$ref: \"#/components/schemas/A\"}\n", "refers to itself and nothing else"},
		{"very deep", "openapi: 3.0.0\ncomponents: {schemas: {A: " + strings.Repeat("{type: array, items: ", 300) + "{}" + strings.Repeat("}", 300) + "}}\n", "nested more than 200 deep"},
	} {
		s, err := fileSurface(foreign.Parse("bad.yaml", []byte(c.text)))
		if err == nil || !strings.Contains(err.Error(), c.want) || s != nil && c.want == "" {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 50<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := (Source{}).Open(context.Background(), big); err == nil || !strings.Contains(err.Error(), "the file has 50 MiB, more than 32") {
		t.Errorf("50 MiB: %v", err)
	}
}

// A server that does not answer as one is named with the remedy.
func TestServersThatRefuse(t *testing.T) {
	for code, want := range map[int]string{http.StatusForbidden: "answers 403; name a kubeconfig", http.StatusUnauthorized: "answers 401", http.StatusNotFound: "check the URL", http.StatusOK: "the answer is not JSON"} {
		server := published(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte("<html>"))
		})
		if _, err := (Source{}).Open(context.Background(), server.URL); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", code, err)
		}
		server.Close()
	}
}

// A revision of git is a side, also where the project is a folder of the repository.
func TestRevisions(t *testing.T) {
	root := t.TempDir()
	project := filepath.Join(root, "api")
	base := readBase(t)
	if err := os.Rename(write(t, edited(t, base, []edit{{"openapi/released/release.yaml", "", base["release.yaml"]}})), project); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	git("tag", "v1.6")
	source := Source{Root: project}
	old, err := source.Open(context.Background(), "git:v1.6")
	if err != nil {
		t.Fatal(err)
	}
	if old.Release.Version != "1.6" || len(old.Release.Earlier) != 5 {
		t.Errorf("release %+v", old.Release)
	}
	r := Compare(old, loaded(t, base, []edit{{coupon, "maxLength: 20", "maxLength: 19"}, {order, "      voucher: {description: Another way to pay., type: string}\n", ""}}), Options{Now: day})
	if got := verdict(r.Findings); got != "E:binary-number-released E:bounds-tightened E:field-binary-number-changed E:field-removed" {
		t.Errorf("got %s: %v", got, r.Findings)
	}
	for revision, want := range map[string]string{"git:v9": "there is no such revision", "git:--all": "that is not a revision", "git:": "that is not a revision"} {
		if _, err := source.Open(context.Background(), revision); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", revision, err)
		}
	}
}
