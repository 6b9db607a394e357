package command

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// Mistakes and findings have the forms of the gate's report, with the exit codes of people.
func TestFormatsOfFindings(t *testing.T) {
	const schema = "schemas/fleet/v1beta1/Truck.yaml"
	wrong := [3]string{schema, "type: string", "type: strin"}
	unit := [3]string{schema, "        maximum: 100\n", "        maximum: 100\n      timeout: {description: Words for it., type: integer, minimum: 1}\n"}
	for _, c := range []struct {
		args  string
		edit  [3]string
		wants []string
		err   string
		code  int
	}{
		{"generate --format github", wrong, []string{"::error file=" + schema + ",line=19,title=document::unknown type \"strin\"", "2 errors, 0 warnings\n"}, "2 mistakes in the documents", 2},
		{"generate --format json", wrong, []string{`"file": "` + schema + `"`, `"line": 19`, `"breaking": true`}, "2 mistakes in the documents", 2},
		{"generate --format sarif", wrong, []string{`"name": "capstan-gen generate"`, `"startLine": 19`}, "2 mistakes in the documents", 2},
		{"lint --format sarif", wrong, []string{`"name": "capstan-gen lint"`, `"startLine": 19`}, "2 mistakes in the documents", 2},
		{"lint --format sarif", unit, []string{`"ruleId": "unit"`, `"id": "unit"`, `"name": "capstan-gen lint"`}, "the house rules say no: 1 errors", 1},
		{"lint --format json", unit, []string{`"rule": "unit"`, `"element": "fleet/v1beta1.TruckSpec.timeout"`}, "the house rules say no: 1 errors", 1},
		{"lint --format github", unit, []string{"::error file=" + schema + ",line=", "title=unit::fleet/v1beta1.TruckSpec.timeout does not say its unit; "}, "the house rules say no: 1 errors", 1},
		{"lint --format json", [3]string{schema, "maximum: 100", "maximum: 90"}, []string{`"findings": []`}, "", 0},
		{"generate --format json", [3]string{schema, "maximum: 100", "maximum: 90"}, []string{`"findings": []`}, "", 0},
	} {
		root := newModule(t, [][3]string{c.edit})
		var out bytes.Buffer
		err := Run(root, strings.Fields(c.args), &out)
		if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || codeOf(err) != c.code) {
			t.Errorf("%s: %v", c.args, err)
		}
		text := strings.ReplaceAll(out.String(), root+"/", "")
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s:\n%s", c.args, want, text)
			}
		}
		if !strings.Contains(c.args, "github") && !json.Valid(out.Bytes()) {
			t.Errorf("%s: %s", c.args, out.String())
		}
	}
}

// Generate warns where one version allows what another refuses, and makes the code all the same; lint.yaml may accept it.
func TestGenerateWarnsOfVersions(t *testing.T) {
	root := newModule(t, nil)
	if err := Run(root, []string{"new", "version", "v1", "--from", "v1beta1"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	said := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := Run(root, args, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text := said("generate"); strings.Contains(text, "warning") {
		t.Error(text)
	}
	edit(t, root, [3]string{"schemas/fleet/v1/Truck.yaml", "same-as: /fleet/v1beta1/Truck\n", "same-as: /fleet/v1beta1/Truck\n$defs: {TruckSpec: {properties: {size: {maximum: 110}}}}\n"})
	const what = "fleet/v1.TruckSpec.size allows values that fleet/v1beta1 refuses, which stores them: such writes fail"
	if text := said("generate"); !strings.Contains(text, ": warning version-values: "+what+"; give both") || !strings.Contains(text, "gen/: ") {
		t.Error(text)
	}
	if text := said("generate", "--format", "json"); !strings.Contains(text, what[strings.Index(what, "allows"):]) || !json.Valid([]byte(text)) {
		t.Error(text)
	}
	edit(t, root, [3]string{"lint.yaml", "", "accepted:\n- {rule: version-values, element: fleet/v1.TruckSpec.size, reason: nobody has so many, until: 2999-01-01}\n" +
		"- {rule: unit, element: fleet/v1.TruckSpec.none, reason: nobody looks for it, until: 2999-01-01}\n"})
	if text := said("generate"); strings.Contains(text, "warning") || strings.Contains(text, "acceptance") {
		t.Error(text)
	}
}
