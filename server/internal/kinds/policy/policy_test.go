package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// now is the time of all tests.
var now = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

var groups = catalog.New(policy.New(func() time.Time { return now }), conversion.Hooks{})

// resource finds the catalog row of a kind.
func resource(t testing.TB, apiVersion, kind string) *api.Resource {
	t.Helper()
	for _, gv := range groups {
		for i := range gv.Resources {
			if r := &gv.Resources[i]; gv.APIVersion() == apiVersion && r.Kind == kind {
				return r
			}
		}
	}
	t.Fatalf("the catalog has no %s %s", apiVersion, kind)
	return nil
}

// decode reads an object in YAML or, which is quicker for long ones, in JSON, with
// all defaults.
func decode(t testing.TB, text string) (document.Value, *api.Resource) {
	t.Helper()
	json := []byte(text)
	if !strings.HasPrefix(text, "{") {
		var err error
		if json, err = yaml.ToJSON(json); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	plain, err := document.DecodeAny(json, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := resource(t, plain.Root().Get("apiVersion").Text(), plain.Root().Get("kind").Text())
	decoder := document.Decoder{Table: r.GV.Table, Defaults: r.GV.Defaults}
	doc, problems, err := decoder.Decode(r.Type, json)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(problems) > 0 {
		t.Fatalf("%v in\n%s", problems, text)
	}
	return doc.Root(), r
}

// create decodes an object and applies the server's rules for a new one.
func create(t testing.TB, text string) (document.Value, *api.Resource) {
	t.Helper()
	obj, r := decode(t, text)
	if r.Hooks != nil && r.Hooks.Create != nil {
		r.Hooks.Create(obj)
	}
	return obj, r
}

// causes validates an object by its schema and by its kind's rules and returns
// "field: Reason" of each cause, or nothing.
func causes(r *api.Resource, obj, old document.Value) []string {
	all := document.Validate(obj, &r.GV.Validation)
	if old.Exists() {
		all = append(document.ValidateTouched(obj, old, &r.GV.Validation), document.ValidateUpdate(obj, old, &r.GV.Validation)...)
	}
	if r.Hooks != nil && r.Hooks.Validate != nil {
		all = append(all, r.Hooks.Validate(obj, old)...)
	}
	var list []string
	for _, cause := range all {
		list = append(list, cause.Field+": "+strings.TrimPrefix(cause.Reason, "FieldValue"))
	}
	return list
}

// expect compares causes with the wanted ones, given one per line. Neither
// their order nor repetitions count.
func expect(t *testing.T, got []string, want string) {
	t.Helper()
	wanted := strings.FieldsFunc(want, func(r rune) bool { return r == '\n' || r == ';' })
	for i := range wanted {
		wanted[i] = strings.TrimSpace(wanted[i])
	}
	wanted = slices.DeleteFunc(wanted, func(s string) bool { return s == "" })
	slices.Sort(wanted)
	slices.Sort(got)
	got = slices.Compact(got)
	if !slices.Equal(got, wanted) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(wanted, "\n  "))
	}
}

// createCase is a new object and its causes.
type createCase struct{ name, object, want string }

func runCreate(t *testing.T, head string, cases []createCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			obj, r := create(t, head+c.object)
			expect(t, causes(r, obj, document.Value{}), c.want)
		})
	}
}

// updateCase is an object that replaces another, and its causes.
type updateCase struct{ name, old, object, want string }

func runUpdate(t *testing.T, head string, cases []updateCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			old, r := create(t, head+c.old)
			obj, _ := decode(t, head+c.object)
			if !obj.Get("status").Exists() || r.HasStatus {
				obj.Put("status", old.Get("status"))
			}
			if r.Hooks != nil && r.Hooks.Update != nil {
				r.Hooks.Update(obj, old)
			}
			expect(t, causes(r, obj, old), c.want)
		})
	}
}

// runStatus checks objects that the status endpoint puts in place of others.
func runStatus(t *testing.T, head string, cases []updateCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			old, r := decode(t, head+c.old)
			obj, _ := decode(t, head+c.object)
			expect(t, causes(r, obj, old), c.want)
		})
	}
}

// hookCase compares the parts of an object that hooks made, as JSON.
type hookCase struct{ name, object, path, want string }

func runHooks(t *testing.T, head string, cases []hookCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			obj, _ := create(t, head+c.object)
			expectAt(t, obj, c.path, c.want)
		})
	}
}

// expectAt compares the JSON at a path; "" is nothing.
func expectAt(t *testing.T, obj document.Value, path, want string) {
	t.Helper()
	v := obj
	for _, step := range strings.Split(path, "/") {
		if v.Kind() == document.Array {
			v = v.Index(int(step[0] - '0'))
		} else {
			v = v.Get(step)
		}
	}
	got := ""
	if v.Exists() {
		got = string(v.AppendJSON(nil))
	}
	if got != want {
		t.Errorf("%s: got %s, want %s", path, got, want)
	}
}

