package registry

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

const recording = "testdata/reference.jsonl"

var validExamples = filepath.Join("..", "..", "..", "schemas", "examples", "valid")

// everyKind is a catalog with the built-in kinds and that of the custom objects.
func everyKind(t testing.TB) *catalog.Catalog {
	t.Helper()
	all := catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())
	text, err := os.ReadFile(filepath.Join(validExamples, "apiextensions", "v1", "CustomResourceDefinition-cobblers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	meta, err := definitions.NewMeta(generated.Meta())
	if err != nil {
		t.Fatal(err)
	}
	rows := definitions.Rows{Meta: meta}
	all.Put(rows.Of(definitions.Pack(text), [32]byte{1})...)
	return all
}

// recordings are the lines of testdata/reference.jsonl.
func recordings(t testing.TB) (objects, refusals []recorded) {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Refused != "" {
			refusals = append(refusals, r)
		} else {
			objects = append(objects, r)
		}
	}
	return objects, refusals
}

// TestReference compares the form with what kube-apiserver keeps in etcd.
func TestReference(t *testing.T) {
	rows := everyKind(t)
	form := New(rows)
	objects, _ := recordings(t)
	for _, r := range objects {
		t.Run(strings.ReplaceAll(r.Key, "/", "_"), func(t *testing.T) {
			if place := form.Place(r.Key); place != r.Place {
				t.Errorf("the place is %s, want %s", place, r.Place)
			}
			if key, ok := form.Key(r.Place); !ok || key != r.Key {
				t.Errorf("the key is %s %t", key, ok)
			}
			got, err := form.Decode(r.Key, r.Value)
			if err != nil {
				t.Fatal(err)
			}
			if want := answered(t, rows.Snapshot(), &r); !bytes.Equal(got.Body, want.Body) || !bytes.Equal(got.Meta, want.Meta) || got.RevisionAt != want.RevisionAt {
				t.Errorf("the body is %d\n%s\nthe answer %d\n%s", got.RevisionAt, got.Body, want.RevisionAt, want.Body)
			}
			sameJSON(t, got.Body, r.Object)
			data, err := form.Encode(r.Key, got)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(data, r.Value) {
				return
			}
			if !filledByReaders(r.Key) || strings.HasSuffix(r.Key, "/again") {
				t.Errorf("etcd gets\n%q\nand should get\n%q", data, r.Value)
			}
			if again, err := form.Decode(r.Key, data); err != nil || !bytes.Equal(again.Body, got.Body) {
				t.Errorf("it is read as\n%s %v\nand was\n%s", again.Body, err, got.Body)
			}
		})
	}
}

// TestEveryKindIsRecorded checks that the recording has an object of each kind, or a
// refusal for those that kube-apiserver 1.25 does not have.
func TestEveryKindIsRecorded(t *testing.T) {
	objects, refusals := recordings(t)
	kinds, refused := 0, 0
	for kind := range everyKind(t).Snapshot().Types() {
		if kind.Stored == nil {
			continue
		}
		kinds++
		if slices.ContainsFunc(objects, func(r recorded) bool { return strings.HasPrefix(r.Key, kind.Prefix) }) {
			continue
		}
		refused++
		if !slices.ContainsFunc(refusals, func(r recorded) bool {
			return strings.Contains(r.Example, "/"+kind.Stored.Kind+"-") && strings.HasPrefix(r.Refused, "404 ")
		}) {
			t.Errorf("%s is not recorded", kind.Prefix)
		}
	}
	if kinds < 50 || refused != 4 {
		t.Errorf("of %d kinds %d are not those of 1.25", kinds, refused)
	}
}

// answered is the answer of the reference as a value of the store.
func answered(t *testing.T, s *catalog.Snapshot, r *recorded) store.Value {
	t.Helper()
	row := s.Type(r.Key).Stored
	doc, err := document.ReadTyped(row.GV.Types(), row.Type, r.Object)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	v, err := stored.Seal(row, doc.Root(), new(stored.Space))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sameJSON compares two texts of an object except for its revision.
func sameJSON(t *testing.T, got, want []byte) {
	t.Helper()
	var values [2]fields
	for i, text := range [][]byte{got, want} {
		if err := json.Unmarshal(text, &values[i]); err != nil {
			t.Fatal(err)
		}
		delete(values[i]["metadata"].(fields), "resourceVersion")
	}
	if diff := cmp.Diff(values[1], values[0]); diff != "" {
		t.Errorf("the answer and the body differ:\n%s", diff)
	}
}

// filledByReaders reports whether kube-apiserver keeps new objects of a kind without a
// default, which it fills in when it reads them: the phase of volumes and claims, and the
// labels of jobs. It keeps the default with the next write of the object.
func filledByReaders(key string) bool {
	return strings.HasPrefix(key, "core/persistentvolumes/") || strings.HasPrefix(key, "core/persistentvolumeclaims/") || strings.HasPrefix(key, "batch/jobs/")
}
