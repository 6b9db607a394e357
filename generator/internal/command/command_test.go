package command

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// repository is the root of this repository.
const repository = "../../.."

func TestEqualDocumentsGiveEqualBytes(t *testing.T) {
	var first []emit.File
	for i := range 2 {
		m, err := load.Load(repository)
		if err != nil {
			t.Fatal(err)
		}
		files, err := emitAll(m, slices.Concat(emitters()["gen"], emitters()["internal/gen"]))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = files
			continue
		}
		if len(files) != len(first) {
			t.Fatalf("%d files, then %d", len(first), len(files))
		}
		for j, f := range files {
			if f.Path != first[j].Path || !bytes.Equal(f.Data, first[j].Data) {
				t.Errorf("%s differs the second time", f.Path)
			}
		}
	}
}

func TestWriteReplacesTheFolder(t *testing.T) {
	root := t.TempDir()
	for _, files := range [][]emit.File{
		{{Path: "a/one.go", Data: []byte("one")}, {Path: "stale.go", Data: []byte("stale")}},
		{{Path: "a/one.go", Data: []byte("two")}, {Path: "b/c/new.go", Data: []byte("new")}},
	} {
		if size, err := write(root, "gen", files); err != nil || size == 0 {
			t.Fatal(size, err)
		}
	}
	want := map[string]string{"gen/a/one.go": "two", "gen/b/c/new.go": "new"}
	if got := readFiles(t, root); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestAMistakeLeavesGenAlone(t *testing.T) {
	root := t.TempDir()
	if _, err := write(root, "gen", []emit.File{{Path: "kept.go", Data: []byte("kept")}}); err != nil {
		t.Fatal(err)
	}
	// Not a folder where one has to be made: the write fails half way.
	_, err := write(root, "gen", []emit.File{{Path: "x", Data: []byte("1")}, {Path: "x/y", Data: []byte("2")}})
	if err == nil {
		t.Error("a file below a file was written")
	}
	if err := Run(root, []string{"generate"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "openapi/profile.yaml:1: ") {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "gen", "kept.go")); err != nil || string(text) != "kept" {
		t.Errorf("gen/ holds %q, error %v", text, err)
	}
	if left, err := filepath.Glob(filepath.Join(root, ".tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, error %v", left, err)
	}
}

// Whatever fails on the way, gen/ is the old one or the new one, and nothing else is left.
func TestGenIsNeverHalfWritten(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join(repository, "generator", "testdata", "shop"))); err != nil {
		t.Fatal(err)
	}
	gen := filepath.Join(root, "gen")
	if _, err := write(root, "gen", []emit.File{{Path: "kept.go", Data: []byte("kept")}}); err != nil {
		t.Fatal(err)
	}
	one := func(path string) emitter {
		return func(*model.Model) ([]emit.File, error) { return []emit.File{{Path: path, Data: []byte("x")}}, nil }
	}
	late := func(*model.Model) ([]emit.File, error) { return nil, errors.New("a late mistake") }
	for want, all := range map[string]map[string][]emitter{
		"a late mistake":                   {"gen": {one("new.go"), late}},
		"two emitters write new.go":        {"gen": {one("new.go"), one("new.go")}},
		"not a directory":                  {"gen": {one("new.go"), one("new.go/below.go")}}, // fails while it is written
		"type APIVersions is not declared": emitters(),                                       // the shop has no documents of discovery
	} {
		if _, err := generate(root, all, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if left, err := os.ReadDir(gen); err != nil || len(left) != 1 || left[0].Name() != "kept.go" {
			t.Errorf("%s: gen/ holds %v, error %v", want, left, err)
		}
		if left, err := filepath.Glob(filepath.Join(root, ".tmp", "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left behind, error %v", want, left, err)
		}
	}
	var said bytes.Buffer
	if _, err := generate(root, map[string][]emitter{"gen": {one("new.go")}}, &said); err != nil || !strings.HasPrefix(said.String(), "gen/: 1 files, 0 KiB, in ") {
		t.Fatalf("said %q, error %v", said.String(), err)
	}
	if left, err := os.ReadDir(gen); err != nil || len(left) != 1 || left[0].Name() != "new.go" {
		t.Errorf("after all gen/ holds %v, error %v", left, err)
	}
}

// newModule is a module for an API of its own, edited: a text becomes another one, or a file
// without an old text is all of the new.
func newModule(t *testing.T, edits [][3]string) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "fleet")
	if err := Run(".", []string{"new", "api", "fleet.example.com", "--kind", "Truck", "--dir", root, "--capstan", repository}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		edit(t, root, e)
	}
	return root
}

// edit changes a file below root: a text becomes another one, or the file is all of the new, and goes if that is "".
func edit(t *testing.T, root string, e [3]string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(e[0]))
	text := e[2]
	if e[1] != "" {
		was, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(was), e[1]) {
			t.Fatalf("%s does not hold %q: %v", e[0], e[1], err)
		}
		text = strings.Replace(string(was), e[1], e[2], 1)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	if text == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// readFiles has the text of each file below a folder.
