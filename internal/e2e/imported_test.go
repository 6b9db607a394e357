package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lossy are the definitions that documents cannot say all of; import lists what, and the
// gate sees it in the definitions that are exported again. All others are the same.
var lossy = map[string]string{
	"clusterdummies.argoproj.io":                       "any JSON with one owner",
	"nonstatussubresources.argoproj.io":                "members next to any others",
	"statussubresources.argoproj.io":                   "members next to any others",
	"providerconfigs.helm.crossplane.io":               "a column of a field that there is not",
	"bgpadvertisements.metallb.io":                     "columns of lists of objects",
	"bgppeers.metallb.io":                              "an int32 with a bound beyond it",
	"l2advertisements.metallb.io":                      "columns of lists of objects",
	"virtualservices.networking.istio.io":              "the format binary",
	"configurations.serving.knative.dev":               "any JSON with one owner",
	"knative.dev/grpcroutes.gateway.networking.k8s.io": "versions with and without a status subresource",
	"revisions.serving.knative.dev":                    "any JSON with one owner",
	"services.serving.knative.dev":                     "any JSON with one owner",
	"clusterqueues.kueue.x-k8s.io":                     "a rule with loops in loops in loops",
}

// buildGen builds the designers' program once.
var buildGen = sync.OnceValues(func() (string, error) {
	gen := filepath.Join(binaries.dir, "capstan-gen")
	build := exec.Command("go", "build", "-ldflags", noSymbols, "-o", gen, "./generator/cmd/capstan-gen")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building capstan-gen: %w\n%s", err, out)
	}
	return gen, nil
})

func capstanGen(t *testing.T) string {
	t.Helper()
	gen, err := buildGen()
	if err != nil {
		t.Fatal(err)
	}
	return gen
}

// importAll makes documents of the definitions, which the generator and the house rules
// accept, and of them definitions of the same meaning again, and JSON Schemas for editors.
func (m *publisher) importAll(gen, owner string) {
	m.Helper()
	same := 0
	for _, d := range m.definitions {
		dir := m.TempDir()
		run := func(want int, args ...string) string {
			cmd := exec.Command(gen, args...)
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != want && want >= 0 {
				m.Errorf("%s: %s ends with %d:\n%s", d.GetName(), args[0], code, out)
			}
			return string(out)
		}
		text, err := json.MarshalIndent(d.Object, "", " ")
		if err != nil {
			m.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "crd.yaml"), text, 0o600); err != nil {
			m.Fatal(err)
		}
		said := run(0, "import", "crd.yaml")
		run(0, "lint")
		run(0, "export", "crd", "again")
		run(0, "export", "json-schema", "editor")
		m.readSchemas(d, filepath.Join(dir, "editor"))
		found := ""
		for _, sides := range [][]string{{"crd.yaml", "again/definitions.yaml"}, {"again/definitions.yaml", "crd.yaml"}} {
			if out := run(-1, "compat", sides[0], sides[1]); !strings.HasPrefix(out, "0 errors, 0 warnings") {
				found += out
			}
		}
		reason := lossy[d.GetName()] + lossy[owner+"/"+d.GetName()]
		switch notes := strings.Count(said, "\n") - 1; {
		case found == "" && reason == "":
			same++
		case found == "":
			m.Errorf("%s has no loss: remove it from the list", d.GetName())
		case reason == "" || notes == 0:
			m.Errorf("%s is another one, with %d notes:\n%s%s", d.GetName(), notes, said, found)
		}
	}
	m.Logf("%d of %d definitions are the same after import and export", same, len(m.definitions))
}

// readSchemas reads the exported schemas of the versions of a definition.
func (m *publisher) readSchemas(d *unstructured.Unstructured, dir string) {
	m.Helper()
	group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
	for _, v := range versions {
		version := v.(map[string]any)
		if version["served"] != true {
			continue
		}
		name := version["name"].(string)
		text, err := os.ReadFile(filepath.Join(dir, group, strings.ToLower(kind)+"_"+name+".json"))
		if err != nil {
			m.Fatal(err)
		}
		s, err := jsonschema.CompileString("mem:///"+kind+".json", string(text))
		if err != nil {
			m.Fatal(err)
		}
		m.editors[schema.GroupVersionKind{Group: group, Version: name, Kind: kind}] = s
	}
}

// compareEditor compares the verdict of the exported schema about a sample with that of the
// server for strict clients: it may refuse nothing that the server accepts. Rules in CEL, and
// uniqueness, only the server knows.
func (m *publisher) compareEditor(ctx context.Context, s sample) {
	m.Helper()
	text, err := json.Marshal(s.Object)
	if err != nil {
		m.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		m.Fatal(err)
	}
	wrong := m.editors[s.GroupVersionKind()].Validate(plain)
	refused := m.create(ctx, s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: "Strict"})
	if refused == nil && wrong != nil { // the server judges what it has filled in, too
		if full, err := m.resource(s).Create(ctx, s.Unstructured, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			wrong = m.editors[s.GroupVersionKind()].Validate(full.Object)
		}
	}
	switch {
	case refused == nil && wrong != nil:
		m.Errorf("%s: the server accepts it, its schema does not: %v", s.file, wrong)
	case (refused == nil) == (wrong == nil):
		m.agreed++
	default:
		m.Logf("%s: only the server refuses it: %.300v", s.file, refused)
	}
}

const boats = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.sea.example.com"}, "spec": {
 "group": "sea.example.com", "scope": "Namespaced", "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "shortNames": ["bo"], "categories": ["fleet"]},
 "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"],
  "properties": {"spec": {"type": "object", "required": ["sail"], "properties": {
   "sail": {"type": "string", "description": "Color of the sail."},
   "masts": {"type": "integer", "format": "int32", "minimum": 1, "default": 1},
   "crew": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"x-kubernetes-int-or-string": true}}}}}},
   "status": {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}}}}}}]}}`

// Documents are made of a running server, for its users who may read what it publishes.
func TestImportFromAServer(t *testing.T) {
	t.Parallel()
	gen, s, dir := capstanGen(t), serve(t, "", "--controllers=-*"), t.TempDir()
	run := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(gen, args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%v ends with %d:\n%s", args, code, out)
		}
		return string(out)
	}
	file := filepath.Join(dir, "boats.json")
	if err := os.WriteFile(file, []byte(boats), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &publisher{T: t, server: s}
	m.kubectl("create", "-f", file)
	m.kubectl("wait", "--for=condition=Established", "--timeout=2m", "crd/boats.sea.example.com")
	for end := time.Now().Add(startLimit); !strings.Contains(m.kubectl("get", "--raw", "/openapi/v3"), "sea.example.com/v1"); {
		if time.Now().After(end) {
			t.Fatal("the kind is not published")
		}
	}
	url := s.config(t).Host
	if said := run(2, "import", url); !strings.Contains(said, "/openapi/v3") {
		t.Errorf("a server that does not know the user: %s", said)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("%v are written", left)
	}
	run(0, "import", url, "--kubeconfig", s.kubeconfig, "--group", "sea.example.com")
	run(0, "lint")
	run(0, "export", "crd", "again")
	for _, sides := range [][]string{{"boats.json", "again/definitions.yaml"}, {"again/definitions.yaml", "boats.json"}} {
		if out := run(0, "compat", sides[0], sides[1]); !strings.HasPrefix(out, "0 errors, 0 warnings") {
			t.Error(out)
		}
	}
}
