package converttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// kind is a row of a version whose specification has fields of texts.
func kind(version string, fields ...string) *api.Resource {
	text, object := schema.Type{Kind: schema.String, Elem: schema.None}, schema.Type{Kind: schema.Object, Elem: schema.None}
	root, meta, spec := object, object, object
	root.Fields = []schema.Field{{Name: "kind", Type: 3}, {Name: "apiVersion", Type: 3}, {Name: "metadata", Type: 1, Presence: schema.Explicit},
		{Name: "spec", Type: 2, Presence: schema.Explicit}}
	meta.Fields = []schema.Field{{Name: "name", Type: 3}, {Name: "annotations", Type: 4}}
	for _, name := range fields {
		f := schema.Field{Name: name, Type: 3}
		if name == "code" {
			f.Type = 5
		}
		spec.Fields = append(spec.Fields, f)
	}
	code := text // of which no right one is drawn
	code.Rules = &schema.Rules{Format: "uuid", Pattern: "^f"}
	t := &schema.Table{Types: []schema.Type{root, meta, spec, text, {Kind: schema.Map, Elem: 3}, code}}
	t.MakeIndex()
	gv := &api.GroupVersion{Group: "example.com", Version: version, Table: t}
	return &api.Resource{GV: gv, Kind: "Person", Plural: "people"}
}

// Trips find what a conversion loses, and fields that no object carries; a conversion that loses nothing has no problems.
func TestProblems(t *testing.T) {
	whole := []api.Copy{{Name: "metadata"}, {Name: "spec", Below: []api.Copy{}}}
	join := func(from, to document.Value) {
		to.SetObject("spec").SetString("name", from.At("spec", "first").Text()+"|"+from.At("spec", "last").Text())
	}
	split := func(from, to document.Value) {
		first, last, _ := strings.Cut(from.At("spec", "name").Text(), "|")
		to.SetObject("spec").SetString("first", first)
		to.SetObject("spec").SetString("last", last)
		to.Get("spec").DropZeros()
	}
	bySpace := func(from, to document.Value) {
		first, last, _ := strings.Cut(strings.ReplaceAll(from.At("spec", "name").Text(), "|", " "), " ")
		to.SetObject("spec").SetString("first", first)
		to.SetObject("spec").SetString("last", last)
		to.Get("spec").DropZeros()
	}
	nothing := func(_, to document.Value) { to.SetObject("spec") }
	for _, c := range []struct {
		name     string
		there    func(from, to document.Value)
		back     func(from, to document.Value)
		problems []string // of v1
		more     []string // fields
	}{
		{"a split that is unique", join, split, nil, nil},
		{"a split at spaces", join, bySpace, []string{"the conversion loses spec.first of example.com/v1: spec.first was \"two words\" and came back as \"two\"", "the conversion loses spec.last"}, nil},
		{"a field that is never right", join, split, []string{"no object carried spec.code of example.com/v1 there and back"}, []string{"code"}},
		{"nothing comes back", join, nothing, []string{"the conversion loses spec.first of example.com/v1: spec.first was", "the conversion loses spec.last"}, nil},
	} {
		v1, stored := kind("v1", append([]string{"first", "last"}, c.more...)...), kind("v1beta1", "name")
		v1.Conversion = &api.Conversion{Storage: stored, ToStorage: api.Plan{Copy: whole, Hook: c.there}, FromStorage: api.Plan{Copy: whole, Hook: c.back}}
		tr := New(v1)
		for seed := range uint64(100) {
			tr.Draw(t, seed)
		}
		problems := slices.DeleteFunc(tr.Problems(), func(text string) bool { return strings.Contains(text, "spec.name of") }) // which is any text
		if len(problems) != len(c.problems) {
			t.Errorf("%s: %q", c.name, problems)
			continue
		}
		for i, want := range c.problems {
			if !strings.HasPrefix(problems[i], want) {
				t.Errorf("%s: %s, want %s", c.name, problems[i], want)
			}
		}
	}
}
