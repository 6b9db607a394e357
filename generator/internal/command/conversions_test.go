package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module whose document names a hand-written conversion gets a test of it, or is asked for one.
func TestConversionsHaveTests(t *testing.T) {
	edits := [][3]string{
		{"openapi/fleet/v1.yaml", "", "openapi: 3.0.3\ninfo: {title: a, version: b}\npaths: {}\nx-cluster-group: {name: fleet.example.com, groupPriority: 1000, versionPriority: 50}\n" +
			"x-cluster-resources:\n  trucks: {kind: Truck, scope: Namespaced, storedAs: fleet/v1beta1/Truck, hooks: [convert], subresources: {status: {}}}\n"},
		{"schemas/fleet/v1/Truck.yaml", "", "x-cluster-same-as: /fleet/v1beta1/Truck\n$defs: {TruckSpec: {properties: {color: null}}}\n"},
	}
	for name, c := range map[string]struct {
		edits [][3]string
		test  bool
		note  string
	}{
		"hooks where new modules have them": {nil, true, "gen/: "},
		"hooks elsewhere":                   {[][3]string{{"hooks/hooks.go", "type Hooks struct", "type Rules struct"}}, false, "No test tries the conversion of Truck of fleet/v1: "},
	} {
		t.Run(name, func(t *testing.T) {
			root := newModule(t, append(edits[:2:2], c.edits...))
			var out bytes.Buffer
			if err := Run(root, []string{"generate"}, &out); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(root, "gen", "api", "conversions_test.go"))
			if (err == nil) != c.test || c.test && !strings.Contains(string(text), `"fleet.example.com/hooks"`) {
				t.Errorf("%v: %s", err, text)
			}
			if !strings.HasPrefix(out.String(), c.note) {
				t.Errorf("generate says %s", out.String())
			}
		})
	}
}
