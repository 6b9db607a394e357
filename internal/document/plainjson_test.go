package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// TestFromJSON: of JSON with odd texts in odd places what is not left to the YAML
// parsers means the same to them, and what clients usually send is not left to
// them.
func TestFromJSON(t *testing.T) {
	atoms := []string{"a", "name", "<<", "=", "~", "yes", "0x1", "1e3", "2022-01-01", "#", " #", ": ", "- ", "\\n", "\\t", "\\u003c", "\\u001b", "\\u2028", "\\u0085", "\\u007f", "\\ud83d\\ude00", "\\/", "\\\\", "\\\"",
		"é", "\u2028", "\u0085", "\u007f", "\ufeff", "😀", "<", ">", "&", "'", "|", "%", "@", "`", "!", "*x", "&x", "{", "]", " "}
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(atoms[r.IntN(len(atoms))])
		}
		return `"` + b.String() + `"`
	}
	blank := func() string {
		if r.IntN(12) > 0 {
			return ""
		}
		return []string{" ", " ", "\n", " \n ", "\t", "\r\n"}[r.IntN(6)]
	}
	var value func(depth int) string
	value = func(depth int) string {
		switch n := r.IntN(10); {
		case n < 2 && depth > 0, depth == 4:
			var members []string
			for range r.IntN(4) {
				members = append(members, blank()+text()+blank()+":"+blank()+value(depth-1)+blank())
			}
			return "{" + strings.Join(members, ",") + "}"
		case n < 4 && depth > 0:
			var elements []string
			for range r.IntN(3) {
				elements = append(elements, blank()+value(depth-1)+blank())
			}
			return "[" + strings.Join(elements, ",") + "]"
		case n < 7:
			return text()
		}
		return []string{"0", "-1", "1", "007", "-0", "1.5", "1e3", "1E3", "123456789012345678", "1234567890123456789", "true", "false", "null", "tru", "-"}[r.IntN(15)]
	}
	taken := 0
	for range 4000 {
		in := []byte(value(4))
		got, ok := fromJSON(in)
		if !ok {
			continue
		}
		taken++
		if want, err := sigsyaml.YAMLToJSON(in); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: got %s, want %s, %v", in, got, want, err)
		}
	}
	if taken < 1000 {
		t.Errorf("only %d were taken", taken)
	}
	for _, in := range []string{
		`{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"line\nline\u003cx\u003e é 😀","n":""},"n":[-1,0,12,null,true]}` + "\n",
		"{\n  \"b\": {},\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}\n",
	} {
		if _, ok := fromJSON([]byte(in)); !ok {
			t.Errorf("%s is left to the parsers", in)
		}
	}
	for _, in := range []string{`{"a":1,"a":2}`, `{"a":{"b":1,"b":1}}`, `{"a":1.0}`, `{"a":1}}`, `{"a":1} x`, `[1]`, `{"a" :1}`, fmt.Sprintf(`{"%0600d":1}`, 1), `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"} {
		if got, ok := fromJSON([]byte(in)); ok {
			t.Errorf("%s is taken: %s", in, got)
		}
	}
}

func BenchmarkFromYAML(b *testing.B) {
	text := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","labels":{"applied":"yes"}},"data":{"applied":"value"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := FromYAML(text); err != nil {
			b.Fatal(err)
		}
	}
}
