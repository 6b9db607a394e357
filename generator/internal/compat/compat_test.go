package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	order   = "schemas/shop/v1/Order.yaml"
	group   = "openapi/shop/v1.yaml"
	profile = "openapi/profile.yaml"
)

// edit replaces a text of a document; an empty old text replaces all of it, and
// an empty new text then removes the document.
type edit struct{ file, old, new string }

// write copies the documents of testdata/shop to a folder, edited.
func write(t *testing.T, root string, edits []edit) {
	t.Helper()
	from := filepath.Join("..", "..", "testdata", "shop")
	files := map[string]string{}
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		switch {
		case e.old != "" && !strings.Contains(files[e.file], e.old):
			t.Fatalf("%s does not hold %q", e.file, e.old)
		case e.old != "":
			files[e.file] = strings.ReplaceAll(files[e.file], e.old, e.new)
		case e.new == "":
			delete(files, e.file)
		default:
			files[e.file] = e.new
		}
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// alpha makes the shop an alpha version, beta a beta version.
func alpha(more ...edit) []edit { return append(renamed("v1alpha1", "alpha"), more...) }
func beta(more ...edit) []edit  { return append(renamed("v1beta1", "beta"), more...) }

func renamed(version, stability string) []edit {
	shop := filepath.Join("..", "..", "testdata", "shop")
	orderText, _ := os.ReadFile(filepath.Join(shop, order))
	groupText, _ := os.ReadFile(filepath.Join(shop, group))
	to := func(text []byte) string {
		return strings.NewReplacer("shop/v1", "shop/"+version, "stability: stable", "stability: "+stability).Replace(string(text))
	}
	return []edit{{order, "", ""}, {group, "", ""}, {"schemas/shop/" + version + "/Order.yaml", "", to(orderText)}, {"openapi/shop/" + version + ".yaml", "", to(groupText)}}
}

func TestRules(t *testing.T) {
	const copies = "        format: int32\n        minimum: 1\n        maximum: 9\n"
	for _, c := range []struct {
		name        string
		before, now []edit
		want        string // lines, without positions of the current documents
	}{
		{"nothing changed", nil, nil, ""},

		// Compatible changes.
		{"a new optional field", nil, []edit{{order, "  Item:\n", "      note:\n        description: Words of the customer.\n        type: string\n        x-cluster-binary: 4\n  Item:\n"}}, ""},
		{"a new required field with a default", nil, []edit{{order, "required: [state]", "required: [state, note]"}, {order, "  Item:\n", "      note:\n        description: Words of the customer.\n        type: string\n        default: none\n        x-cluster-binary: 4\n  Item:\n"}}, ""},
		{"wider bounds", nil, []edit{{order, "minimum: 1\n", "minimum: 0\n"}, {order, "maximum: 9\n", "maximum: 10\n"}}, ""},
		{"no bounds", nil, []edit{{order, "        minimum: 1\n        maximum: 9\n", ""}}, ""},
		{"a new enum value", nil, []edit{{order, "[Open, Paid]", "[Open, Paid, Sent]"}}, ""},
		{"other words", nil, []edit{{order, "How many of each item.", "Number of pieces of each item."}}, ""},
		{"another order of fields", nil, []edit{{order, "[Open, Paid]", "[Paid, Open]"}}, ""},
		{"a type under another name", nil, []edit{{order, "$defs/Item", "$defs/OrderLine"}, {order, "  Item:\n", "  OrderLine:\n"}}, ""},
		{"a new short name", nil, []edit{{group, "[ord]", "[ord, o]"}}, ""},
		{"no longer required", nil, []edit{{order, "    required: [state]\n", ""}, {order, "default: Open\n", "default: Open\n        x-cluster-presence: always\n"}}, ""},
		{"deprecated in favour of a stable version", nil, []edit{{group, "    scope:", "    deprecated: {since: \"1.2\", replacement: shop/v2 Order}\n    scope:"}}, ""},

		// One test for every rule.
		{"group-version-removed", nil, []edit{{group, "", ""}}, "openapi/released/openapi/shop/v1.yaml:1: error group-version-removed: shop/v1 is no longer served"},
		{"group-renamed", nil, []edit{{group, "shop.<groupSuffix>", "shop"}}, "error group-renamed: the group shop.example.org is now called shop"},
		{"resource-removed", nil, []edit{{group, "  orders:", "  purchases:"}}, "openapi/released/openapi/shop/v1.yaml:5: error resource-removed: the resource orders is gone"},
		{"resource-kind-changed", nil, []edit{{group, "    scope:", "    listKind: Orders\n    scope:"}}, "error resource-kind-changed: the list kind of orders was OrderList and is Orders"},
		{"resource-scope-changed", nil, []edit{{group, "Namespaced", "Cluster"}}, "error resource-scope-changed: the scope of orders was Namespaced and is Cluster"},
		{"resource-verb-removed", nil, []edit{{group, "    scope:", "    verbs: [create, delete, get, list, patch, update, watch]\n    scope:"}}, "error resource-verb-removed: orders no longer has the verb deletecollection"},
		{"resource-unstored", nil, []edit{{group, "storage: true", "storage: false"}}, "error resource-unstored: objects of orders are no longer stored"},
		{"resource-name-format-changed", nil, []edit{{group, "    scope:", "    nameFormat: dns1123-label\n    scope:"}}, "error resource-name-format-changed: the name format of orders was dns1123-subdomain and is dns1123-label"},
		{"resource-short-name-removed", nil, []edit{{group, "[ord]", "[o]"}}, "warning resource-short-name-removed: orders no longer has the short name ord"},
		{"resource-field-label-removed", nil, []edit{{group, "name: spec.state", "name: state"}}, "error resource-field-label-removed: orders no longer has the field label spec.state"},
		{"resource-column-removed", nil, []edit{{group, "name: Total", "name: Sum"}}, "warning resource-column-removed: orders no longer has the column Total"},
		{"resource-replacement-unstable", nil, []edit{{group, "    scope:", "    deprecated: {since: \"1.2\", replacement: shop/v2beta1 Order}\n    scope:"}}, "error resource-replacement-unstable: v1 orders gives way to shop/v2beta1 Order, which is less stable"},
		{"resource-update-conditional", nil, []edit{{group, "    scope:", "    conditionalUpdate: true\n    scope:"}}, "error resource-update-conditional: an update of orders must say the version that it replaces"},
		{"resource-dependents-changed", nil, []edit{{group, "    scope:", "    dependents: orphan\n    scope:"}}, "error resource-dependents-changed: the dependents of orders were deleted and are orphaned"},
		{"resource-grace-changed", nil, []edit{{group, "    scope:", "    graceful: {period: .spec.copies, default: 5, needs: .spec.state}\n    scope:"}}, "error resource-grace-changed: the end of orders took no time and takes the seconds at .spec.copies or 5 where there is .spec.state"},
		{"resource-name-protected", []edit{{group, "    scope:", "    protectedNames: [first]\n    scope:"}}, []edit{{group, "    scope:", "    protectedNames: [first, last]\n    scope:"}}, "error resource-name-protected: orders last may no longer be deleted"},
		{"subresource-removed", nil, []edit{{group, "      status: {}\n", ""}}, "error subresource-removed: the subresource status of orders is gone"},
		{"subresource-verb-removed", nil, []edit{{group, "status: {}", "status: {verbs: [get, update]}"}}, "error subresource-verb-removed: orders/status no longer has the verb patch"},
		{"subresource-kind-changed", []edit{{"schemas/shop/v1/Parcel.yaml", "", "$id: shop/v1/Parcel\ndescription: What is sent.\nx-cluster-kind: true\ntype: object\n"}}, []edit{{"schemas/shop/v1/Parcel.yaml", "", "$id: shop/v1/Parcel\ndescription: What is sent.\nx-cluster-kind: true\ntype: object\n"}, {group, "status: {}", "status: {schema: /shop/v1/Parcel}"}}, "error subresource-kind-changed: the kind of orders/status was shop/v1.Order and is shop/v1.Parcel"},
		{"subresource-version-removed", []edit{{group, "status: {}", "status: {alsoAccepts: [shop/v0]}"}}, nil, "error subresource-version-removed: orders/status no longer accepts bodies of shop/v0"},
		{"endpoint-changed", nil, []edit{{group, "status: {}", "status: {endpoint: log, verbs: [get, patch, update]}"}}, "error endpoint-changed: orders/status did status and does log"},
		{"scale-path-changed", []edit{{order, "  Item:\n", "      wanted:\n        description: As copies.\n        type: integer\n        x-cluster-binary: 4\n  Item:\n"}}, []edit{{order, "  Item:\n", "      wanted:\n        description: As copies.\n        type: integer\n        x-cluster-binary: 4\n  Item:\n"}, {group, "specReplicas: .spec.copies", "specReplicas: .spec.wanted"}}, "error scale-path-changed: the scale of orders reads and writes other fields"},
		{"type-removed", []edit{{"schemas/shop/v1/Parcel.yaml", "", "$id: shop/v1/Parcel\ndescription: What is sent.\nx-cluster-kind: true\ntype: object\n"}}, nil, "openapi/released/schemas/shop/v1/Parcel.yaml:1: error type-removed: the kind Parcel is gone"},
		{"field-removed", nil, []edit{{order, "      sizes:\n        description: Wanted sizes, the best first.\n        type: array\n        items: {type: string}\n        x-cluster-binary: 2\n", ""}}, "openapi/released/schemas/shop/v1/Order.yaml:50: error field-removed: the field Order.spec.items[].sizes is gone"},
		{"field-type-changed", nil, []edit{{order, copies, "        format: int64\n        minimum: 1\n        maximum: 9\n"}}, "error field-type-changed: Order.spec.copies was int32 and is int64"},
		{"field-type-changed from a value to a list", nil, []edit{{order, "items: {type: string}", "items: {type: array, items: {type: string}}"}}, "error field-type-changed: Order.spec.items[].sizes[] was string and is array"},
		{"field-required", nil, []edit{{order, "required: [state]", "required: [state, copies]"}, {order, "        x-cluster-binary: 2\n      items", "        x-cluster-presence: implicit\n        x-cluster-binary: 2\n      items"}}, "error field-required: Order.spec.copies becomes required\nerror field-presence-changed: the presence of Order.spec.copies was the usual one and is implicit"},
		{"field-required by a new field", nil, []edit{{order, "required: [state]", "required: [state, note]"}, {order, "  Item:\n", "      note:\n        description: Words of the customer.\n        type: string\n        x-cluster-binary: 4\n  Item:\n"}}, "error field-required: the new field Order.spec.note is required"},
		{"field-presence-changed", nil, []edit{{order, "maximum: 9\n", "maximum: 9\n        x-cluster-presence: explicit\n"}}, "error field-presence-changed: the presence of Order.spec.copies was the usual one and is explicit"},
		{"field-default-changed", nil, []edit{{order, "default: Open", "default: Paid"}}, `error field-default-changed: the default of Order.spec.state was "Open" and is "Paid"`},
		{"field-default-changed from none", nil, []edit{{order, "minimum: 1\n", "minimum: 1\n        default: 2\n"}}, "error field-presence-changed: the presence of Order.spec.copies was the usual one and is explicit\nerror field-default-changed: the default of Order.spec.copies was none and is 2"},
		{"field-gated", nil, []edit{{order, "minimum: 1\n", "minimum: 1\n        x-cluster-feature-gate: Copies\n"}}, "warning field-gated: Order.spec.copies is dropped unless the feature gate Copies is on"},
		{"field-immutable", nil, []edit{{order, "minimum: 1\n", "minimum: 1\n        x-cluster-immutable: true\n"}}, "error field-immutable: Order.spec.copies can no longer change"},
		{"field-binary-number-changed", nil, []edit{{order, "maximum: 9\n        x-cluster-binary: 2", "maximum: 9\n        x-cluster-binary: 7"}}, "error field-binary-number-changed: the binary number of Order.spec.copies was 2 and is 7: write x-cluster-binary: 2"},
		{"field-binary-number-reused", nil, []edit{{order, "      sizes:\n", "      tastes:\n"}}, "openapi/released/schemas/shop/v1/Order.yaml:50: error field-removed: the field Order.spec.items[].sizes is gone\nerror field-binary-number-reused: Order.spec.items[].tastes takes the binary number 2, which was that of sizes"},
		{"enum-value-removed", nil, []edit{{order, "[Open, Paid]", "[Open]"}}, `error enum-value-removed: Order.spec.state no longer takes "Paid"`},
		{"enum-added", nil, []edit{{order, "pattern: ^[a-z]+$", "enum: [a, b]"}}, "error enum-added: Order.spec.items[].sku takes only a, b now"},
		{"bounds-tightened", nil, []edit{{order, "minimum: 1\n", "minimum: 2\n"}, {order, "maximum: 9\n", "exclusiveMaximum: 9\n"}, {order, "items: {type: string}", "items: {type: string, maxLength: 3}\n        maxItems: 4\n        minItems: 1"}}, "error bounds-tightened: the minimum of Order.spec.copies allows less\nerror bounds-tightened: the maximum of Order.spec.copies allows less\nerror bounds-tightened: minItems of Order.spec.items[].sizes allows less\nerror bounds-tightened: maxItems of Order.spec.items[].sizes allows less\nerror bounds-tightened: maxLength of Order.spec.items[].sizes[] allows less"},
		{"pattern-changed", nil, []edit{{order, "^[a-z]+$", "^[a-c]+$"}}, "error pattern-changed: Order.spec.items[].sku has to match ^[a-c]+$"},
		{"rule-added", nil, []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{if: {state: [Paid]}, then: {copies: set}}]"}, {order, "[sku]\n", "[sku]\n        x-cluster-unique: [sku]\n"}}, "error rule-added: Order.spec has to keep a rule: copies\nerror bounds-tightened: elements of Order.spec.items may not have the same sku"},
		{"a rule that allows more", []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{then: {state: [Paid]}}]"}}, []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{then: {state: [Paid, Open]}}]"}}, ""},
		{"a rule for less", []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{then: {copies: set}}]"}}, []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{if: {state: [Paid]}, then: {copies: set}, why: pay}]"}}, ""},
		{"a rule that allows less", []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{then: {state: [Paid, Open]}}]"}}, []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{then: {state: [Paid]}}]"}}, "error rule-added: Order.spec has to keep a rule: state"},
		{"a rule for more", []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{if: {copies: [\"1\"]}, then: {state: [Paid]}}]"}}, []edit{{order, "    required: [state]", "    required: [state]\n    x-cluster-rules: [{if: {copies: [\"1\", \"2\"]}, then: {state: [Paid]}}]"}}, "error rule-added: Order.spec has to keep a rule: state"},
		{"list-semantics-changed", nil, []edit{{order, "        x-cluster-list-type: map\n        x-cluster-list-map-keys: [sku]\n", ""}}, "error list-semantics-changed: the list Order.spec.items was map by sku and is atomic"},
		{"map-semantics-changed", nil, []edit{{order, "    required: [state]", "    x-cluster-map-type: atomic\n    required: [state]"}}, "error map-semantics-changed: Order.spec changes between atomic and granular"},
		{"patch-semantics-changed", nil, []edit{{order, "[merge]", "[merge, retainKeys]"}}, "error patch-semantics-changed: strategic merge patches treat Order.spec.items differently"},
		{"preferred-version-advanced", nil, addVersion("storage: true", "storedAs: shop/v1/Order", columns, ""), "error preferred-version-advanced: the preferred version of shop.example.org moves from v1 to v2, which the last release did not serve"},
		{"storage-version-advanced", nil, append(addVersion(), edit{group, "storage: true", "storedAs: shop/v2/Order"}, edit{group, columns, ""}), "error storage-version-advanced: orders would be stored as v2, which the last release cannot read\nerror preferred-version-advanced: the preferred version of shop.example.org moves from v1 to v2, which the last release did not serve"},

		// The deprecation policy.
		{"an alpha version may change", alpha(), alpha(edit{"schemas/shop/v1alpha1/Order.yaml", "[Open, Paid]", "[Open]"}), `warning enum-value-removed: Order.spec.state no longer takes "Paid"`},
		{"an alpha version may go", alpha(), []edit{{order, "", ""}, {group, "", ""}}, "openapi/released/openapi/shop/v1alpha1.yaml:1: warning group-version-removed: shop/v1alpha1 is no longer served"},
		{"a beta version may not go", beta(), []edit{{order, "", ""}, {group, "", ""}}, "openapi/released/openapi/shop/v1beta1.yaml:1: error group-version-removed: shop/v1beta1 is no longer served"},
		{"a beta version may go when it was deprecated", beta(edit{"openapi/shop/v1beta1.yaml", "    scope:", "    deprecated: {since: \"1.2\"}\n    scope:"}), []edit{{order, "", ""}, {group, "", ""}}, "openapi/released/openapi/shop/v1beta1.yaml:1: warning group-version-removed: shop/v1beta1 is no longer served"},
		{"a stable version may not go although it was deprecated", []edit{{group, "    scope:", "    deprecated: {since: \"1.2\"}\n    scope:"}}, []edit{{group, "", ""}}, "openapi/released/openapi/shop/v1.yaml:1: error group-version-removed: shop/v1 is no longer served"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, c.now)
			write(t, filepath.Join(root, filepath.FromSlash(released)), c.before)
			var out strings.Builder
			breaking, err := Run(root, &out)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			for _, line := range lines[:len(lines)-1] {
				if !strings.HasPrefix(line, released) {
					if pos, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(pos, ".yaml:") {
						line = rest
					}
				}
				got = append(got, line)
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
			if want := strings.Contains("\n"+out.String(), ": error "); breaking != want {
				t.Errorf("breaking is %v", breaking)
			}
		})
	}
}

