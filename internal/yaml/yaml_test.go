package yaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	sigsyaml "sigs.k8s.io/yaml"
)

// normal is JSON with the members sorted and only the last of those with the same name,
// numbers as they are.
func normal(t testing.TB, text []byte) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q is no JSON: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// check compares ToJSON with the library.
func check(t testing.TB, in []byte) {
	t.Helper()
	got, err := ToJSON(in)
	want, wantErr := library(in)
	var limit *LimitError
	switch {
	case errors.As(err, &limit):
	case err != nil && wantErr == nil && !stricter(in):
		t.Errorf("%q: %v, want %s", in, err, want)
	case err == nil && wantErr != nil && !laxer(t, in, got, wantErr):
		t.Errorf("%q: %s, want an error: %v", in, got, wantErr)
	case err == nil && wantErr == nil:
		// Of keys like 1 and "1" the library keeps either.
		if g, w := normal(t, got), normal(t, want); g != w && jsontext.Value(got).IsValid() {
			t.Errorf("%q: got %s, want %s", in, g, w)
		}
	}
}

// library is the result of sigs.k8s.io/yaml for a text. It panics on some.
func library(in []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("panic")
		}
	}()
	return sigsyaml.YAMLToJSON(in)
}

// stricter reports whether a text may be refused that the library accepts.
func stricter(in []byte) bool {
	_, ok := isText(in) // after the first document too
	return !ok || bytes.Contains(in, bom)
}

// laxer reports whether a text may be accepted that the library refuses: it looks for a
// key from a bracket after the document to the end of the line.
func laxer(t testing.TB, in, got []byte, err error) bool {
	for i, c := range in {
		if c != '[' && c != '{' {
			continue
		}
		if before, err := library(in[:i]); err == nil && normal(t, before) == normal(t, got) {
			return true
		}
	}
	return strings.Contains(err.Error(), "excessive aliasing")
}

func TestToJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"object", "a: 1\nb: [x, z]\nc:\n  d: 1.5\n", `{"a":1,"b":["x","z"],"c":{"d":1.5}}`},
		{"YAML 1.1", "a: yes\nb: off\nc: 0777\nd: ~\ne: \"yes\"\nf: 0x1F\ng: 2022-01-02\nh: 1_000\n", `{"a":true,"b":false,"c":511,"d":null,"e":"yes","f":31,"g":"2022-01-02","h":1000}`},
		{"keys", "1: a\ntrue: b\n", `{"1":"a","true":"b"}`},
		{"empty", "", `null`},
		{"comment only", "# nothing\n", `null`},
		{"first document", "a: 1\n---\na: 2\n", `{"a":1}`},
		{"JSON", `{"a": [1, "x"]}`, `{"a": [1, "x"]}`},
		{"JSON with a fraction", `{"a": [1.50, "x"]}`, `{"a":[1.5,"x"]}`},
		{"aliases", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", `{"a":{"b":1},"c":{"b":1},"d":{"b":1,"e":2}}`},
		{"the order of merges", "d: {<<: [{a: 1}, {a: 2, b: 2}], b: 3}\n", `{"d":{"a":2,"b":2,"a":1,"b":3}}`},
		{"repeated keys", "a: 1\nb:\n- c: 1\n  c: 2\na: 3\n", `{"a":1,"b":[{"c":1,"c":2}],"a":3}`},
		{"block text", "a: |\n  x\n   y\n\nb: >-\n  x\n  y\n", `{"a":"x\n y\n","b":"x y"}`},
		{"list in the column of its key", "a:\n- b\n- c: d\n  e:\n", `{"a":["b",{"c":"d","e":null}]}`},
		{"binary", "!!binary aGk=", `"hi"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ToJSON([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			check(t, []byte(c.in))
		})
	}
	for in, want := range map[string]string{
		"a: [":                     "yaml: line 1: there is no value where one is expected",
		"x: y\na: b: c":            "yaml: line 2: there can be no colon with a blank behind it here, put quotes around the text or begin the key on a line of its own",
		"\t- x":                    `yaml: line 1: no value can begin with '\t', put quotes around it`,
		"a: *x":                    "yaml: line 1: there is no anchor x in front of this",
		"a: 1\r\nb: \x00":          "yaml: line 2: the text must be UTF-8 without control characters, write them as escapes in double quotes",
		"a: &a [*a]":               "yaml: line 1: the anchor a contains itself",
		"a:\n  b: 1\n c: 2":        "yaml: line 3: a key with a colon is missing, or it is not in the column of the keys above",
		"[a]: b":                   "yaml: line 1: a key must be a string, a number or a bool",
		"a: !!int x":               "yaml: line 1: the value is not what its tag says, tag:yaml.org,2002:int",
		"a: .nan":                  "yaml: line 1: JSON has no number for this, put quotes around it",
		strings.Repeat("[", 10001): "yaml: the document has more than 10000 levels of nesting, make it smaller",
	} {
		if got, err := ToJSON([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%q: got %s, %v, want %s", in, got, err, want)
		}
	}
}

// TestPlainJSON: JSON with unusual texts means the same as to the library, and usual
// bodies are taken as they are.
func TestPlainJSON(t *testing.T) {
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
		check(t, in)
		if plainJSON(in) {
			taken++
		}
	}
	if taken < 1000 {
		t.Errorf("only %d were taken", taken)
	}
	for _, in := range []string{
		`{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"line\nline\u003cx\u003e é 😀","n":""},"n":[-1,0,12,null,true]}` + "\n",
		"{\n  \"b\": {},\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}\n",
	} {
		if !plainJSON([]byte(in)) {
			t.Errorf("%s is not taken as it is", in)
		}
	}
	for _, in := range []string{`{"a":1.0}`, `{"a":1}}`, `{"a":1} x`, `[1]`, `{"a" :1}`, `{"a":1,}`, `{"a":01}`, fmt.Sprintf(`{"%0600d":1}`, 1), `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"} {
		if plainJSON([]byte(in)) {
			t.Errorf("%s is taken as it is", in)
		}
	}
}
