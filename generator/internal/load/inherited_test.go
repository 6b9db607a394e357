package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// inherited are further versions of the historic documents, which say only what differs.
var inherited = map[string]string{
	"openapi/shop/v3.yaml": `
openapi: 3.0.3
info: {title: shop, version: v3}
x-cluster-group: {name: shop.<groupSuffix>, groupPriority: 100, versionPriority: 30, lifecycle: {since: "1.2"}}
x-cluster-resources:
  parcels: {kind: Parcel, scope: Namespaced, storedAs: shop/v2/Parcel, carries: [.spec.weight], subresources: {status: {lifecycle: {since: "1.3"}}},
    lifecycle: {before: {"1.3": {carries: null}}}}
  boxes: {kind: Box, scope: Namespaced}
paths: {}
`,
	"openapi/shop/v4.yaml": `
openapi: 3.0.3
info: {title: shop, version: v4}
x-cluster-group: {name: shop.<groupSuffix>, groupPriority: 100, versionPriority: 40}
x-cluster-resources:
  lids: {kind: Lid, scope: Namespaced, lifecycle: {until: "1.2"}}
paths: {}
`,
	"schemas/shop/v3/Parcel.yaml": `
x-cluster-same-as: /shop/v2/Parcel
$defs:
  ParcelSpec: {properties: {weight: {x-cluster-lifecycle: {until: "1.3"}}}}
`,
	"schemas/shop/v3/Box.yaml": "x-cluster-same-as: /shop/v2/Crate\ndescription: A box of parcels.\n",
	"schemas/shop/v4/Lid.yaml": "description: Closes a box.\nproperties:\n  metadata: {}\n  size: {description: Length in millimetres., type: integer, format: int32}\n",
}

// TestInheritedPresence: a document that is the same as another has its parts in the releases that it says itself, and a
// version without resources is not there.
func TestInheritedPresence(t *testing.T) {
	root := historicProject(t, inherited)
	for release, want := range map[string]string{
		"1.1": "shop/v1 shop/v4",
		"1.2": "shop/v1 shop/v2 shop/v3 box size spec weight=1 note=3 train=4.2 insured=5 required [weight]",
		"1.3": "shop/v1 shop/v2 shop/v3 box size spec route=2 note=3 boat=4.1 train=4.2 insured=5 required [route]",
	} {
		m, err := At(root, release)
		if err != nil {
			t.Errorf("%s: %v", release, err)
			continue
		}
		if got := versionsOfShop(m); got != want {
			t.Errorf("%s: %s, want %s", release, got, want)
		}
	}
	if _, err := All(root); err != nil {
		t.Error(err)
	}
}

func versionsOfShop(m *model.Model) string {
	var out []string
	for _, gv := range m.GroupVersions {
		if strings.HasPrefix(gv.Dir, "shop/") {
			out = append(out, gv.Dir)
		}
	}
	types := model.TypesByID(m.GroupVersions)
	if box := types["shop/v3.Box"]; box != nil {
		out = append(out, "box", box.Schema.Properties[len(box.Schema.Properties)-1].Name)
	}
	spec := types["shop/v3.ParcelSpec"]
	if spec == nil {
		return strings.Join(out, " ")
	}
	out = append(out, "spec")
	for _, p := range spec.Schema.Properties {
		number := fmt.Sprint(p.Schema.Binary)
		if p.Schema.BinaryOuter != 0 {
			number = fmt.Sprintf("%d.%s", p.Schema.BinaryOuter, number)
		}
		out = append(out, p.Name+"="+number)
	}
	return strings.Join(append(out, fmt.Sprint("required ", spec.Schema.Required)), " ")
}

// TestGatesHaveAHistory: the gates of a release have its stages.
func TestGatesHaveAHistory(t *testing.T) {
	root := historicProject(t, map[string]string{"openapi/promises.yaml": `
featureGates:
  Always: {stage: beta}
  Grown: {stage: stable, since: "1.3", lifecycle: {since: "1.1", before: {"1.3": {stage: beta, enabled: false, since: null}, "1.2": {stage: alpha, enabled: null}}}}
  Over: {stage: stable, locked: false, lifecycle: {until: "1.2"}}
`})
	for release, want := range map[string]string{
		"1.0": "Always beta on; Over stable on",
		"1.1": "Always beta on; Grown alpha; Over stable on",
		"1.2": "Always beta on; Grown beta",
		"1.3": "Always beta on; Grown stable on locked since 1.3",
	} {
		m, err := At(root, release)
		if err != nil {
			t.Fatal(err)
		}
		var gates []string
		for _, name := range sortedKeys(m.Promises.Gates) {
			g := m.Promises.Gates[name]
			text := name + " " + g.Stage
			if g.On() {
				text += " on"
			}
			if g.Fixed() {
				text += " locked"
			}
			if g.Since != "" {
				text += " since " + g.Since
			}
			gates = append(gates, text)
		}
		if got := strings.Join(gates, "; "); got != want {
			t.Errorf("%s: %s, want %s", release, got, want)
		}
	}
}
