package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/schema"
)

// TestChecks: the validation hook of a type runs wherever a value of the type is, its
// causes are merged with those of the schema, and in an update it knows which values
// changed.
func TestChecks(t *testing.T) {
	table := parseTable(t, `
type Thing
  first Pair explicit
  pairs []Pair
  named map:Pair
  loose Pair explicit
  last string always required
type Pair check skip
  a Word
  b Word
  c Word
scalar Word string enum=x,y
`)
	root := &table.Types[table.Root("Thing")]
	root.Fields[root.Field("loose")].Unchecked = true
	table.MakeIndex()
	differ := func(v Value) []schema.Cause { // a and b have to be equal
		if Equal(v.Get("a"), v.Get("b")) {
			return nil
		}
		return []schema.Cause{{Reason: schema.CauseInvalid, Field: v.Get("b").Path(), Message: "not " + v.Get("a").Text()},
			{Reason: schema.CauseInvalid, Field: v.Path(), Message: "differ"}}
	}
	skip := func(v Value) []string { // c has no meaning without a
		if !v.Get("a").Exists() {
			return []string{"c"}
		}
		return nil
	}
	hooks := &Hooks{Checks: []func(Value) []schema.Cause{differ}, Skips: []func(Value) []string{skip}}
	dec := Decoder{Table: table}
	for _, c := range []struct{ name, old, now, want string }{
		{"right", ``, `"first":{"a":"x","b":"x"},"last":"l"`, ""},
		{"everywhere", ``, `"first":{"a":"x","b":"y"},"pairs":[{"a":"x","b":"x"},{"a":"x","b":"y"}],"named":{"k":{"a":"y","b":"x"}},"loose":{"a":"x","b":"y"},"last":"l"`,
			"first.b first pairs[1].b pairs[1] named[k].b named[k]"},
		{"among what the schema finds", ``, `"first":{"a":"z","b":"w"}`, "first.a first.b first.b first last"},
		{"left out", ``, `"first":{"c":"z"},"pairs":[{"a":"x","b":"x","c":"z"}],"last":"l"`, "pairs[0].c"},
		{"untouched", `"first":{"a":"x","b":"y"},"last":"l"`, `"first":{"a":"x","b":"y"},"last":"m"`, ""},
		{"untouched at another place", `"pairs":[{"a":"x","b":"y"}],"last":"l"`, `"pairs":[{"a":"y","b":"y"},{"a":"x","b":"y"}],"last":"l"`, ""},
		{"touched", `"first":{"a":"x","b":"x"},"named":{"k":{"a":"x","b":"y"}},"last":"l"`, `"first":{"a":"x","b":"y"},"named":{"k":{"a":"y","b":"x"}},"last":"l"`,
			"first.b first named[k].b named[k]"},
		{"wrong in other words", `"pairs":[{"a":"x","b":"z"}],"last":"l"`, `"pairs":[{"a":"y","b":"z"}],"last":"l"`, "pairs[0].b pairs[0]"},
	} {
		read := func(text string) Value {
			doc, _, err := dec.Decode(table.Root("Thing"), []byte("{"+text+"}"))
			if err != nil {
				t.Fatal(err)
			}
			return doc.Root()
		}
		causes := Validate(read(c.now), hooks)
		if c.old != "" {
			causes = ValidateTouched(read(c.now), read(c.old), hooks)
		}
		var got []string
		for _, cause := range causes {
			got = append(got, cause.Field)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}
