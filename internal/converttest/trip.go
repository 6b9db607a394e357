package converttest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/drawing"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Trip takes objects of a resource that is stored in another version there and back.
type Trip struct {
	Resource *api.Resource
	lost     map[string]string     // by field, the first object that lost it
	kept     map[field]bool        // fields that came back as they were
	right    map[*api.Resource]int // objects that a server would store
}

// field is a field of a version.
type field struct {
	of   *api.Resource
	path string // "spec.crates[].name"
}

// New is for a resource with a conversion.
func New(res *api.Resource) *Trip {
	return &Trip{res, map[string]string{}, map[field]bool{}, map[*api.Resource]int{}}
}

// Draw tries objects that are drawn from seeds, in both versions.
func (tr *Trip) Draw(t *testing.T, seeds ...uint64) {
	for _, seed := range seeds {
		for _, res := range []*api.Resource{tr.Resource, tr.Resource.Storage()} {
			d := drawing.New(res.GV.Types(), seed)
			d.Deepest = 10
			d.Texts = append(d.Texts, "a:b", "a/b", "a,b", " a", "one two three", "10.0.0.1:80")
			d.Numbers = append(d.Numbers, 59, 60, 61, 1000, 3600)
			text := d.Value(res.Type)
			tr.Try(t, res, text, false)
			tr.Try(t, res, text, true)
		}
	}
}

// Try takes an object in JSON there and back, without its wrong values if it shall mend them. Of a wrong object fields may be lost.
func (tr *Trip) Try(t *testing.T, of *api.Resource, text []byte, mend bool) {
	if mend {
		text = tr.mended(t, of, text)
	}
	first := tr.read(t, of, text)
	if first == nil {
		return
	}
	defer first.Release()
	right := len(document.Validate(first.Root(), &of.GV.Validation)) == 0
	ways := []func(document.Value) (*document.Document, error){
		func(v document.Value) (*document.Document, error) {
			return convert.ToStorage(t.Context(), tr.Resource, v)
		},
		func(v document.Value) (*document.Document, error) {
			return convert.FromStorage(t.Context(), tr.Resource, v)
		},
	}
	other := tr.Resource.Storage()
	if of == other {
		slices.Reverse(ways)
		other = tr.Resource
	}
	there, err := ways[0](first.Root())
	if err != nil {
		t.Fatalf("%s: %v", first.Root().AppendJSON(nil), err)
	}
	defer there.Release()
	tr.canonical(t, other, there.Root())
	if right = right && (other == tr.Resource || len(document.Validate(there.Root(), &other.GV.Validation)) == 0); right {
		tr.right[of]++
	}
	back, err := ways[1](there.Root())
	if err != nil {
		t.Fatalf("%s: %v", there.Root().AppendJSON(nil), err)
	}
	defer back.Release()
	tr.canonical(t, of, back.Root())
	tr.compare(of, right, first.Root(), there.Root(), back.Root())
}

// read makes an object as the server that decodes it does; nil for one that cannot be read.
func (tr *Trip) read(t *testing.T, of *api.Resource, text []byte) *document.Document {
	table := of.GV.Types()
	decoder := document.Decoder{Table: table, Defaults: of.GV.Defaults}
	doc, _, err := decoder.Decode(of.Type, text)
	if err != nil {
		return nil
	}
	root := doc.Root()
	root.SetString("kind", of.Kind)
	root.SetString("apiVersion", of.GV.APIVersion())
	if err := root.SetRaw("metadata", []byte(`{"name":"drawn","annotations":{"example.com/kept":"a"}}`)); err != nil {
		t.Fatal(err)
	}
	return doc
}

// mended is the text of an object without its wrong values.
func (tr *Trip) mended(t *testing.T, of *api.Resource, text []byte) []byte {
	doc := tr.read(t, of, text)
	if doc == nil {
		return text
	}
	defer doc.Release()
	for range mostMends {
		for _, cause := range document.Validate(doc.Root(), &of.GV.Validation) {
			remove(doc.Root(), schema.Steps(cause.Field))
		}
	}
	return doc.Root().AppendJSON(nil)
}

// mostMends bounds the steps of mended.
const mostMends = 8

// remove takes the value at a path out of an object, or, where it is missing, the value that should have it.
func remove(v document.Value, path []string) {
	for i, step := range path {
		at, err := strconv.Atoi(step)
		inList := err == nil && v.Kind() == document.Array
		next := v.Get(step)
		if inList {
			next = v.Index(at)
		}
		if !next.Exists() {
			return
		}
		if i == len(path)-1 || !below(next, path[i+1]) {
			if inList {
				v.RemoveIndex(at)
			} else {
				v.Remove(step)
			}
			return
		}
		v = next
	}
}

// below reports whether a value has one at a step.
func below(v document.Value, step string) bool {
	if at, err := strconv.Atoi(step); err == nil && v.Kind() == document.Array {
		return v.Index(at).Exists()
	}
	return v.Get(step).Exists()
}

// canonical checks that an object has the text of a decoded one.
func (tr *Trip) canonical(t *testing.T, of *api.Resource, obj document.Value) {
	t.Helper()
	text := obj.AppendJSON(nil)
	doc, err := document.ReadTyped(of.GV.Types(), of.Type, text)
	if err != nil {
		t.Fatalf("a conversion to %s gives what cannot be read: %v in\n%s", of.GV.APIVersion(), err, text)
	}
	defer doc.Release()
	if read := doc.Root().AppendJSON(nil); string(read) != string(text) {
		t.Fatalf("a conversion to %s gives\n%s\nwhich is read as\n%s", of.GV.APIVersion(), text, read)
	}
}

// compare notes the fields that came back, and those that did not.
func (tr *Trip) compare(of *api.Resource, right bool, first, there, back document.Value) {
	had, has := map[string]string{}, map[string]string{}
	leaves(first, "", had)
	leaves(back, "", has)
	for _, path := range slices.Sorted(maps.Keys(had)) {
		name := plain(path)
		if has[path] == had[path] {
			tr.kept[field{of, name}] = true
			continue
		}
		if !right {
			continue
		}
		text := has[path]
		if text == "" {
			text = "nothing"
		}
		if key := fmt.Sprintf("%s of %s", name, of.GV.APIVersion()); tr.lost[key] == "" {
			tr.lost[key] = fmt.Sprintf("%s was %s and came back as %s:\n%s\nbecame\n%s\nand then\n%s", path, had[path], text,
				first.AppendJSON(nil), there.AppendJSON(nil), back.AppendJSON(nil))
		}
	}
}

// Problems name fields that were lost, and those that nothing carried there and back.
func (tr *Trip) Problems() (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, key := range slices.Sorted(maps.Keys(tr.lost)) {
		add("the conversion loses %s: %s", key, tr.lost[key])
	}
	for _, of := range []*api.Resource{tr.Resource, tr.Resource.Storage()} {
		if tr.right[of] == 0 {
			add("no object of %s that was drawn is right in both versions: put one into the folder of examples", of.GV.APIVersion())
			continue
		}
		plan := &tr.Resource.Conversion.FromStorage
		if of == tr.Resource {
			plan = &tr.Resource.Conversion.ToStorage
		}
		for _, path := range fields(of) {
			if !copied(plan, path) && !tr.kept[field{of, path}] && tr.lost[path+" of "+of.GV.APIVersion()] == "" {
				add("no object carried %s of %s there and back: put one that has it into the folder of examples", path, of.GV.APIVersion())
			}
		}
	}
	return all
}
