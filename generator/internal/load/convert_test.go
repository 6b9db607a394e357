package load

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// A version with renamed fields, at the top and in the elements of a list, and with fields
// of its own is converted by a plan, in both directions.
func TestRenamedFieldsAreCopied(t *testing.T) {
	root := project(t, filepath.Join(testdata, "wrong", "carries-what-both-have"))
	edit := func(name string, pairs ...string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit("openapi/shop/v2.yaml", "carries: [.spec.state]", "carries: [.spec.parcel, .spec.state]")
	edit("schemas/shop/v2/Order.yaml", "$defs:\n  OrderSpec:\n    properties:\n", `$defs:
  Item:
    properties:
      sizes: null
      lengths: {description: Wanted lengths., items: {type: string}, x-cluster-binary: 2, x-cluster-renamed-from: [extents, sizes]}
  OrderSpec:
    required: null
    properties:
      state: null
      parcel: {description: Size of the box., type: string, x-cluster-binary: 7}
`)
	edit("openapi/shop/v2.yaml", "{name: spec.state, path: .spec.state}", "{name: spec.state, never: true}")
	m, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	v2 := m.GroupVersions[slices.IndexFunc(m.GroupVersions, func(gv *model.GroupVersion) bool { return gv.Dir == "shop/v2" })]
	got := v2.Resources[0].Conversion
	want := &model.Conversion{
		To: []model.Copy{{Name: "metadata"}, {Name: "spec", Below: []model.Copy{
			{Name: "items", Each: true, Below: []model.Copy{{Name: "sku"}, {Name: "sizes", From: "lengths"}}}, {Name: "copies", From: "count"},
		}}},
		From: []model.Copy{{Name: "metadata"}, {Name: "spec", Below: []model.Copy{
			{Name: "count", From: "copies"}, {Name: "items", Each: true, Below: []model.Copy{{Name: "sku"}, {Name: "lengths", From: "sizes"}}},
		}}},
		OnlyHere: []string{"spec.parcel"}, OnlyInStored: []string{"spec.state"},
	}
	order := func(c *model.Conversion) {
		slices.SortFunc(c.To[1].Below, func(a, b model.Copy) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.From[1].Below, func(a, b model.Copy) int { return strings.Compare(a.Name, b.Name) })
	}
	if order(got); !reflect.DeepEqual(got, want) {
		order(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