func readFiles(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The action for workflows of others has the inputs that it uses, and its script finds what
// breaks.
func TestAction(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, ".github", "actions", "compat", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Uses, Shell, Run string
				Env              map[string]string
			}
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&action); err != nil {
		t.Fatal(err)
	}
	root, temp := newModule(t, nil), t.TempDir()
	if err := Run(root, []string{"release-baseline", "--version", "1.0"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	script := action.Runs.Steps[len(action.Runs.Steps)-1]
	env := append(os.Environ(), "GITHUB_ACTION_PATH="+filepath.Join(source, ".github", "actions", "compat"), "RUNNER_TEMP="+temp)
	used := map[string]bool{}
	for name, value := range script.Env {
		input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		used[input] = true
		if value = action.Inputs[input].Default; input == "directory" {
			value = root
		}
		env = append(env, name+"="+value)
	}
	for input := range used {
		if action.Inputs[input].Description == "" {
			t.Errorf("the input %s is not declared", input)
		}
	}
	if len(used) != len(action.Inputs) || action.Runs.Using != "composite" || script.Shell != "bash" {
		t.Errorf("inputs %v, of %v used, in %q", action.Inputs, used, script.Shell)
	}
	for _, c := range [][2]string{{"", ""}, {"maximum: 99", "::error file=schemas/fleet/v1beta1/Truck.yaml,line="}} {
		edit, want := c[0], c[1]
		if edit != "" {
			path := filepath.Join(root, "schemas", "fleet", "v1beta1", "Truck.yaml")
			was, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.Replace(was, []byte("maximum: 100"), []byte(edit), 1), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script.Run)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if (err != nil) != (want != "") || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v %s, want %s", edit, err, out, want)
		}
	}
}

// The site of a module has its reference and its guides.
func TestDocsOfAModule(t *testing.T) {
	root := newModule(t, [][3]string{{"docs/drivers.md", "", "# For drivers\n\nSee [trucks](../schemas/fleet/v1beta1/Truck.yaml).\n"}})
	if err := Run(root, []string{"docs", filepath.Join(root, "site")}, io.Discard); err != nil {
		t.Fatal(err)
	}
	files := readFiles(t, filepath.Join(root, "site"))
	for page, want := range map[string]string{"index.html": `<a href="drivers.html">For drivers</a>`, "drivers.html": "trucks", "kinds/fleet/v1beta1/Truck.html": "Color of the paint."} {
		if !strings.Contains(files[page], want) {
			t.Errorf("%s lacks %s: %s", page, want, files[page])
		}
	}
}

// Findings of lint are accepted with a reason, and for a time.
func TestLintAcceptsFindings(t *testing.T) {
	field := [3]string{"schemas/fleet/v1beta1/Truck.yaml", "        maximum: 100\n", "        maximum: 100\n      timeout: {description: Words for it., type: integer, minimum: 1}\n"}
	for config, want := range map[string]string{
		"": "error unit: fleet/v1beta1.TruckSpec.timeout does not say its unit",
		"accepted:\n- {rule: unit, element: fleet/v1beta1.TruckSpec.timeout, reason: all say it so, until: 2999-01-01}\n": "",
		"levels: {unit: warning}\n": "warning unit: ",
		"accepted:\n- {rule: unit, element: fleet/v1beta1.TruckSpec.timeout, reason: all say it so, until: 2020-01-01}\n":  "error acceptance-stale: ",
		"levels: {unit: \"off\"}\naccepted:\n- {rule: unit, element: fleet/*, reason: all say it so, until: 2999-01-01}\n": "is accepted for unit and not found any more",
	} {
		edits := [][3]string{field}
		if config != "" {
			edits = append(edits, [3]string{"lint.yaml", "", config})
		}
		var out bytes.Buffer
		err := Run(newModule(t, edits), []string{"lint"}, &out)
		if !strings.Contains(out.String(), want) || want == "" && out.Len() > 0 || (err != nil) != strings.Contains(out.String(), ": error ") || err != nil && codeOf(err) != 1 {
			t.Errorf("%s: %s, error %v, want %s", config, out.String(), err, want)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"generat"}, `unknown command "generat" for "capstan-gen"; did you mean generate?`},
		{[]string{"new", "knd"}, `unknown command "knd" for "capstan-gen new"; did you mean kind?`},
		{[]string{"lint", "--formt"}, "unknown flag --formt; did you mean --format?"},
		{[]string{"compat", "x", "."}, "x: there is no such file or folder; write a folder, a file, release, git:REVISION or a URL"},
		{[]string{"compat", ".", ".", "x"}, `compat takes two sides: remove ["x"]`},
		{[]string{"lint", "--format", "xml"}, `there is no format "xml"; write one of human, json, junit, sarif, github`},
		{[]string{"promote", "storag", "v1"}, `unknown command "storag" for "capstan-gen promote"; did you mean storage?`},
		{[]string{"release", "1.0"}, `"1.0" is not the version of a release: write one like v0.1.0 (make release VERSION=v0.1.0)`},
		{[]string{"release-baseline"}, "release-baseline needs --version, like --version 1.26"},
	} {
		if err := Run(t.TempDir(), c.args, &bytes.Buffer{}); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c.args, err, c.want)
		}
	}
	if err := Run(repository, []string{"compat"}, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

// A folder may have a dash, which a package in Go may not; two folders may not share one.
func TestFoldersWithDashes(t *testing.T) {
	for folder, want := range map[string]string{"my-fleet": "", "fle-et": "the package fleetv1beta1 in Go would be that of "} {
		root := newModule(t, nil)
		for _, file := range []string{"openapi/fleet/v1beta1.yaml", "schemas/fleet/v1beta1/Truck.yaml", "schemas/fleet/v1beta1/TruckRestart.yaml"} {
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(root, filepath.FromSlash(strings.Replace(file, "/fleet/", "/"+folder+"/", 1)))
			if err := errors.Join(os.MkdirAll(filepath.Dir(other), 0o755), os.WriteFile(other, []byte(strings.NewReplacer("fleet.example.com", folder+".example.com", "restart:", "again:").Replace(string(text))), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if err := Run(root, []string{"generate"}, io.Discard); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}
