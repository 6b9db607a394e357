package command

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct{ key, want, not, err string }{
		{"", "#### `x-cluster-one-of`", "", ""},
		{"x-cluster-list-type", "- When absent: map if the list has", "x-cluster-one-of", ""},
		{"graceful.period", "- When absent: The document is refused.", "graceful.default", ""},
		{"endpoint", "### A subresource", "#### `verbs`", ""},
		{"x-cluster-list-typ", "", "", `there is no key "x-cluster-list-typ": did you mean "x-cluster-list-type"?`},
	} {
		var out strings.Builder
		err := Run(t.TempDir(), strings.Fields("keys "+c.key), &out)
		if (err != nil) != (c.err != "") || err != nil && err.Error() != c.err || !strings.Contains(out.String(), c.want) || c.not != "" && strings.Contains(out.String(), c.not) {
			t.Errorf("%s: error %v, got %.900s", c.key, err, out.String())
		}
	}
}

// Editors find the documents of a new module right, those of a further version and kind too,
// and wrong ones wrong.
func TestEditorSchemasOfAModule(t *testing.T) {
	root := newModule(t, nil)
	for _, args := range []string{"new kind Depot", "new version v1", "keys --json-schema " + filepath.Join(root, ".schemas")} {
		if err := Run(root, strings.Fields(args), io.Discard); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
	}
	right := map[string]string{"schemas/fleet/v1beta1/Truck.yaml": "schema", "schemas/fleet/v1beta1/Depot.yaml": "schema", "schemas/fleet/v1/Truck.yaml": "schema",
		"openapi/fleet/v1beta1.yaml": "version", "openapi/fleet/v1.yaml": "version"}
	for file, name := range right {
		s, err := jsonschema.Compile(filepath.Join(root, ".schemas", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"", "\nx-cluster-unknown: true\n"} {
			if err := s.Validate(inJSON(t, string(text)+wrong)); (err == nil) != (wrong == "") {
				t.Errorf("%s with %q: %v", file, wrong, err)
			}
		}
	}
}

// inJSON is a document as JSON has it.
func inJSON(t *testing.T, text string) (value any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(plain, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}
