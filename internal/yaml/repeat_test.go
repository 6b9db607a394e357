package yaml

import (
	"fmt"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// TestRepeated compares the repeated keys with those of the library.
func TestRepeated(t *testing.T) {
	for _, in := range []string{
		"a: 1\nb: 2\n",
		"a: 1\na: 2\n'a':\n  3\n",
		`{"a":{"b":1,"b":2},` + "\n" + `"a":{"b":1}}`,
		"a:\n  b: 1\na:\n  b: 1\n  b:\n    - 1\n",
		"1: a\n\"1\": b\n1: c\ntrue: d\nyes: e\n",
		"{a, b, a: 1, a}",
		"? a\n: 1\n? a\nb: 1\na:\nb:\n",
		"a: &x {k: 1}\nb:\n  k: 2\n  <<: *x\nc: {k: 1, <<: {k: 2}, d: {k: 1}}\n",
		"a: &x {k: 1}\nb: &y {l: 1}\nc:\n  k: 2\n  <<: [*x, *y]\n  l:\n    m: 1\n    k: 1\n",
		"- a: 1\n  a: &z !!str 2\n- &k a: 1\n  *k : 2\n",
		"é: 1\n\"\\u00e9\": 2\n",
	} {
		t.Run(in, func(t *testing.T) {
			var got strings.Builder
			for _, k := range Repeated([]byte(in)) {
				fmt.Fprintf(&got, "\n  line %d: key %s already set in map", k.Line, k.Key)
			}
			want := ""
			if _, err := sigsyaml.YAMLToJSONStrict([]byte(in)); err != nil {
				want = strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:")
			}
			if got.String() != want {
				t.Errorf("got %s, want %s", &got, want)
			}
		})
	}
	if got := Repeated([]byte("a: 1\na: [")); got != nil {
		t.Errorf("of a wrong text: %v", got)
	}
}
