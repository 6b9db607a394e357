package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// historic are documents with a history, on top of those of testdata/shop.
var historic = map[string]string{
	"openapi/releases.yaml": `
releases: ["1.0", "1.1", "1.2", "1.3"]
default: "1.1"
dates: {"1.0": 2026-01-02}
`,
	"openapi/shop/v2.yaml": `
openapi: 3.0.3
info: {title: shop, version: v2}
x-cluster-group: {name: shop.<groupSuffix>, groupPriority: 100, versionPriority: 20, lifecycle: {since: "1.2"}}
x-cluster-resources:
  parcels:
    kind: Parcel
    scope: Namespaced
    subresources:
      status: {lifecycle: {since: "1.3"}}
    columns:
      - {name: Weight, path: .spec.weight, type: integer, description: How heavy the parcel is, lifecycle: {since: "1.3"}}
  crates:
    kind: Crate
    scope: Namespaced
    lifecycle: {until: "1.3"}
paths: {}
`,
	"schemas/shop/v2/Parcel.yaml": `
description: A parcel on its way.
properties:
  metadata: {}
  spec: {description: What is sent., $ref: "#/$defs/ParcelSpec"}
  status: {description: What was seen., $ref: "#/$defs/ParcelStatus"}
$defs:
  ParcelSpec:
    description: What is sent.
    required: [weight, route]
    x-cluster-one-of: [boat, train]
    x-cluster-rules:
    - {if: {insured: [true]}, then: {note: set}, lifecycle: {since: "1.3"}}
    - {if: {note: set}, then: {insured: [true]}, why: says nothing, lifecycle: {until: "1.3"}}
    x-cluster-binary-outer: {4: one-of}
    properties:
      weight:
        description: Weight in grams.
        type: integer
        format: int32
        maximum: 9
        x-cluster-lifecycle: {before: {"1.3": {maximum: 5, default: null}}}
        default: 1
      route: {description: The way it goes., type: string, x-cluster-lifecycle: {since: "1.3"}}
      note: {description: What is written on it., type: string}
      boat: {description: The boat that carries it., type: string, x-cluster-lifecycle: {since: "1.3"}}
      train: {description: The train that carries it., type: string}
      insured: {description: Whether it is insured., type: boolean}
  ParcelStatus:
    description: What was seen.
    properties:
      seen: {description: Whether it was seen., type: boolean}
`,
	"schemas/shop/v2/Crate.yaml": `
description: A crate of parcels.
x-cluster-lifecycle: {until: "1.3"}
properties:
  metadata: {}
  size: {description: Length in millimetres., type: integer, format: int32}
`,
}

func historicProject(t *testing.T, more map[string]string) string {
	t.Helper()
	root := project(t, "")
	writeFiles(t, root, historic)
	writeFiles(t, root, more)
	return root
}

// TestAt: a model of documents with a history has what its release has, and binary numbers never move.
func TestAt(t *testing.T) {
	root := historicProject(t, nil)
	for release, want := range map[string]string{
		"":    "1.1 no v2",
		"1.0": "1.0 no v2",
		"1.2": "1.2 crates[] parcels[status-] weight=1 max 5 note=3 train=4.2 insured=5 required [weight] rules 1says nothing",
		"1.3": "1.3 parcels[status Weight] weight=1 max 9 default 1 route=2 note=3 boat=4.1 train=4.2 insured=5 required [weight route] rules 1",
	} {
		m, err := At(root, release)
		if err != nil {
			t.Errorf("%s: %v", release, err)
			continue
		}
		if got := summary(m); got != strings.Replace(want, "[status-]", "[]", 1) {
			t.Errorf("%s: %s, want %s", release, got, want)
		}
	}
}

// TestSameAsLacksParts: a list of names next to x-cluster-same-as names no property that the release lacks.
func TestSameAsLacksParts(t *testing.T) {
	root := historicProject(t, map[string]string{"schemas/shop/v2/Crate.yaml": `
description: A crate of parcels.
properties:
  metadata: {}
  spec: {description: What is sent., $ref: "#/$defs/CrateSpec"}
$defs:
  CrateSpec:
    x-cluster-same-as: /shop/v2/Parcel#/$defs/ParcelSpec
    required: [weight, route, note]
    x-cluster-one-of: [train, boat]
`})
	for release, want := range map[string]string{"1.2": "[weight note]", "1.3": "[weight route note]"} {
		m, err := At(root, release)
		if err != nil {
			t.Errorf("%s: %v", release, err)
			continue
		}
		if got := fmt.Sprint(model.TypesByID(m.GroupVersions)["shop/v2.CrateSpec"].Schema.Required); got != want {
			t.Errorf("%s: required are %s, want %s", release, got, want)
		}
	}
}

