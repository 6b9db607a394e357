package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/patch"
)

// step is one write in a script of testdata, and the state after it. The times of entries
// show only as being set.
type step struct {
	Name, Do, Object, Manager, Subresource string
	Force                                  bool
	Body                                   any
	Status                                 int      // of an error
	Conflicts                              []string // fields
	Entries                                []map[string]any
	AnyEntries                             bool `yaml:"anyEntries"`
	Data                                   any
	Metadata                               map[string]any
}

func scriptKind(name string) *Kind {
	if name == "Deployment" {
		return appsKind(name)
	}
	return coreKind(name)
}

// write does one step to an object, nil for a new one.
func (s *step) write(k *Kind, live *document.Document, time string) (*document.Document, error) {
	w := Write{Manager: ManagerName(s.Manager, "test-agent/1.0 (linux)"), Subresource: s.Subresource, Time: time, Reset: MainReset(true)}
	if s.Subresource == "status" {
		w.Reset = k.StatusReset([][]string{{"metadata", "deletionTimestamp"}, {"metadata", "ownerReferences"}})
	}
	text := mustText(s.Body)
	var old document.Value
	var current []byte
	if live != nil {
		old = live.Root()
		current = old.AppendJSON(nil)
	}
	var err error
	switch s.Do {
	case "apply":
		applied, err := document.DecodeAny(text, document.Limits{})
		if err != nil {
			return nil, err
		}
		body, err := k.Apply(old, applied.Root(), w, s.Force)
		if err != nil {
			return nil, err
		}
		next, err := k.read(body)
		if err == nil && live != nil {
			KeepTimes(next.Root(), old)
		}
		return next, err
	case "merge":
		text, err = patch.Merge(current, text, document.Limits{})
	case "json":
		text, err = patch.JSON(current, text, document.Limits{}, nil)
	}
	if err != nil {
		return nil, err
	}
	next, err := k.read(text)
	if err != nil {
		return nil, err
	}
	return next, k.Update(old, next.Root(), w)
}

func (s *step) check(obj any) error {
	meta, _ := obj.(map[string]any)["metadata"].(map[string]any)
	entries := []any{}
	if list, ok := meta["managedFields"].([]any); ok {
		entries = list
	}
	for _, e := range entries {
		e := e.(map[string]any)
		delete(e, "fieldsType")
		if _, ok := e["time"]; ok {
			e["time"] = true
		}
	}
	want := []any{}
	for _, e := range s.Entries {
		want = append(want, e)
	}
	if !s.AnyEntries && !reflect.DeepEqual(normal(entries), normal(want)) {
		return fmt.Errorf("entries\ngot  %s\nwant %s", mustText(entries), mustText(want))
	}
	if !strings.HasPrefix(s.Object, "ConfigMap/") {
		return nil
	}
	if data := obj.(map[string]any)["data"]; !sameValue(data, s.Data) {
		return fmt.Errorf("data is %s, want %s", mustText(data), mustText(s.Data))
	}
	for _, name := range []string{"labels", "annotations", "finalizers"} {
		if !sameValue(meta[name], s.Metadata[name]) {
			return fmt.Errorf("metadata.%s is %s, want %s", name, mustText(meta[name]), mustText(s.Metadata[name]))
		}
	}
	return nil
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var steps []step
			if err := yaml.Unmarshal(text, &steps); err != nil {
				t.Fatal(err)
			}
			objects := map[string]*document.Document{}
			for i := range steps {
				s := &steps[i]
				kind, _, _ := strings.Cut(s.Object, "/")
				next, err := s.write(scriptKind(kind), objects[s.Object], "2022-01-01T00:00:00Z")
				if s.Status != 0 {
					checkError(t, s, err)
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", s.Name, err)
				}
				if err := s.check(fromJSON(next.Root().AppendJSON(nil))); err != nil {
					t.Fatalf("%s: %v", s.Name, err)
				}
				objects[s.Object] = next
			}
		})
	}
}

func checkError(t *testing.T, s *step, err error) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != s.Status {
		t.Fatalf("%s: the error is %v, want code %d", s.Name, err, s.Status)
	}
	var fields []string
	for _, c := range e.Causes {
		fields = append(fields, c.Field)
	}
	if s.Conflicts != nil && !reflect.DeepEqual(fields, s.Conflicts) {
		t.Fatalf("%s: conflicts about %v, want %v", s.Name, fields, s.Conflicts)
	}
}