// cell is the value in a table: a string, an int64, a bool or nil.
func cell(t testing.TB, obj document.Value, r *api.Resource, column string) any {
	t.Helper()
	table, err := codec.NewTable(r, codec.TableOptions{IncludeObject: codec.IncludeNone, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	row := table.AppendRow(nil, table.Cells(nil, obj), nil, nil)
	var decoded struct{ Cells []any }
	d := json.NewDecoder(bytes.NewReader(row))
	d.UseNumber()
	if err := d.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Columns, func(c api.Column) bool { return c.Name == column })
	if i < 0 {
		t.Fatalf("%s has no column %q", r.Kind, column)
	}
	if n, ok := decoded.Cells[i].(json.Number); ok {
		whole, _ := n.Int64()
		return whole
	}
	return decoded.Cells[i]
}

// shown is the argument of a column's function.
func shown(c *api.Column, obj document.Value) document.Value {
	if path := strings.TrimPrefix(c.Path, "."); path != "" {
		return obj.At(strings.Split(path, ".")...)
	}
	return obj
}

// cellCase is a cell of an object as it is stored.
type cellCase struct {
	name, object, column string
	want                 any
}

func runCells(t *testing.T, head string, cases []cellCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.column+"/"+c.name, func(t *testing.T) {
			obj, r := decode(t, head+c.object)
			if got := cell(t, obj, r, c.column); got != c.want {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

// The examples of the documents are valid, and the defaults are too: an object that is
// read again does not change.
func TestExamples(t *testing.T) {
	for _, gv := range []string{"core/v1", "apps/v1"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "schemas", "examples", "valid", gv, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatal("there are no examples", err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(data), "kind: Binding") {
					t.Skip("has no row of its own")
				}
				obj, r := create(t, string(data))
				expect(t, causes(r, obj, document.Value{}), "")
				text := string(obj.AppendJSON(nil))
				again, _ := decode(t, text)
				if got := string(again.AppendJSON(nil)); got != text {
					t.Errorf("read again:\n%s\nbefore:\n%s", got, text)
				}
				if r.Hooks == nil {
					return
				}
				if r.Hooks != nil && r.Hooks.Update != nil {
					r.Hooks.Update(again, obj)
				}
				expect(t, causes(r, again, obj), "")
				for i := range r.Columns {
					if c := &r.Columns[i]; c.Cell != nil {
						switch c.Cell(shown(c, obj)).(type) {
						case string, int64, bool, api.Ago:
						default:
							t.Errorf("column %s: got %T, want a string, an int64, a bool or an Ago", c.Name, c.Cell(shown(c, obj)))
						}
					}
				}
			})
		}
	}
}

// runAll runs every rule and every cell on copies of an object of any kind.
func runAll(t testing.TB, text []byte) {
	t.Helper()
	open := func() document.Value {
		doc, err := document.DecodeAny(text, document.Limits{})
		if err != nil {
			t.Skip("not JSON")
		}
		return doc.Root()
	}
	old := open()
	for _, gv := range groups {
		for i := range gv.Resources {
			r := &gv.Resources[i]
			obj := open()
			if r.Hooks != nil {
				if r.Hooks.Create != nil {
					r.Hooks.Create(obj)
				}
				if r.Hooks != nil && r.Hooks.Update != nil {
					r.Hooks.Update(obj, old)
				}
				if r.Hooks.Validate != nil {
					r.Hooks.Validate(obj, document.Value{})
					r.Hooks.Validate(obj, old)
				}
			}
			for j := range r.Columns {
				if c := &r.Columns[j]; c.Cell != nil {
					c.Cell(shown(c, obj))
				}
			}
		}
		for _, hook := range gv.Defaults {
			hook(open())
		}
	}
}

// No rule may fail on an object of another kind.
func FuzzRules(f *testing.F) {
	for _, text := range []string{`{}`, `[]`, `null`, `{"metadata":null,"spec":null,"status":null}`,
		`{"metadata":{},"spec":{},"status":{}}`, `{"metadata":1,"spec":[1],"status":"x"}`,
		`{"spec":{"containers":[null,1,{"ports":[{}],"env":[{"valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"a['b']"}}}]}],"ports":[{}]}}`} {
		f.Add([]byte(text))
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "schemas", "examples", "valid", "*", "v1", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal("there are no examples", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		json, err := yaml.ToJSON(data)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(json)
	}
	f.Fuzz(func(t *testing.T, text []byte) { runAll(t, text) })
}
