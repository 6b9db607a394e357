package codec

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/internal/yaml"
)

// TestToYAMLOfExamples: objects look as they do in 1.25.
func TestToYAMLOfExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "schemas", "examples", "valid", "*", "*", "*.yaml"))
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		json, err := sigsyaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := sigsyaml.JSONToYAML(json)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ToYAML(json)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s", file, err, cmp.Diff(string(want), string(got)))
		}
	}
}

func normalJSON(t testing.TB, text []byte) string {
	dec := stdjson.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q is no JSON: %v", text, err)
	}
	out, err := stdjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// FuzzToYAML: a string is read back unchanged, as a value and as a key, by our reader and
// by the library.
func FuzzToYAML(f *testing.F) {
	for _, s := range []string{"", "a", "yes", "1", "1:30", "a: b", "a #b", "- a", "-", "? a", "a\nb", "a\n", "a\n\n", "\na", " a", "a ", "a \nb", "a\tb", "a\rb", "\u2028", "\u0085\ufeff", "'", "\"", "it's: ", "---", "...a", "{}", "@x", "\x00\x7f", "é😀", "<<", "=", "~", "0x1f", ".5", "2001-01-01", "a:", ":a", "#", "%a", strings.Repeat("k", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 500 {
			return
		}
		json, err := stdjson.Marshal(map[string]any{s: []any{s, map[string]any{"a": s}, []any{s}, map[string]any{s: map[string]any{s: []any{s}}}}, "z": 1})
		if err != nil {
			t.Fatal(err)
		}
		text, err := ToYAML(json)
		if err != nil {
			t.Fatal(err)
		}
		want := normalJSON(t, json)
		back, err := yaml.ToJSON(text)
		if err != nil || normalJSON(t, back) != want {
			t.Errorf("%q became\n%s\nand that %s, %v", json, text, back, err)
		}
		if back, err = sigsyaml.YAMLToJSON(text); err != nil || normalJSON(t, back) != want {
			t.Errorf("%q became\n%s\nand that for the library %s, %v", json, text, back, err)
		}
	})
}

// TestToYAMLCostsLittle: an answer in YAML takes memory in proportion to its length.
func TestToYAMLCostsLittle(t *testing.T) {
	for name, element := range map[string]string{"empty": "{},", "numbers": "1,", "texts": `"a",`, "objects": `{"metadata":{"name":"abc","labels":{"a":"b"}}},`} {
		json := []byte("[" + strings.Repeat(element, (1<<20)/len(element)) + "0]")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := ToYAML(json); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) / uint64(len(json)); used > 150 {
			t.Errorf("%s: %d bytes were allocated for each byte", name, used)
		} else if testing.Verbose() {
			t.Logf("%s: %d", name, used)
		}
	}
}
