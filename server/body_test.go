package server

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

// TestPlainJSON: what is not read as YAML would mean the same if it were.
func TestPlainJSON(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"a":"b\"}","c":[1,-20,true,null,{"e":"1.5"}]}`: true, "{\n\t\"a\": \"x: &y *z # !\"}": true,
		`{"yes":"no","0777":"0777","~":"~","2022-01-02":"1_000"}`: true, `{"a":123456789012345678}`: true, `{"e":5,"E5":"e"}`: true,
		"": false, `[]`: false, " {}": false, "a: 1": false, `{a: 1}`: false, `{"a":1.0}`: false, `{"a":1e3}`: false, `{"a":1E3}`: false,
		`{"a":1234567890123456789}`: false, `{"a":"b}`: false, `{"a":"\`: false, "{} # comment": false, `{"a":0x1F}`: false, `{"a":1}{"b":1}`: false,
	} {
		if got := plainJSON([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if !want {
			continue
		}
		converted, problems, err := document.FromYAML([]byte(text))
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", text, problems, err)
			continue
		}
		var a, b any
		if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(converted, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s means %s in YAML", text, converted)
		}
	}
}

func BenchmarkApplyBody(b *testing.B) {
	yaml, err := os.ReadFile("../schemas/examples/valid/core/v1/Pod-web.yaml")
	if err != nil {
		b.Fatal(err)
	}
	inJSON, _, err := document.FromYAML(yaml)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"yaml": yaml, "json": inJSON} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := fromYAML(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
