package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	lateDocument = "description: A thing next to all others.\nproperties:\n  few: {description: How few there are., type: integer, minimum: 5, default: 3}\n"
	lateMistake  = "schemas/shop/v1/Late.yaml:3: the default of few does not fit: Invalid value: 3: must be greater than or equal to 5; change the default or the rule"
)

// Any mistake is reported together with one of a late step that has nothing to do with it, and nothing more is said.
func TestMistakesDoNotHideOthers(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(testdata, "wrong"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		dir := filepath.Join(testdata, "wrong", folder.Name())
		text, err := os.ReadFile(filepath.Join(dir, "want.txt"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		if !strings.HasPrefix(folder.Name(), "profile-") { // without which nothing can be read
			want = append(want, lateMistake)
		}
		slices.Sort(want)
		root := project(t, dir)
		writeFiles(t, root, map[string]string{"schemas/shop/v1/Late.yaml": lateDocument})
		if _, err = Load(root); err == nil {
			t.Fatal("no mistake was found")
		}
		got := strings.Split(err.Error(), "\n")
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", folder.Name(), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestMistakesOfOneDocument: the mistakes of a document are reported together, whichever steps find them, and without those
// that follow from others.
func TestMistakesOfOneDocument(t *testing.T) {
	root := project(t, "")
	writeFiles(t, root, map[string]string{"schemas/shop/v1/Many.yaml": `description: A thing with many mistakes.
required: [few, lots]
x-cluster-rules:
- {if: {colour: set}, then: {few: set}}
x-cluster-one-of: [first, second, more]
properties:
  few: {description: How few there are., type: integer, minimum: 5, default: 3}
  first: {description: The one of the things., type: strin}
  second: {description: The next of the things., type: string, x-cluster-format: nosuch}
  linked: {description: Something else that is there., $ref: "#/$defs/Missing"}
  held: {description: Those that are in it., type: array}
  inner:
    description: What is in the thing.
    type: object
    properties:
      pair: {description: Both of them., type: array, items: {type: string}, x-cluster-list-type: map}
      size: {description: Size., type: integer, format: int32}
`})
	_, err := Load(root)
	want := []string{`1: x-cluster-one-of names more`, `1: x-cluster-rules names colour`, `2: required names "lots"`, `7: the default of few does not fit`, `8: unknown type "strin"`,
		`9: unknown named check "nosuch"`, `10: $ref "#/$defs/Missing"`, `11: an array does not say`, `16: a list of type map has no keys`, `17: the description of size only repeats its name`}
	got := strings.Split(err.Error(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], "schemas/shop/v1/Many.yaml:"+want[i]) {
			t.Fatalf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
		}
	}
}