// columns are those of the orders, which only the version has that is stored.
const columns = `    columns:
      - {name: Name, type: string, path: .metadata.name, description: Name of the order.}
      - {name: Total, type: string, cell: total, description: What the order costs.}
`

// addVersion adds shop/v2, preferred, with the same types and some words replaced.
func addVersion(words ...string) []edit {
	shop := filepath.Join("..", "..", "testdata", "shop")
	orderText, _ := os.ReadFile(filepath.Join(shop, order))
	groupText, _ := os.ReadFile(filepath.Join(shop, group))
	to := strings.NewReplacer(append(words, "shop/v1", "shop/v2", "versionPriority: 10", "versionPriority: 20")...)
	return []edit{{"schemas/shop/v2/Order.yaml", "", to.Replace(string(orderText))}, {"openapi/shop/v2.yaml", "", to.Replace(string(groupText))}}
}

// Every rule has a test that is called after it, and every finding a rule.
func TestEveryRuleIsTested(t *testing.T) {
	text, err := os.ReadFile("compat_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules {
		if !strings.Contains(string(text), "{\""+r.ID) {
			t.Errorf("no test is called %s", r.ID)
		}
	}
	for _, name := range []string{"resource.go", "field.go", "bounds.go"} {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(code), `c.find(s, "`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			if levelOf(id, scope{}) == Error && !known(id) {
				t.Errorf("%s reports %s, which is not in Rules", name, id)
			}
		}
	}
}

func known(id string) bool {
	for _, r := range Rules {
		if r.ID == id {
			return true
		}
	}
	return false
}

func TestWithoutAReleaseNothingBreaks(t *testing.T) {
	root := t.TempDir()
	write(t, root, nil)
	var out strings.Builder
	if breaking, err := Run(root, &out); breaking || err != nil || !strings.Contains(out.String(), "does not exist") {
		t.Errorf("breaking %v, error %v, %s", breaking, err, out.String())
	}
}

func TestWrongReleasedDocumentsAreNamed(t *testing.T) {
	root := t.TempDir()
	write(t, root, nil)
	write(t, filepath.Join(root, filepath.FromSlash(released)), []edit{{profile, "mediaTypeWord: example\n", ""}})
	if _, err := Run(root, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "the released documents cannot be read") {
		t.Errorf("error %v", err)
	}
}
