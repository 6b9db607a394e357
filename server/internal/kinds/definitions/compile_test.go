package definitions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/schema"
)

func meta(t testing.TB) *Meta {
	t.Helper()
	m, err := NewMeta(generated.Meta())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compiled(t testing.TB, m *Meta, text string) *schema.Table {
	t.Helper()
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		t.Skip(err)
	}
	defer doc.Release()
	return m.Compile("shop.example.com", "v1", doc.Root(), false)
}

// Compiled tables decode objects and report mistakes in them.
func TestCompile(t *testing.T) {
	m := meta(t)
	const head = `"kind":"W","apiVersion":"shop.example.com/v1"`
	property := func(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }
	tests := []struct{ name, schema, sent, want, wrong string }{
		{"unknown", property(`{"type":"string"}`), `"a":"x","b":1`, `"a":"x"`, ""},
		{"order", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`, `"b":"1","a":"2"`, `"a":"2","b":"1"`, ""},
		{"zero values stay", property(`{"type":"object","properties":{"b":{"type":"string"}}}`), `"a":{"b":""}`, `"a":{"b":""}`, ""},
		{"null is nothing", property(`{"type":"string"}`), `"a":null`, ``, ""},
		{"null is a value", property(`{"type":"string","nullable":true,"default":"x"}`), `"a":null`, `"a":null`, ""},
		{"null is the default", property(`{"type":"string","default":"x"}`), `"a":null`, `"a":"x"`, ""},
		{"default", property(`{"type":"object","default":{},"properties":{"b":{"type":"integer","default":3}}}`), ``, `"a":{"b":3}`, ""},
		{"default is pruned", property(`{"type":"object","default":{"b":1,"c":2},"properties":{"b":{"type":"integer"}}}`), ``, `"a":{"b":1}`, ""},
		{"null in a list", property(`{"type":"array","items":{"type":"string","default":"x"}}`), `"a":[null,"y"]`, `"a":["x","y"]`, ""},
		{"null in a map", property(`{"type":"object","additionalProperties":{"type":"string"}}`), `"a":{"x":null,"y":"z"}`, `"a":{"y":"z"}`, ""},
		{"nullable in a map", property(`{"type":"object","additionalProperties":{"type":"string","nullable":true}}`), `"a":{"x":null}`, `"a":{"x":null}`, ""},
		{"open", property(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"k":{"type":"object"}}}`), `"a":{"z":{"y":1,"x":1},"k":{"q":1},"b":1}`, `"a":{"k":{},"b":1,"z":{"x":1,"y":1}}`, ""},
		{"repeated", property(`{"x-kubernetes-preserve-unknown-fields":true}`), `"a":{"z":1,"b":1,"z":2}`, `"a":{"b":1,"z":2}`, ""},
		{"any additional", property(`{"type":"object","additionalProperties":true}`), `"a":{"z":1,"b":{"c":1}}`, `"a":{"b":{},"z":1}`, ""},
		{"numbers", property(`{"x-kubernetes-preserve-unknown-fields":true}`), `"a":[1.0,1e3,-0,9007199254740993,0.5]`, `"a":[1,1000,0,9007199254740993,0.5]`, ""},
		{"escaped name", `{"type":"object","properties":{"a\"b":{"type":"string"}}}`, `"a\"b":"x"`, `"a\"b":"x"`, ""},
		{"type", property(`{"type":"boolean"}`), `"a":1`, `"a":1`, "a"},
		{"object for a list", property(`{"type":"array","items":{"type":"string"}}`), `"a":{}`, `"a":{}`, "a"},
		{"int or string", property(`{"x-kubernetes-int-or-string":true}`), `"a":1.5`, `"a":1.5`, "a"},
		{"not", property(`{"type":"string","not":{"enum":["x"]}}`), `"a":"x"`, `"a":"x"`, "<nil>"},
		{"all", property(`{"type":"string","allOf":[{"minLength":2},{"pattern":"^a"}]}`), `"a":"b"`, `"a":"b"`, "a,a,<nil>"},
		{"any", property(`{"type":"integer","anyOf":[{"maximum":1},{"minimum":5}]}`), `"a":6`, `"a":6`, ""},
		{"none of any", property(`{"type":"integer","anyOf":[{"maximum":1},{"minimum":5}]}`), `"a":3`, `"a":3`, "<nil>,a"},
		{"nested", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}}}},"anyOf":[{"properties":{"a":{"properties":{"b":{"minimum":5}},"required":["b"]}}}]}`, `"a":{}`, `"a":{}`, "<nil>,a.b"},
		{"enum", property(`{"type":"integer","enum":[1,2]}`), `"a":3`, `"a":3`, "a"},
		{"date", property(`{"type":"string","format":"date"}`), `"a":"2020-13-01"`, `"a":"2020-13-01"`, "a"},
		{"unchecked format", property(`{"type":"string","format":"shoe"}`), `"a":"x"`, `"a":"x"`, ""},
		{"format of a number", property(`{"type":"integer","format":"int32"}`), `"a":3000000000`, `"a":3000000000`, ""},
		{"required", `{"type":"object","required":["a"]}`, ``, ``, "a"},
		{"name", `{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":1}}}}}`, `"metadata":{"name":"ab"}`, `"metadata":{"name":"ab","creationTimestamp":null}`, "metadata.name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := compiled(t, m, tt.schema)
			decoder := document.Decoder{Table: table}
			sent, want := head, head
			if tt.sent != "" {
				sent += "," + tt.sent
			}
			if tt.want != "" {
				want += "," + tt.want
			}
			doc, _, err := decoder.Decode(0, []byte("{"+sent+"}"))
			if err != nil {
				t.Fatal(err)
			}
			defer doc.Release()
			if got := string(doc.Root().AppendJSON(nil)); got != "{"+want+"}" {
				t.Errorf("got  %s\nwant {%s}", got, want)
			}
			var fields []string
			for _, c := range document.Validate(doc.Root(), nil) {
				fields = append(fields, c.Field)
			}
			if got := strings.Join(fields, ","); got != tt.wrong {
				t.Errorf("wrong is %q, want %q", got, tt.wrong)
			}
		})
	}
}

