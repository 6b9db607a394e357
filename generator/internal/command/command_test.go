package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

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
	got := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		got[filepath.ToSlash(rel)] = string(text)
		return err
	})
	want := map[string]string{"gen/a/one.go": "two", "gen/b/c/new.go": "new"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, error %v", got, err)
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
	if err := Run(root, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "openapi/profile.yaml:1: ") {
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
		if err := generate(root, all, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
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
	if err := generate(root, map[string][]emitter{"gen": {one("new.go")}}, &said); err != nil || !strings.HasPrefix(said.String(), "gen/: 1 files, 0 KiB, in ") {
		t.Fatalf("said %q, error %v", said.String(), err)
	}
	if left, err := os.ReadDir(gen); err != nil || len(left) != 1 || left[0].Name() != "new.go" {
		t.Errorf("after all gen/ holds %v, error %v", left, err)
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"generat"}, `unknown command "generat" for "capstan-gen"`},
		{[]string{"compat", "x", "."}, "x: there is no such file or folder; write a folder, a file, release, git:REVISION or a URL"},
		{[]string{"compat", ".", ".", "x"}, `compat takes two sides: remove ["x"]`},
		{[]string{"release-baseline"}, "release-baseline needs --version, like --version 1.26, and nothing else"},
	} {
		if err := Run(t.TempDir(), c.args, &bytes.Buffer{}); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c.args, err, c.want)
		}
	}
	if err := Run(repository, []string{"compat"}, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}
