package load

import (
	"fmt"
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// TestElementsDiffer: the elements of sets and keyed lists of a module differ; the built-in types that it uses are as they
// are elsewhere.
func TestElementsDiffer(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"go.mod": "module shop.example.com\n",
		"openapi/shop/v1.yaml": "openapi: 3.0.3\ninfo: {title: shop, version: v1}\npaths: {}\nx-cluster-group: {name: shop.example.com, groupPriority: 100, versionPriority: 10}\n" +
			"x-cluster-resources:\n  orders: {kind: Order, scope: Namespaced}\n",
		"schemas/shop/v1/Order.yaml": `description: What somebody buys.
properties:
  metadata: {}
  names: {description: Who pays for it., type: array, items: {type: string}, x-cluster-list-type: set}
  states: {description: How far it is., type: array, items: {$ref: /meta/v1/Condition}, x-cluster-list-type: map, x-cluster-list-map-keys: [type]}
  lines: {description: What it is about., type: array, items: {type: string}, x-cluster-list-type: atomic}
`,
	})
	m, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	table := m.GroupVersions[slices.IndexFunc(m.GroupVersions, func(gv *model.GroupVersion) bool { return gv.Dir == "shop/v1" })].Table
	unique := func(of schema.Ref, path ...string) string {
		t.Helper()
		for _, name := range path {
			fields := table.Types[of].Fields
			of = fields[slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == name })].Type
		}
		if table.Types[of].Rules == nil {
			return "[]"
		}
		return fmt.Sprint(table.Types[of].Rules.Unique)
	}
	order := table.Root("Order")
	for want, got := range map[string]string{"[.]": unique(order, "names"), "[type]": unique(order, "states"), "[]": unique(order, "lines") + unique(order, "metadata", "finalizers")[2:]} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