// No schema makes the compiler panic, and no object makes its table panic; a stored
// object is read back unchanged, as often as it is read.
func FuzzCompile(f *testing.F) {
	m := meta(f)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","nullable":true}}}}`, `{"a":[{},null]}`)
	f.Add(`{"x-kubernetes-preserve-unknown-fields":true,"properties":{"b":{"default":{"x":1}}}}`, `{"z":{"y":1},"a":2,"b":null}`)
	f.Add(`{"type":"object","oneOf":[{"not":{"required":["a"]}},{"properties":{"a":{"enum":[1,{}]}}}],"properties":{"a":{}}}`, `{"a":1}`)
	f.Add(`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"m":{"type":"object","x-kubernetes-embedded-resource":true}}}`, `{"m":{"metadata":{"name":"x"}}}`)
	f.Add(`{"type":"object","additionalProperties":{"x-kubernetes-int-or-string":true,"default":1}}`, `{"a":null,"b":"x"}`)
	f.Add(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object"}}}}`, `{"l":[{"k":1},{"k":1},2]}`)
	f.Fuzz(func(t *testing.T, text, object string) {
		begin := time.Now()
		table := compiled(t, m, text)
		decoder := document.Decoder{Table: table}
		doc, _, err := decoder.Decode(0, []byte(object))
		if err == nil {
			defer doc.Release()
			document.Validate(doc.Root(), nil)
			once := string(doc.Root().AppendJSON(nil))
			again, _, err := decoder.Decode(0, []byte(once))
			if err != nil {
				t.Fatalf("%s is not read again: %v", once, err)
			}
			defer again.Release()
			if twice := string(again.Root().AppendJSON(nil)); twice != once {
				t.Fatalf("%s is read again as %s", once, twice)
			}
			stored, err := document.ReadStored(table, 0, []byte(once))
			if err != nil {
				t.Fatal(err)
			}
			defer stored.Release()
			document.Validate(stored.Root(), nil)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}

// typical is a definition with a schema of some 40 KB.
func typical() string {
	var b strings.Builder
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"section%d":{"type":"object","description":%q,"properties":{`, i, strings.Repeat("What this section is for. ", 10))
		for j := range 10 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"field%d":{"type":"string","description":%q,"maxLength":63}`, j, strings.Repeat("What this field says. ", 5))
		}
		b.WriteString(`}}`)
	}
	return `{"kind":"CustomResourceDefinition","metadata":{"name":"shoes.shop.example.com","uid":"u"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"shoes"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{` + b.String() + `}}}}]},
		"status":{"acceptedNames":{"plural":"shoes","kind":"Shoe","listKind":"ShoeList"}}}`
}

func canonicalText(t testing.TB, text string) []byte {
	t.Helper()
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	return doc.Root().AppendJSON(nil)
}

func BenchmarkRows(b *testing.B) {
	text := canonicalText(b, typical())
	rows := &Rows{Meta: meta(b)}
	b.Run("made", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			rows.Of(Pack(text), [32]byte{})
		}
	})
	b.Run("compiled", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			rows.Of(Pack(text), [32]byte{})[0].GV.Types()
		}
	})
}
