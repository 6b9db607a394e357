package compat

import (
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

// ship is a custom resource of two versions.
const ship = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.sea.example.org}
spec:
  group: sea.example.org
  scope: Namespaced
  names: {plural: ships, singular: ship, kind: Ship}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b}}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object}
          spec:
            type: object
            x-kubernetes-validations: [{rule: self.crew < 100 && self.from <= self.to}, {rule: "!has(self.tug) || self.crew > 2"}]
            properties:
              crew: {type: integer}
              from: {type: integer}
              to: {type: integer}
              tug: {type: string}
              cargo: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              crew: {type: integer}
              hands: {type: integer}
`

// Changes of custom resource definitions.
func TestCornersOfDefinitions(t *testing.T) {
	alike := edit{old: ship[strings.Index(ship, "          spec:"):strings.Index(ship, "  - name: v2")],
		new: "          spec: {type: object, properties: {crew: {type: integer}, hands: {type: integer}}}\n"}
	none := []edit{{new: "  conversion: {strategy: None}\n", old: ship[strings.Index(ship, "  conversion:"):strings.Index(ship, "  versions:")]}}
	on := func(old, now string) []edit { return []edit{{old: old, new: now}} }
	for _, c := range []struct {
		name, want  string
		before, now []edit
	}{
		{"names are bounded", "E:bounds-tightened", nil, on("metadata: {type: object}", "metadata: {type: object, properties: {name: {type: string, maxLength: 20}}}")},
		{"names have a pattern", "E:pattern-changed", nil, on("metadata: {type: object}", `metadata: {type: object, properties: {name: {type: string, pattern: "^[a-z]+$"}}}`)},
		{"names are bounded as they are anyway", "", nil, on("metadata: {type: object}", "metadata: {type: object, properties: {name: {type: string, maxLength: 253}}}")},
		{"names are no longer bounded", "", on("metadata: {type: object}", "metadata: {type: object, properties: {name: {type: string, maxLength: 20}}}"), nil},
		{"an object is a resource", "E:rule-added", nil, on("x-kubernetes-preserve-unknown-fields: true", "x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true")},
		{"nothing converts", "E:conversion-dropped", nil, none},
		{"the stored version allows less than another", "E:bounds-tightened W:version-values", append([]edit{alike}, none...), append([]edit{alike, {old: "{crew: {type: integer}, hands", new: "{crew: {type: integer, maximum: 99}, hands"}}, none...)},
		{"nothing converts versions that are alike", "", []edit{alike}, append([]edit{alike}, none...)},
		{"a field in one version is lost", "W:round-trip-lost", none, append(on("hands: {type: integer}", "hands: {type: integer}\n              oars: {type: integer}"), none...)},
		{"null may be read", "W:field-nullable", nil, on("tug: {type: string}", "tug: {type: string, nullable: true}")},
		{"null stays null", "E:field-default-changed", on("tug: {type: string}", "tug: {type: string, default: a}"), on("tug: {type: string}", "tug: {type: string, default: a, nullable: true}")},
		{"a rule is two rules", "", nil, on("{rule: self.crew < 100 && self.from <= self.to}", "{rule: self.crew < 100}, {rule: self.from <= self.to}")},
		{"two rules are one", "", on("{rule: self.crew < 100 && self.from <= self.to}", "{rule: self.crew < 100}, {rule: self.from <= self.to}"), nil},
		{"a rule is written from the right", "", nil, on("self.from <= self.to", "self.to >= self.from")},
		{"a rule has a wider bound", "", nil, on("self.crew < 100", "self.crew <= 100")},
		{"a rule has a narrower bound", "E:rule-added", nil, on("self.crew < 100", "self.crew < 99")},
		{"a rule is turned around", "E:rule-added", nil, on("self.from <= self.to", "self.to <= self.from")},
		{"a rule for a new field", "", nil, append(on("{rule: self.crew", `{rule: "!has(self.mast) || self.crew > 9"}, {rule: self.crew`), on("tug: {type", "mast: {type: string}\n              tug: {type")...)},
		{"a rule against a missing new field", "E:rule-added", nil, append(on("{rule: self.crew", `{rule: "has(self.mast) || self.crew > 9"}, {rule: self.crew`), on("tug: {type", "mast: {type: string}\n              tug: {type")...)},
		{"a condition as a choice", "", nil, on("!has(self.tug) || self.crew > 2", "has(self.tug) ? self.crew > 2 : true")},
	} {
		side := func(edits []edit) *Surface {
			text := ship
			for _, e := range edits {
				if !strings.Contains(text, e.old) {
					t.Fatalf("%s: no %q", c.name, e.old)
				}
				text = strings.Replace(text, e.old, e.new, 1)
			}
			s, err := fileSurface(foreign.Parse("ship.yaml", []byte(text)))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return s
		}
		r := Compare(side(c.before), side(c.now), Options{Now: day})
		if verdict(r.Findings) != c.want {
			t.Errorf("%s: %v, want %q", c.name, slices.Clone(r.Findings), c.want)
		}
	}
}

// A project and its own export agree, but for what the export has left out.
func TestExportOfTheProject(t *testing.T) {
	base := readBase(t)
	docs := loaded(t, base, nil)
	exported, err := fileSurface(foreign.Parse("orders.yaml", []byte(strings.ReplaceAll(ship, "sea.example.org", "shop.example.org"))))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range []string{"shop.example.org/v1.Ship", "shop.example.org/v2.Ship"} {
		metadata := exported.kinds[k].shape.property("metadata")
		c := &comparison{old: docs, now: exported, levels: newLevels(nil), compared: map[pair]bool{}, seen: map[*shape]bool{}}
		c.types(&docs.kinds["shop/v1.Order"].shape.property("metadata").usage, &metadata.usage, "metadata")
		if len(c.findings) > 0 {
			t.Errorf("%d: %v", i, c.findings)
		}
	}
}
