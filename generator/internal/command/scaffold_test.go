package command

import (
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A new module has texts only, depends on no folder of this machine but in go.work, which git ignores, and its workflow
// calls what the Makefile has.
func TestScaffold(t *testing.T) {
	files := readFiles(t, newModule(t, nil))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Errorf("%s is not a text", name)
		}
		if name != "go.work" && strings.Contains(text, "=> /") {
			t.Errorf("%s names a folder of this machine", name)
		}
		if strings.HasPrefix(name, ".vscode/") && !json.Valid([]byte(text)) {
			t.Errorf("%s: %s", name, text)
		}
	}
	version := regexp.MustCompile(`(?m)^require github\.com/capstan-dev/capstan (\S+)$`).FindStringSubmatch(files["go.mod"])
	if version == nil || !releasedVersion.MatchString(version[1]) {
		t.Errorf("go.mod: %s", files["go.mod"])
	}
	if !strings.Contains(files[".gitignore"], "/go.work\n") {
		t.Errorf(".gitignore: %s", files[".gitignore"])
	}
	if found := regexp.MustCompile(`\.(Spec|Status)\b|\b(Size|Color|Ready|Reason)\b`).FindString(files["server_test.go"]); found != "" {
		t.Errorf("server_test.go has %s, and would not compile without the example's field", found)
	}
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Uses, Run string } }
	}
	if err := yaml.Unmarshal([]byte(files[".github/workflows/ci.yml"]), &workflow); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(step.Uses) {
				t.Errorf("%s is not pinned", step.Uses)
			}
			if target, ok := strings.CutPrefix(step.Run, "make "); ok {
				target, _, _ = strings.Cut(target, " ")
				if calls = append(calls, target); !strings.Contains(files["Makefile"], "\n"+target+":") {
					t.Errorf("the Makefile lacks %s", target)
				}
			}
		}
	}
	for _, want := range []string{"verify", "lint", "compat", "test", "release-check"} {
		if !slices.Contains(calls, want) {
			t.Errorf("the workflow does not make %s", want)
		}
	}
}

// New kinds are the last ones of their document, and keys behind the kinds stay where they are.
func TestNewKindsAreInOrder(t *testing.T) {
	const group = "openapi/fleet/v1beta1.yaml"
	root := newModule(t, [][3]string{{group, "    selectable: [spec.color]\n", "    selectable: [spec.color]\n\n# The end.\ncomponents: {}\n"}})
	for _, kind := range []string{"Depot", "Anchor"} {
		if err := Run(root, []string{"new", "kind", kind}, &strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	}
	text := readFiles(t, root)[group]
	last := -1
	for _, part := range []string{"  trucks:\n", "  depots:\n", "  anchors:\n", "\n# The end.\ncomponents: {}\n"} {
		at := strings.Index(text, part)
		if at <= last {
			t.Errorf("%q is at %d, behind %d:\n%s", part, at, last, text)
		}
		last = at
	}
	if err := Run(root, []string{"generate"}, &strings.Builder{}); err != nil {
		t.Error(err)
	}
}

// A new module shows a reference, which is right when the kind that it names is there, and nobody has to add anything.
func TestScaffoldShowsAReference(t *testing.T) {
	root := newModule(t, nil)
	if err := Run(root, []string{"new", "kind", "Depot"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	edit(t, root, [3]string{"schemas/fleet/v1beta1/Truck.yaml", "# depot:", "depot:"})
	if err := Run(root, []string{"lint"}, io.Discard); err != nil {
		t.Error(err)
	}
	for kind, want := range map[string]string{"/core/v1/Event, onDelete: cascade": "an Event owns nothing", "/core/v1/ConfigMap": "write onDelete: orphan or cascade", "/core/v1/ConfigMap, onDelete: cascade": ""} {
		const schema = "schemas/fleet/v1beta1/Truck.yaml"
		edit(t, root, [3]string{schema, "{kind: Depot}", "{kind: " + kind + "}"})
		if err := Run(root, []string{"generate"}, io.Discard); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
		edit(t, root, [3]string{schema, "{kind: " + kind + "}", "{kind: Depot}"})
	}
	edit(t, root, [3]string{"openapi/fleet/v1beta1.yaml", "hooks: [validate]", "hooks: [validate, checkDelete]"})
	if err := Run(root, []string{"generate"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(slices.Collect(maps.Values(readFiles(t, root))), "\n")
	for _, want := range []string{`Path: []string{"spec", "depot"}`, "CheckDeleteTruck(view *object.View, obj object.Value) []object.Cause", "CheckDelete: object.CheckDeleteIn(h.CheckDeleteTruck)"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing generated has %s", want)
		}
	}
}