// summary names the parts that a release has of the second version of the shop.
func summary(m *model.Model) string {
	out := m.Releases.Now
	i := slices.IndexFunc(m.GroupVersions, func(gv *model.GroupVersion) bool { return gv.Dir == "shop/v2" })
	if i < 0 {
		return out + " no v2"
	}
	gv := m.GroupVersions[i]
	for _, res := range gv.Resources {
		var parts []string
		for _, sub := range res.Subresources {
			parts = append(parts, sub.Name)
		}
		for _, c := range res.Columns {
			if c.Name == "Weight" {
				parts = append(parts, c.Name)
			}
		}
		out += " " + res.Plural + "[" + strings.Join(parts, " ") + "]"
	}
	for _, typ := range gv.Types {
		if typ.Name != "ParcelSpec" {
			continue
		}
		for _, p := range typ.Schema.Properties {
			out += " " + p.Name + "="
			if p.Schema.BinaryOuter != 0 {
				out += fmt.Sprint(p.Schema.BinaryOuter) + "."
			}
			out += fmt.Sprint(p.Schema.Binary)
			if p.Schema.Maximum != nil {
				out += fmt.Sprint(" max ", *p.Schema.Maximum)
			}
			if p.Schema.Default != nil {
				out += " default " + string(p.Schema.Default)
			}
		}
		out += fmt.Sprint(" required ", typ.Schema.Required, " rules ", len(typ.Schema.Rules), typ.Schema.Rules[0].Why)
	}
	return out
}

