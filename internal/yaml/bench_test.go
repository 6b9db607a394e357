package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	sigsyaml "sigs.k8s.io/yaml"
)

// hostile are texts that cost a parser with a tree many times their size, or that stand
// for long documents.
func hostile(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var laughs, chain, keys, anchors, handles strings.Builder
	laughs.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	chain.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 20_000; i++ {
		fmt.Fprintf(&chain, "a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	for i := 0; keys.Len() < size; i++ {
		fmt.Fprintf(&keys, "%x:\n", i)
		fmt.Fprintf(&anchors, "- &%x\n", i)
		fmt.Fprintf(&handles, "%%TAG !a%x! b\n", i)
	}
	return map[string]string{
		"list of mappings":   repeat("- a:\n"),
		"complex keys":       repeat("? [a]\n"),
		"explicit keys":      repeat("? a\n"),
		"tags":               repeat("- !!str\n"),
		"long tags":          "%TAG !e! " + strings.Repeat("x", 1000) + "\n---\n" + repeat("- !e!a\n"),
		"handles":            repeat("%TAG !a! b\n") + "--- a\n",
		"other handles":      handles.String() + "--- a\n",
		"long anchor":        "- *" + repeat("a"),
		"long handle":        "- !" + repeat("a") + "! b",
		"keys":               keys.String(),
		"same keys":          repeat("a:\n"),
		"anchors":            anchors.String(),
		"same anchors":       repeat("- &a\n"),
		"empty entries":      repeat("-\n"),
		"flow":               "[" + repeat("a,") + "]",
		"flow keys":          "{" + repeat("n,") + "}",
		"flow lists":         "[" + repeat("[],") + "]",
		"flow pairs":         "[" + repeat("a: b,") + "]",
		"lines":              repeat("a\n"),
		"quoted lines":       `"` + repeat("a\n\n") + `"`,
		"escapes":            `"` + repeat(`\0`) + `"`,
		"quotes":             "[" + repeat(`"",`) + "]",
		"blocks":             repeat("- |\n"),
		"block lines":        "|\n" + repeat(" a\n"),
		"folded lines":       ">\n" + repeat(" a\n  b\n"),
		"empty lines":        "|\n" + repeat("\n"),
		"comments":           repeat("#\n"),
		"blanks":             repeat(" \n"),
		"numbers":            "[" + repeat("1e20,") + "]",
		"long number":        repeat("1"),
		"times":              "[" + repeat("2001-01-01,") + "]",
		"deep":               repeat("["),
		"deep blocks":        repeat("- "),
		"deep keys":          repeat("? "),
		"deep pairs":         repeat("[{a: "),
		"documents":          repeat("--- a\n"),
		"long key":           repeat("k") + ": 1\n",
		"long quoted key":    `"` + repeat("k") + "\": 1\n",
		"open quotes":        repeat(`"a`),
		"many colons":        repeat("a:"),
		"colons":             repeat("a: "),
		"billion laughs":     laughs.String(),
		"deep chain":         chain.String(),
		"long string":        "a: &a " + strings.Repeat("x", size/3) + "\nb: [" + strings.Repeat("*a,", size/6) + "*a]\n",
		"merged":             "a: &a {b: " + strings.Repeat("x", size/3) + "}\nc:\n" + strings.Repeat("- {<<: *a}\n", 1<<12),
		"merged keys":        "a: &a {b: c}\nc: {" + repeat("<<: *a, ") + "}\n",
		"merged lists":       "a: &a {b: c}\nc: {<<: [" + repeat("*a, ") + "]}\n",
		"deep merges":        strings.Repeat("{<<: [{a: b}, ", 150) + "{" + repeat("a, ") + "}" + strings.Repeat("]}", 150),
		"nested anchors":     strings.Repeat("&a [", 500) + repeat("a, ") + strings.Repeat("]", 500),
		"aliases":            "- &a b\n" + repeat("- *a\n"),
		"alias keys":         "- &a b\n- {" + repeat("*a : c,") + "}\n",
		"an object in JSON":  `{"a":"` + repeat("x") + `"}`,
		"floats in JSON":     `{"a":[` + repeat("1.5,") + `1]}`,
		"duplicates in JSON": `{` + repeat(`"a":1,`) + `"a":1}`,
	}
}

// TestHostile: any text costs memory in proportion to its length: that of the JSON, and
// of growing to it.
func TestHostile(t *testing.T) {
	for name, text := range hostile(1 << 19) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := ToJSON([]byte(text))
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			if most := uint64(6 * (maxGrowth*len(text) + minSpace)); used > most {
				t.Errorf("%d bytes were allocated for %d, want at most %d", used, len(text), most)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			var limit *LimitError
			if bomb := bombs[name]; bomb != errors.As(err, &limit) {
				t.Errorf("got %d bytes and %v, want a LimitError: %t", len(out), err, bomb)
			}
		})
	}
}

// bombs are the texts refused because their JSON would be too large.
var bombs = map[string]bool{
	"anchors": true, "other handles": true, "deep": true, "deep blocks": true, "deep pairs": true, "flow keys": false, "billion laughs": true,
	"deep chain": true, "long string": true, "merged": true, "deep merges": true, "nested anchors": true,
}

// objects are usual bodies.
var objects = map[string]string{
	"config map": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","labels":{"applied":"yes"}},"data":{"applied":"value"}}`,
}

func BenchmarkToJSON(b *testing.B) {
	json := []byte(objects["config map"])
	block, err := sigsyaml.JSONToYAML(json)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"JSON": json, "YAML": block} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := ToJSON(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, text := range hostile(3 << 20) {
		b.Run("hostile/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ToJSON([]byte(text))
			}
		})
	}
	b.Run("jsontext", func(b *testing.B) { // a lower bound: tokens of JSON
		b.SetBytes(int64(len(json)))
		for b.Loop() {
			dec := jsontext.NewDecoder(bytes.NewReader(json))
			for {
				if _, err := dec.ReadToken(); err != nil {
					break
				}
			}
		}
	})
}
