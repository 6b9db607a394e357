package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ordered is a module with a kind in two versions: a renamed field, a field in one version only, a column, a label
// of a field, and a scale.
func ordered(t *testing.T) (root string) {
	t.Helper()
	root = newModule(t, [][3]string{
		{"schemas/fleet/v1beta1/Order.yaml", "", "description: An order of bread.\nproperties:\n  metadata: {}\n  spec: {description: The wanted goods.}\n  status: {description: The goods so far.}\n$defs:\n" +
			"  OrderSpec:\n    description: The wanted goods.\n    properties:\n      amount: {description: Number of loaves., format: int32, default: 1, minimum: 0}\n      note: {description: Words for the baker., type: string, maxLength: 100}\n" +
			"  OrderStatus:\n    description: The goods so far.\n    properties:\n      baked: {description: Loaves that are ready., format: int32, minimum: 0}\n"},
		{"openapi/fleet/v1beta1.yaml", "x-cluster-resources:\n", `x-cluster-resources:
  orders:
    kind: Order
    scope: Namespaced
    # Bakers count the changes of an order.
    generation: true
    hooks: [check]
    reads: [Truck]
    subresources: {status: {}, scale: {specReplicas: .spec.amount, statusReplicas: .status.baked}}
    columns:
      - {name: Amount, type: integer, path: .spec.amount, description: Number of loaves.}
      - {name: Many, shows: 'self.spec.amount > 9 ? "yes" : "no"', description: Whether it takes the large oven.}
    selectable: [spec.amount, spec.note]
`},
		{"schemas/fleet/v1/Order.yaml", "", "x-cluster-same-as: /fleet/v1beta1/Order\n$defs:\n  OrderSpec:\n    properties:\n      amount: null\n" +
			"      loaves: {description: Number of loaves., format: int32, default: 1, minimum: 0, x-cluster-renamed-from: amount}\n      oven: {description: The name of the oven., type: string}\n"},
		{"schemas/fleet/v1/Truck.yaml", "", "x-cluster-same-as: /fleet/v1beta1/Truck\n"},
		{"openapi/fleet/v1.yaml", "", `openapi: 3.0.3
info: {title: fleet.example.com/v1, version: unversioned}
paths: {}
x-cluster-group: {name: fleet.example.com, groupPriority: 1000, versionPriority: 50}
x-cluster-resources:
  trucks:
    kind: Truck
    scope: Namespaced
    storedAs: fleet/v1beta1/Truck
    subresources: {status: {}}
  orders:
    kind: Order
    scope: Namespaced
    storedAs: fleet/v1beta1/Order
    carries: [.spec.oven]
    subresources: {status: {}, scale: {specReplicas: .spec.loaves, statusReplicas: .status.baked}}
    selectable: [spec.amount, spec.note, {name: spec.loaves, aliasOf: spec.amount}]
`}})
	return root
}

// All that belongs to the stored version moves, nothing changes for clients, and the way back is the same.
func TestPromoteStorage(t *testing.T) {
	root := ordered(t)
	run := func(args string) string {
		t.Helper()
		var out bytes.Buffer
		if err := Run(root, strings.Fields(args), &out); err != nil {
			t.Fatalf("%s: %v %s", args, err, out.String())
		}
		return out.String()
	}
	rows := func() string {
		t.Helper()
		run("generate")
		text, err := os.ReadFile(filepath.Join(root, "internal", "gen", "fleet", "v1beta1", "catalog.go"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run("release-baseline --version v0.1.0")
	first := rows()
	said := run("promote storage v1")
	for _, want := range []string{"Objects of orders, trucks are stored as fleet/v1, and no longer as fleet/v1beta1.", "Truck: validate", "Rename the method RestartTruck to RestartTruckInFleetV1beta1.\n", "Order: check; rename spec.amount to spec.loaves\n", "store migrate", "leads to release v0.1.0", "prefer fleet/v1beta1"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %s: %s", want, said)
		}
	}
	run("compat")
	files := readFiles(t, filepath.Join(root, "openapi", "fleet"))
	for name, wants := range map[string][]string{
		"v1.yaml": {"# Bakers count the changes of an order.\n    generation: true\n", "path: .spec.loaves, description", "self.spec.loaves > 9", "hooks: [validate]", "reads: [Truck]", "hooks: [check]",
			"selectable: [{name: spec.amount, path: .spec.loaves}, spec.note, {aliasOf: spec.amount, name: spec.loaves}]"},
		"v1beta1.yaml": {"scope: Namespaced\n    storedAs: fleet/v1/Order\n", "carries: [.spec.oven]", "specReplicas: .spec.amount"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s lacks %s:\n%s", name, want, files[name])
			}
		}
	}
	if strings.Contains(files["v1.yaml"], "storedAs") || strings.Contains(files["v1beta1.yaml"], "validate") {
		t.Errorf("a key stays:\n%s\n%s", files["v1.yaml"], files["v1beta1.yaml"])
	}
	if rows() == first {
		t.Error("the rows are as before")
	}
	run("promote storage fleet/v1beta1")
	alias := "\t\t\t{Name: \"spec.loaves\", AliasOf: \"spec.amount\"},\n" // of v1, which v1beta1 shows too since then
	if again := rows(); strings.Replace(again, alias, "", 1) != first {
		t.Errorf("after the way back the rows are\n%s\nand were\n%s", again, first)
	}
}

// A move that cannot be, or may not be yet, changes nothing.
func TestPromoteRefuses(t *testing.T) {
	for _, c := range []struct {
		args string
		edit [][3]string
		want string
		code int
	}{
		{"v2", nil, `there is no version "v2": write one of fleet/v1, fleet/v1beta1`, 2},
		{"v1beta1", nil, "fleet/v1beta1 stores all of its kinds itself already", 2},
		{"v1", [][3]string{{"openapi/released/release.yaml", "", "version: v0.1.0\ndate: 2026-01-01\nserved: {fleet/v1beta1: v0.1.0}\n"}}, "release v0.1.0 does not serve fleet/v1, so it could not read the objects", 1},
		{"v1", [][3]string{{"openapi/fleet/v1.yaml", "  trucks:\n    kind: Truck\n    scope: Namespaced\n    storedAs: fleet/v1beta1/Truck\n    subresources: {status: {}}\n",
			"  trucks: {kind: Truck, scope: Namespaced, storedAs: fleet/v1beta1/Truck, subresources: {status: {}}}\n"}}, "write trucks without braces", 2},
	} {
		root := ordered(t)
		for _, e := range c.edit {
			edit(t, root, e)
		}
		before := readFiles(t, root)
		err := Run(root, []string{"promote", "storage", c.args}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
		if changed := changes(before, readFiles(t, root)); len(changed) > 0 {
			t.Errorf("%s: changed %v", c.want, changed)
		}
	}
}
