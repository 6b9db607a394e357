package main

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
	appsv1 "github.com/capstan-dev/capstan/internal/gen/apps/v1"
	authenticationv1 "github.com/capstan-dev/capstan/internal/gen/authentication/v1"
	authorizationv1 "github.com/capstan-dev/capstan/internal/gen/authorization/v1"
	autoscalingv1 "github.com/capstan-dev/capstan/internal/gen/autoscaling/v1"
	autoscalingv2 "github.com/capstan-dev/capstan/internal/gen/autoscaling/v2"
	autoscalingv2beta2 "github.com/capstan-dev/capstan/internal/gen/autoscaling/v2beta2"
	batchv1 "github.com/capstan-dev/capstan/internal/gen/batch/v1"
	coordinationv1 "github.com/capstan-dev/capstan/internal/gen/coordination/v1"
	corev1 "github.com/capstan-dev/capstan/internal/gen/core/v1"
	discoveryv1 "github.com/capstan-dev/capstan/internal/gen/discovery/v1"
	eventsv1 "github.com/capstan-dev/capstan/internal/gen/events/v1"
	flowcontrolv1beta1 "github.com/capstan-dev/capstan/internal/gen/flowcontrol.apiserver/v1beta1"
	flowcontrolv1beta2 "github.com/capstan-dev/capstan/internal/gen/flowcontrol.apiserver/v1beta2"
	internalapiserverv1alpha1 "github.com/capstan-dev/capstan/internal/gen/internal.apiserver/v1alpha1"
	metav1 "github.com/capstan-dev/capstan/internal/gen/meta/v1"
	networkingv1 "github.com/capstan-dev/capstan/internal/gen/networking/v1"
	networkingv1alpha1 "github.com/capstan-dev/capstan/internal/gen/networking/v1alpha1"
	nodev1 "github.com/capstan-dev/capstan/internal/gen/node/v1"
	policyv1 "github.com/capstan-dev/capstan/internal/gen/policy/v1"
	rbacauthorizationv1 "github.com/capstan-dev/capstan/internal/gen/rbac.authorization/v1"
	schedulingv1 "github.com/capstan-dev/capstan/internal/gen/scheduling/v1"
	storagev1 "github.com/capstan-dev/capstan/internal/gen/storage/v1"
	storagev1beta1 "github.com/capstan-dev/capstan/internal/gen/storage/v1beta1"
	"github.com/capstan-dev/capstan/internal/schema"

	admissionregistrationv1 "github.com/capstan-dev/capstan/internal/gen/admissionregistration/v1"
	apiextensionsv1 "github.com/capstan-dev/capstan/internal/gen/apiextensions/v1"
	apiregistrationv1 "github.com/capstan-dev/capstan/internal/gen/apiregistration/v1"
	certificatesv1 "github.com/capstan-dev/capstan/internal/gen/certificates/v1"
)

// tables are the generated tables, by the folder of their documents.
var tables = map[string]*schema.Table{
	"admissionregistration/v1":      &admissionregistrationv1.Table,
	"apiextensions/v1":              &apiextensionsv1.Table,
	"apiregistration/v1":            &apiregistrationv1.Table,
	"apps/v1":                       &appsv1.Table,
	"authentication/v1":             &authenticationv1.Table,
	"authorization/v1":              &authorizationv1.Table,
	"autoscaling/v1":                &autoscalingv1.Table,
	"autoscaling/v2":                &autoscalingv2.Table,
	"autoscaling/v2beta2":           &autoscalingv2beta2.Table,
	"batch/v1":                      &batchv1.Table,
	"certificates/v1":               &certificatesv1.Table,
	"coordination/v1":               &coordinationv1.Table,
	"core/v1":                       &corev1.Table,
	"discovery/v1":                  &discoveryv1.Table,
	"events/v1":                     &eventsv1.Table,
	"flowcontrol.apiserver/v1beta1": &flowcontrolv1beta1.Table,
	"flowcontrol.apiserver/v1beta2": &flowcontrolv1beta2.Table,
	"internal.apiserver/v1alpha1":   &internalapiserverv1alpha1.Table,
	"meta/v1":                       &metav1.Table,
	"networking/v1":                 &networkingv1.Table,
	"networking/v1alpha1":           &networkingv1alpha1.Table,
	"node/v1":                       &nodev1.Table,
	"policy/v1":                     &policyv1.Table,
	"rbac.authorization/v1":         &rbacauthorizationv1.Table,
	"scheduling/v1":                 &schedulingv1.Table,
	"storage/v1":                    &storagev1.Table,
	"storage/v1beta1":               &storagev1beta1.Table,
}

// sayable is a table without the rules that JSON Schema has no words for.
func sayable(table *schema.Table) *schema.Table {
	less := *table
	less.Types = slices.Clone(table.Types)
	for i := range less.Types {
		t := &less.Types[i]
		if t.Demands = nil; t.Rules != nil {
			rules := *t.Rules
			rules.Keys, rules.MaxBytes = "", 0
			t.Rules = &rules
		}
	}
	return &less
}

// The compiler gives the same tables at run time that the generator wrote as Go data, so
// tests of one hold for the other.
func TestGeneratedTablesAreTheCompiledOnes(t *testing.T) {
	m, err := load.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range m.GroupVersions {
		generated := tables[gv.Dir]
		if generated == nil {
			t.Errorf("no generated table of %s is compared: add it to tables", gv.Dir)
			continue
		}
		if reflect.DeepEqual(generated, gv.Table) {
			continue
		}
		t.Errorf("the generated table of %s differs: run make generate", gv.Dir)
		for i := range min(len(generated.Types), len(gv.Table.Types)) {
			if !reflect.DeepEqual(generated.Types[i], gv.Table.Types[i]) {
				t.Errorf("type %d is\n%+v, generated is\n%+v", i, gv.Table.Types[i], generated.Types[i])
				break
			}
		}
	}
	if len(m.GroupVersions) != len(tables) {
		t.Errorf("%d group versions, %d tables", len(m.GroupVersions), len(tables))
	}
}

func TestEqualDocumentsGiveEqualBytes(t *testing.T) {
	var first []emit.File
	for i := range 2 {
		m, err := load.Load("..")
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
	if err := run(root, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "openapi/profile.yaml:1: ") {
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
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "shop"))); err != nil {
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
		{[]string{"generat"}, `unknown command "generat": the commands are generate and compat`},
		{[]string{"compat", "x"}, `compat takes no arguments: remove ["x"]`},
	} {
		if err := run(t.TempDir(), c.args, &bytes.Buffer{}); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c.args, err, c.want)
		}
	}
	if err := run("..", []string{"compat"}, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}
