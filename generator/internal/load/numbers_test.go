package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// A field without a number has the one after the highest before it in its message.
func TestNumbersOfFields(t *testing.T) {
	type field struct{ outer, number int } // as said: 0 for nothing
	for _, c := range []struct {
		name   string
		object int
		fields []field
		want   string
	}{
		{"in order", 0, []field{{}, {}, {}}, "[1 2 3]"},
		{"after one that is said", 0, []field{{}, {0, 5}, {}}, "[1 5 6]"},
		{"not into a gap", 0, []field{{}, {0, 7}, {0, 3}, {}}, "[1 7 3 8]"},
		{"not in the binary form", 0, []field{{}, {0, noNumber}, {}}, "[1 0 2]"},
		{"no field in the binary form", noNumber, []field{{}, {}}, "[0 0]"},
		{"an inner message takes a number of the own", 0, []field{{2, 0}, {2, 0}, {}}, "[1 2 3]"},
		{"two messages", 0, []field{{}, {2, 0}, {2, 4}, {2, 0}, {3, 0}}, "[1 1 4 5 1]"},
		{"past the reserved numbers", 0, []field{{0, firstReserved - 1}, {}}, "[18999 20000]"},
	} {
		s := &schema.Schema{Binary: c.object}
		for _, f := range c.fields {
			s.Properties = append(s.Properties, schema.Property{Schema: &schema.Schema{Binary: f.number, BinaryOuter: f.outer}})
		}
		numberFields(s)
		var got []int
		for _, p := range s.Properties {
			got = append(got, p.Schema.Binary)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

// TestRenamedFieldsKeepTheirNumbers: a field of a further version has the place of the one that it is renamed from, so
// that a new field of the first version takes no number of the further one.
func TestRenamedFieldsKeepTheirNumbers(t *testing.T) {
	root := project(t, "")
	const group = "openapi: 3.0.3\ninfo: {title: shop, version: v2}\npaths: {}\nx-cluster-group: {name: shop.<groupSuffix>, groupPriority: 100, versionPriority: 1}\n" +
		"x-cluster-resources: {carts: {kind: Cart, scope: Namespaced}}\n"
	writeFiles(t, root, map[string]string{
		"openapi/shop/v3.yaml": group,
		"openapi/shop/v2.yaml": strings.Replace(group, "scope: Namespaced", "scope: Namespaced, storedAs: shop/v3/Cart", 1),
		"schemas/shop/v3/Cart.yaml": "description: Carries what a customer wants.\nproperties:\n  metadata: {}\n  size: {description: Size in litres., type: integer, format: int32}\n" +
			"  length: {description: Length in metres., type: integer, format: int32}\n  wheels: {description: Number of wheels., type: integer, format: int32}\n",
		"schemas/shop/v2/Cart.yaml": "x-cluster-same-as: /shop/v3/Cart\nproperties:\n  length: null\n" +
			"  lengthCentimetres: {description: How long the thing is; 0 when nobody knows., type: integer, format: int32, x-cluster-renamed-from: length}\n",
	})
	m, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, gv := range m.GroupVersions {
		for _, typ := range gv.Types {
			for _, p := range typ.Schema.Properties {
				if typ.ID == "shop/v2.Cart" {
					got += fmt.Sprint(p.Name, " ", p.Schema.Binary, " ")
				}
			}
		}
	}
	if want := "metadata 1 size 2 lengthCentimetres 3 wheels 4 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
