package document

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestFromYAML(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		problems       []Problem
	}{
		{"object", "a: 1\nb: [x, z]\nc:\n  d: 1.5\n", `{"a":1,"b":["x","z"],"c":{"d":1.5}}`, nil},
		{"YAML 1.1", "a: yes\nb: off\nc: 0777\nd: ~\ne: \"yes\"\nf: 0x1F\ng: 2022-01-02\nh: 1_000\n", `{"a":true,"b":false,"c":511,"d":null,"e":"yes","f":31,"g":"2022-01-02","h":1000}`, nil},
		{"keys", "1: a\ntrue: b\n", `{"1":"a","true":"b"}`, nil},
		{"empty", "", `null`, nil},
		{"comment only", "# nothing\n", `null`, nil},
		{"first document", "a: 1\n---\na: 2\n", `{"a":1}`, nil},
		{"JSON", `{"a": [1, "x"]}`, `{"a":[1,"x"]}`, nil},
		{"aliases", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", `{"a":{"b":1},"c":{"b":1},"d":{"b":1,"e":2}}`, nil},
		{"duplicates", "a: 1\nb:\n- c: 1\n  c: 2\n- d: {e: 1, e: 2}\na: 3\n", `{"a":3,"b":[{"c":2},{"d":{"e":2}}]}`,
			[]Problem{{Duplicate: true, Path: "b[0].c"}, {Duplicate: true, Path: "b[1].d.e"}, {Duplicate: true, Path: "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems, err := FromYAML([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, in := range []string{"a: [", "a: b: c", "\t- x", "a: *x", "\x00", "a: &a [*a]", ": : :\n  -"} {
		if got, _, err := FromYAML([]byte(in)); err == nil {
			t.Errorf("%q: no error but %s", in, got)
		}
	}
}

// bombs are short texts that stand for long documents.
func bombs() map[string]string {
	var laughs, chain strings.Builder
	laughs.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	chain.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 20_000; i++ {
		fmt.Fprintf(&chain, "a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	return map[string]string{
		"billion laughs": laughs.String(),
		"deep chain":     chain.String(),
		"long string":    "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1<<18) + "*a]\n",
		"merge keys":     "a: &a {b: " + strings.Repeat("x", 1<<20) + "}\nc:\n" + strings.Repeat("- {<<: *a}\n", 1<<12),
		"nesting":        strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
	}
}

// TestYAMLBombs: they are refused soon and without the memory they ask for.
func TestYAMLBombs(t *testing.T) {
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, _, err := FromYAML([]byte(text))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("no error")
			}
			var limit *LimitError
			if !errors.As(err, &limit) && name != "nesting" {
				t.Errorf("got %v, want a LimitError", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
			if took > 30*time.Second { // a bomb that goes off takes hours
				t.Errorf("it took %s", took)
			}
		})
	}
}

// FuzzFromYAML: the result is JSON, the one of sigs.k8s.io/yaml.
func FuzzFromYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x]\n", "a: &x {b: 1}\nc: *x\n", "- yes\n- 0777\n", "a: |\n  x\n", "a: 1\na: 2\n", "&a [*a]", "? [a]\n: b", `{"a":"\u003c\u2028x","b":[1,-1,null,true],"c":{"z":0,"a":{}}}`, "{\n \"a\": \"é\\n\"\n}\n", `{"a":1e3,"b":-0,"c":1.0}`, `{"a":1,"a":2}`, `{"a":"\/"}`, `{"a" :1}`, `{"<<":{"a":1}}`, "!!binary aGk=", "--- \n...\n", "<<: {a: 1}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _, err := FromYAML(data)
		if err != nil {
			return
		}
		want, err := sigsyaml.YAMLToJSON(data)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%q: got %s, want %s, %v", data, got, want, err)
		}
		if d, err := DecodeAny(got, Limits{}); err == nil {
			d.Release()
		} else if _, limit := err.(*LimitError); !limit {
			t.Fatalf("%q: %q is no JSON: %v", data, got, err)
		}
	})
}
