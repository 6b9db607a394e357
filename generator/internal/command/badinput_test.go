package command

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/compat"
)

// boats is the manifest of a custom resource definition.
const boats = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.org}
spec:
  group: sea.example.org
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {minimum: 1}}}}}
`

// Wrong input is refused with its place and the remedy, by the exit code 2, and nothing is
// written.
func TestBadInput(t *testing.T) {
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer forbidden.Close()
	const schema, group, released = "schemas/fleet/v1beta1/Truck.yaml", "openapi/fleet/v1beta1.yaml", "openapi/released/release.yaml"
	const version = "openapi: 3.0.3\ninfo: {title: a, version: b}\npaths: {}\nx-cluster-group: {name: fleet.example.com, groupPriority: 1000, versionPriority: 50}\nx-cluster-resources:\n  trucks: {kind: Truck, scope: Namespaced, storedAs: fleet/v1beta1/Truck, subresources: {status: {}}}\n"
	field := func(text string) [3]string {
		return [3]string{schema, "        maximum: 100\n", "        maximum: 100\n" + text}
	}
	def := func(name string) [3]string {
		return [3]string{schema, "  TruckStatus:\n", "  " + name + ":\n    description: Words for it.\n    properties:\n      a: {description: Words for one., type: string}\n  TruckStatus:\n"}
	}
	big := strings.Repeat("# "+strings.Repeat("x", 98)+"\n", 50<<20/101)
	for name, c := range map[string]struct {
		args  string // generate without any
		edits [][3]string
		want  string
	}{
		"no document":               {"", [][3]string{{schema, "", ""}, {strings.TrimSuffix(schema, ".yaml") + "Restart.yaml", "", ""}, {group, "", ""}}, "there is no group version; "},
		"a half-written document":   {"", [][3]string{{schema, "    properties:\n      size:", "    properties:\n      si\tze"}}, schema + ":1"},
		"50 MB in a document":       {"", [][3]string{{schema, "", big}}, schema + ":1: the document has 4"},
		"50 MB in many documents":   {"", manyEdits(big), ".yaml:1: with this one the documents have more than 24 MiB; "},
		"a reference to the net":    {"", [][3]string{field("      net: {description: Words for it., $ref: \"https://example.org/x.json\"}\n")}, "leads out of the project: nothing is fetched; "},
		"a reference out of it":     {"", [][3]string{field("      net: {description: Words for it., $ref: \"../../../etc/passwd\"}\n")}, "leads out of its folder; "},
		"defaults in a circle":      {"", [][3]string{def("A"), {schema, "a: {description: Words for one., type: string}", "a: {description: Words for one., $ref: \"#/$defs/A\", default: {}}"}, field("      x: {description: Words for it., $ref: \"#/$defs/A\", default: {}}\n")}, schema + ":"},
		"fields that clash":         {"", [][3]string{field("      fooBar: {description: Words for it., type: string}\n      foo_bar: {description: Words for it., type: string}\n")}, schema + ":18: the field foo_bar has the name FooBar in Go, as fooBar does; "},
		"values that clash":         {"", [][3]string{{schema, "[Blue, Green, Red]", "[Blue, Green, Red, A-B, A_B]"}}, schema + ":18: the constant TruckSpecColorAB in Go would be \"A-B\" and \"A_B\"; "},
		"a value and a type":        {"", [][3]string{def("TruckSpecColorRed"), field("      x: {description: Words for it., $ref: \"#/$defs/TruckSpecColorRed\"}\n")}, schema + ":19: the value \"Red\" is the constant TruckSpecColorRed in Go, which is a type too; "},
		"a number that is taken":    {"", [][3]string{{"openapi/fleet/v1.yaml", "", version}, {"schemas/fleet/v1/Truck.yaml", "", "x-cluster-same-as: /fleet/v1beta1/Truck\n$defs: {TruckSpec: {properties: {wheels: {description: Words for it., format: int32,\n  x-cluster-binary: 1}}}}\n"}}, "schemas/fleet/v1/Truck.yaml:3: the binary number 1 of wheels belongs to size already; "},
		"a folder that clashes":     {"", [][3]string{{"schemas/internal/v1/A.yaml", "", "description: Words.\n"}}, "schemas/internal/v1/A.yaml:1: the folder internal has a meaning of its own in Go; "},
		"lint of wrong documents":   {"lint", [][3]string{{schema, "type: string", "type: strin"}}, schema + ":19: unknown type"},
		"docs of wrong documents":   {"docs site", [][3]string{{schema, "type: string", "type: strin"}}, schema + ":19: unknown type"},
		"a change of wrong ones":    {"explain-change", [][3]string{{schema, "type: string", "type: strin"}}, schema + ":19: unknown type"},
		"an acceptance for nothing": {"lint", [][3]string{{"lint.yaml", "", "accepted:\n- {rule: units, element: x, reason: y, until: 2030-01-01}\n"}}, "lint.yaml:2: there is no rule \"units\"; write one of boolean, "},
		"no baseline":               {"compat", [][3]string{{released, "", ""}}, released + ":1: there is no release to compare fleet/v1beta1 with; "},
		"a baseline of tomorrow":    {"compat", [][3]string{{released, "", "version: \"1.0\"\ndate: 2999-01-01\n"}}, released + ":1: the release 1.0 is of 2999-01-01, in the future; "},
		"half a baseline":           {"compat", [][3]string{{released, "", "version: \"1.0\"\ndate: 2020-01-01\n"}}, "the released documents cannot be read; "},
		"a server that answers 403": {"compat " + forbidden.URL + " HERE", nil, "the server answers 403; name a kubeconfig"},
		"a schema without types":    {"compat crd.yaml HERE", [][3]string{{"crd.yaml", "", boats}}, "crd.yaml:9: the schema is not structural: a value has no type; "},
		"OpenAPI 2":                 {"compat api.json HERE", [][3]string{{"api.json", "", "{\"swagger\": \"2.0\"}"}}, "api.json:1: the document is OpenAPI 2.0; convert it to OpenAPI 3"},
		"50 MB to compare":          {"compat big.yaml HERE", [][3]string{{"big.yaml", "", big}}, "big.yaml:1: the file has 4"},
		"an unknown command":        {"generat", nil, "unknown command"},
		"a group of the release":    {"new api core.example.com --dir fresh --capstan SOURCE", nil, "the folder core belongs to a built-in group; "},
	} {
		t.Run(name, func(t *testing.T) {
			root := newModule(t, c.edits)
			before := readFiles(t, root)
			args := strings.Fields(strings.NewReplacer("HERE", root, "SOURCE", repository).Replace(c.args))
			for i, arg := range args {
				if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".json") || arg == "site" || arg == "fresh" {
					args[i] = filepath.Join(root, arg)
				}
			}
			if len(args) == 0 {
				args = []string{"generate"}
			}
			err := Run(root, args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != 2 {
				t.Errorf("code %d, error %.500v, want %s", codeOf(err), err, c.want)
			}
			if after := readFiles(t, root); !maps.Equal(before, after) {
				t.Errorf("files changed: %v", changes(before, after))
			}
		})
	}
}

// One run of generate names a mistake of each step in five kinds, and says nothing of those that refer to wrong ones.
func TestGenerateNamesMistakesOfAllSteps(t *testing.T) {
	kind := func(name, members string) [3]string {
		return [3]string{"schemas/fleet/v1beta1/" + name + ".yaml", "", "description: Something to move goods with.\nproperties:\n  metadata: {}\n  spec: {description: The wanted state.}\n" +
			"$defs:\n  " + name + "Spec:\n    description: What its owner wants.\n    properties:\n" + members}
	}
	resources := ""
	for _, name := range []string{"Boat", "Car", "Bike", "Cart", "Sled", "Depot", "Yard"} {
		resources += "  " + strings.ToLower(name) + "s: {kind: " + name + ", scope: Namespaced}\n"
	}
	resources = strings.Replace(resources, "scope: Namespaced}", "scope: Namespaced, storedAs: fleet/v1/Boot}", 1)
	root := newModule(t, [][3]string{
		{"openapi/fleet/v1beta1.yaml", "x-cluster-resources:\n", "x-cluster-resources:\n" + resources},
		kind("Boat", "      sails: {description: Number of sails., type: integer}\n"),
		kind("Car", "      doors: {description: Number of doors., type: integer\n"),
		kind("Bike", "      gears: {description: Gears., type: integer}\n"),
		kind("Cart", "      wheels: {description: Number of wheels., type: integer, maximum: 4, default: 5}\n"),
		kind("Sled", "      dog: {description: Who draws it., type: string}\n      Dog: {description: Who watches it., type: string}\n"),
		kind("Depot", "      car: {description: The car in it., $ref: /fleet/v1beta1/CarSpec}\n"),
		kind("Yard", "      depot: {description: The depot in it., $ref: /fleet/v1beta1/DepotSpec}\n"),
	})
	before := readFiles(t, root)
	err := Run(root, []string{"generate"}, io.Discard)
	if err == nil {
		t.Fatal("no mistake was found")
	}
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{"openapi/fleet/v1beta1.yaml:12: boats is stored as fleet/v1/Boot, which no document stores; ", "schemas/fleet/v1beta1/Car.yaml:9: not valid YAML: ",
		"schemas/fleet/v1beta1/Bike.yaml:9: the description of gears only repeats its name; ", "schemas/fleet/v1beta1/Cart.yaml:9: the default of wheels does not fit: ",
		"schemas/fleet/v1beta1/Sled.yaml:10: the field Dog has the name Dog in Go, as dog does; "} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("it does not say %s", want)
		}
	}
	if len(got) != 5 || codeOf(err) != 2 {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
	if after := readFiles(t, root); !maps.Equal(before, after) {
		t.Errorf("files changed: %v", changes(before, after))
	}
}

// A release is not older than the last one.
func TestReleasesFollowEachOther(t *testing.T) {
	root := newModule(t, nil)
	for version, want := range map[string]string{"1.9": "the last release is 1.10, which is later than 1.9; ", "1.10": "", "1.11": ""} {
		if err := Run(root, []string{"release-baseline", "--version", "1.10"}, io.Discard); err != nil {
			t.Fatal(err)
		}
		err := Run(root, []string{"release-baseline", "--version", version}, io.Discard)
		if (err == nil) != (want == "") || err != nil && (codeOf(err) != 2 || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", version, err)
		}
		if err := os.RemoveAll(filepath.Join(root, filepath.FromSlash(compat.Released))); err != nil {
			t.Fatal(err)
		}
	}
}

func manyEdits(text string) (edits [][3]string) {
	for i := range 10 {
		edits = append(edits, [3]string{fmt.Sprintf("schemas/fleet/v1beta1/Kind%d.yaml", i), "", text[:5<<20] + "\na: b\n"})
	}
	return edits
}
