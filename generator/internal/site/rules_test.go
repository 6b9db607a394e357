package site

import (
	"regexp"
	"strings"
	"testing"
)

// TestRulesOfElements: the rules of elements and values stand at the field, where they have no type of their own.
func TestRulesOfElements(t *testing.T) {
	text := pagesOf(t, map[string]string{
		"go.mod": "module example.com/fleet\n",
		"openapi/fleet/v1.yaml": `openapi: 3.0.3
info: {title: fleet, version: v1}
x-cluster-group: {name: fleet.example.com, groupPriority: 100, versionPriority: 10}
x-cluster-resources:
  trucks: {kind: Truck, scope: Namespaced}
paths: {}
`,
		"schemas/fleet/v1/Truck.yaml": `description: A truck is an example.
properties:
  metadata: {}
  ports: {description: Where it was., type: array, maxItems: 3, items: {type: string, maxLength: 9, enum: [Hull, Kiel]}}
  loads: {description: What it bears., additionalProperties: {type: array, items: {type: integer, minimum: 2, multipleOf: 5}}}
  seats:
    description: Where people sit.
    type: array
    x-cluster-list-type: atomic
    items:
      type: object
      x-cluster-one-of: [left, right]
      properties:
        left: {description: Place of one., type: string}
        right: {description: Place of another., type: string}
  size: {description: How big it is., type: integer, multipleOf: 10}
  marks: {description: Words on it., additionalProperties: {type: string}, propertyNames: {maxLength: 7}}
  tail:
    description: Its end.
    type: object
    x-cluster-one-of: [open, shut]
    properties:
      open: {description: Whether one can see in., type: string}
      shut: {description: Whether it is closed., type: string}
  wheels: {description: What it rolls on., type: array, items: {$ref: "#/$defs/Wheel"}}
$defs:
  Wheel:
    description: It is round.
    properties: {inches: {description: Its width., type: integer, minimum: 9}}
    x-cluster-rules: [{then: {inches: set}, why: a wheel has a width}]
`,
	})["kinds/fleet/v1/Truck.html"]
	for id, wants := range map[string][]string{
		"Truck.ports": {"at most 3 elements", "each element: at most 9 characters", "each element: one of &#34;Hull&#34;, &#34;Kiel&#34;"},
		"Truck.loads": {"each value: each element: at least 2", "each value: each element: a multiple of 5"},
		"Truck.seats": {"each element: at most one of left, right", "is applied as atomic"},
		"Truck.size":  {"a multiple of 10"},
		"Truck.marks": {"each name: at most 7 characters"},
		"Truck.tail":  {"at most one of open, shut"},
		"Wheel":       {"inches: a wheel has a width"},
	} {
		_, at, _ := strings.Cut(text, `id="`+id+`"`)
		if at, _, _ = strings.Cut(at, "</div>"); id == "Wheel" {
			at, _, _ = strings.Cut(at, `<div`)
		}
		for _, want := range wants {
			if !strings.Contains(at, "<li>"+want+"</li>") {
				t.Errorf("%s lacks %q: %s", id, want, at)
			}
		}
	}
	_, at, _ := strings.Cut(text, `id="Truck.wheels"`)
	if at, _, _ = strings.Cut(at, "</div>"); strings.Contains(at, "<li>") {
		t.Errorf("the rules of a type are repeated at a list of it: %s", at)
	}
}

// TestExampleKeepsPatterns: the text of a required field in an example is one that its pattern and its length allow.
func TestExampleKeepsPatterns(t *testing.T) {
	text := pagesOf(t, map[string]string{
		"go.mod": "module example.com/fleet\n",
		"openapi/fleet/v1.yaml": `openapi: 3.0.3
info: {title: fleet, version: v1}
x-cluster-group: {name: fleet.example.com, groupPriority: 100, versionPriority: 10}
x-cluster-resources:
  trucks: {kind: Truck, scope: Namespaced}
paths: {}
`,
		"schemas/fleet/v1/Truck.yaml": `description: A truck is an example.
required: [plate, label, owner]
properties:
  metadata: {}
  plate: {description: What its sign says., type: string, pattern: '^[A-Z]{3}-[0-9]{4}$', maxLength: 8}
  label: {description: Words for its driver., type: string, pattern: '[a-z]+', minLength: 3, maxLength: 4}
  owner: {description: Who has it., type: string}
`,
	})["kinds/fleet/v1/Truck.html"]
	for _, want := range []string{`\nplate: &#34;[A-Z]{3}-[0-9]{4}&#34;\n`, `\nlabel: &#34;[a-z]{3,4}&#34;\n`, `\nowner: &#34;…&#34;\n`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