// TestLifecycleMistakes: each mistake in a history is reported with its line and a remedy.
func TestLifecycleMistakes(t *testing.T) {
	crate := func(lifecycle string) map[string]string {
		return map[string]string{"schemas/shop/v2/Crate.yaml": strings.Replace(historic["schemas/shop/v2/Crate.yaml"], `{until: "1.3"}`, lifecycle, 1)}
	}
	for want, c := range map[string]struct {
		release string
		files   map[string]string
	}{
		`openapi/releases.yaml:2: there is no release 9; write one of 1.0, 1.1, 1.2, 1.3`:                       {release: "9"},
		`schemas/shop/v2/Crate.yaml:3: there is no release 1.4; write one of 1.0, 1.1, 1.2, 1.3`:                {"1.2", crate(`{until: "1.4"}`)},
		`schemas/shop/v2/Crate.yaml:3: no release is before 1.0; drop it`:                                       {"1.2", crate(`{since: "1.0"}`)},
		`schemas/shop/v2/Crate.yaml:3: the part ends with 1.1, and begins with 1.2; write a later one in until`: {"1.2", crate(`{since: "1.2", until: "1.1"}`)},
		`schemas/shop/v2/Crate.yaml:3: the part begins with 1.2, so there is nothing before 1.1; drop it`:       {"1.2", crate(`{since: "1.2", before: {"1.1": {description: A.}}}`)},
		`openapi/releases.yaml:1: there is no release; write the releases, oldest first`:                        {"", map[string]string{"openapi/releases.yaml": "releases: []\n"}},
		`openapi/releases.yaml:1: a release is here twice; write each once`:                                     {"", map[string]string{"openapi/releases.yaml": "releases: [\"1.0\", \"1.0\"]\n"}},
		`openapi/releases.yaml:1: the document names no releases; add releases`:                                 {"", map[string]string{"openapi/releases.yaml": "default: \"1.0\"\n"}},
		`openapi/releases.yaml:1: there is no release 2.0; write one of 1.0`:                                    {"", map[string]string{"openapi/releases.yaml": "releases: [\"1.0\"]\ndefault: \"2.0\"\n"}},
		`openapi/releases.yaml:3: "May" is not a date; write one like 2026-11-28`:                               {"", map[string]string{"openapi/releases.yaml": "releases: [\"1.0\"]\ndates:\n  \"1.0\": May\n"}},
		`schemas/shop/v2/Parcel.yaml:22: there is no default to take away; drop it`:                             {"1.2", map[string]string{"schemas/shop/v2/Parcel.yaml": strings.Replace(historic["schemas/shop/v2/Parcel.yaml"], "        default: 1\n", "", 1)}},
		`schemas/shop/v2/Crate.yaml:3: the lifecycle says nothing; write since, until or before`:                {"1.2", crate(`{}`)},
	} {
		_, err := At(historicProject(t, c.files), c.release)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	root := historicProject(t, nil)
	if err := os.Remove(filepath.Join(root, "openapi", "releases.yaml")); err != nil {
		t.Fatal(err)
	}
	for release, want := range map[string]string{
		"":    "a lifecycle in a project that names no releases; add openapi/releases.yaml with the releases, oldest first",
		"1.2": "the release 1.2 is asked for, and the project names none",
	} {
		if _, err := At(root, release); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// yard are documents of a kind whose stored version moves from release to release.
var yard = map[string]string{
	"openapi/releases.yaml": "releases: [\"1.0\", \"1.1\", \"1.2\", \"1.3\"]\n",
	"openapi/yard/v1alpha1.yaml": `
openapi: 3.0.3
info: {title: yard, version: v1alpha1}
x-cluster-group: {name: yard.<groupSuffix>, groupPriority: 50, versionPriority: 1, lifecycle: {until: "1.1"}}
x-cluster-resources:
  cranes: {kind: Crane, scope: Namespaced}
paths: {}
`,
	"openapi/yard/v1.yaml": `
openapi: 3.0.3
info: {title: yard, version: v1}
x-cluster-group: {name: yard.<groupSuffix>, groupPriority: 60, versionPriority: 10, lifecycle: {since: "1.1"}}
x-cluster-resources:
  cranes:
    kind: Crane
    scope: Namespaced
    storedAs: yard/v2/Crane
    lifecycle: {before: {"1.3": {storedAs: null, generation: true}}}
paths: {}
`,
	"openapi/yard/v2.yaml": `
openapi: 3.0.3
info: {title: yard, version: v2}
x-cluster-group: {name: yard.<groupSuffix>, groupPriority: 60, versionPriority: 20, lifecycle: {since: "1.2"}}
x-cluster-resources:
  cranes:
    kind: Crane
    scope: Namespaced
    generation: true
    lifecycle: {before: {"1.3": {storedAs: yard/v1/Crane, generation: null}}}
paths: {}
`,
	"schemas/yard/v1alpha1/Crane.yaml": "description: Lifts what is heavy.\nproperties:\n  metadata: {}\n  load: {description: Most tonnes., type: integer, format: int32}\n",
	"schemas/yard/v1/Crane.yaml":       "description: Lifts what is heavy.\nproperties:\n  metadata: {}\n  lifts: {description: Most kilograms., type: string}\n",
	"schemas/yard/v2/Crane.yaml":       "x-cluster-same-as: /yard/v1/Crane\nproperties:\n  lifts: null\n  weight: {description: Most kilograms., type: string, x-cluster-renamed-from: lifts}\n",
}

// TestStorageMoves: each release stores the version that it says, also one that no other release knows, and the parts of
// all releases are nevertheless one model.
func TestStorageMoves(t *testing.T) {
	root := project(t, "")
	writeFiles(t, root, yard)
	m, err := All(root)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, of := range append(m.Others, m, m.Whole()) {
		if got += " " + of.Releases.Now + ":"; of == m.Whole() {
			got += "all"
		}
		for _, gv := range of.GroupVersions {
			for _, res := range gv.Resources {
				if strings.HasPrefix(gv.Dir, "yard/") {
					got += fmt.Sprint(" ", gv.Version, " as ", res.StorageVersion)
				}
			}
		}
	}
	want := " 1.0: v1alpha1 as v1alpha1 1.1: v1 as v1 1.2: v1 as v1 v2 as v1 1.3: v1 as v2 v2 as v2 1.3:all v1 as v1 v1alpha1 as v1alpha1 v2 as v2"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBuiltInTypesOfModules: a module has releases of its own, and built-in types as they usually are.
func TestBuiltInTypesOfModules(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"go.mod":                "module shop.example.com\n",
		"openapi/releases.yaml": "releases: [\"1.0\", \"1.1\"]\n",
		"openapi/shop/v1.yaml": "openapi: 3.0.3\ninfo: {title: shop, version: v1}\npaths: {}\n" +
			"x-cluster-group: {name: shop.example.com, groupPriority: 100, versionPriority: 10}\nx-cluster-resources:\n  orders: {kind: Order, scope: Namespaced}\n",
		"schemas/shop/v1/Order.yaml": "description: What a customer buys.\nproperties:\n  metadata: {}\n  spec: {description: What is wanted., $ref: /core/v1/PodSpec}\n",
	})
	for _, release := range []string{"1.0", "1.1"} {
		m, err := At(root, release)
		if err != nil {
			t.Fatal(err)
		}
		pods := model.TypesByID(m.GroupVersions)["core/v1.PodSpec"]
		var later []string
		for _, p := range pods.Schema.Properties {
			if slices.Contains([]string{"hostUsers", "schedulingGates"}, p.Name) {
				later = append(later, p.Name)
			}
		}
		if !slices.Equal(later, []string{"hostUsers"}) {
			t.Errorf("in %s a pod has %v, want hostUsers, and not the scheduling gates of a later release", release, later)
		}
	}
}
