package load

import (
	"strings"
	"testing"
)

// TestHeirsAreNamed: a mistake in a part of another version's document says which version has it there; one of both
// versions is said once.
func TestHeirsAreNamed(t *testing.T) {
	root := project(t, "")
	writeFiles(t, root, map[string]string{
		"openapi/shop/v2.yaml": "openapi: 3.0.3\ninfo: {title: shop, version: v2}\nx-cluster-group: {name: shop.<groupSuffix>, groupPriority: 100, versionPriority: 20}\n" +
			"x-cluster-resources: {}\npaths: {}\n",
		"schemas/shop/v1/Crate.yaml": `description: A crate of parcels.
required: [size]
x-cluster-rules:
- {if: {size: set}, then: {note: set}}
- {finds: 'self.size > 5 ? "too big" : ""'}
properties:
  size: {description: Length in millimetres., type: integer, format: int32}
  note: {description: What is written on it., type: string}
  both: {description: What both of them have., type: strin}
`,
		"schemas/shop/v2/Crate.yaml": "x-cluster-same-as: /shop/v1/Crate\nproperties:\n  size: null\n" +
			"  length: {description: Length in millimetres., type: integer, format: int32, x-cluster-renamed-from: size}\n",
	})
	_, err := Load(root)
	const at, in = "schemas/shop/v1/Crate.yaml:", ", in shop/v2 by x-cluster-same-as; "
	for _, want := range []string{at + `2: required names "size", which is not a property` + in, at + "1: x-cluster-rules names size, which leads nowhere" + in,
		at + `9: unknown type "strin"; `, at + "5: a rule of Crate finds nothing: 1:5: undefined field 'size'" + in} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("want %s in\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 4 {
		t.Errorf("%d mistakes:\n%v", n, err)
	}
}
