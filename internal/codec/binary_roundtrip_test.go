package codec

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// TestBinaryRoundTrip writes objects in the binary form, reads them back and compares;
// then writes the result again, which must give the same bytes.
func TestBinaryRoundTrip(t *testing.T) {
	table := parseTable(shapes)
	b, typ := NewBinary(table), table.Root("Shape")
	rapid.Check(t, func(t *rapid.T) {
		text := appendAnyValue(nil, t, table, typ, 0)
		message, err := b.Append(nil, typ, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		back, err := b.Decode(typ, message)
		if err != nil {
			t.Fatalf("%s: %x: %v", text, message, err)
		}
		if diff := cmp.Diff(parsed(t, table, typ, text), parsed(t, table, typ, back)); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
		again, err := b.Append(nil, typ, back)
		if err != nil || !bytes.Equal(message, again) {
			t.Fatalf("%s: %v\n%x\n%x", back, err, message, again)
		}
	})
}

// appendAnyValue appends a canonical value of a type.
func appendAnyValue(dst []byte, t *rapid.T, table *schema.Table, ref schema.Ref, depth int) []byte {
	typ := &table.Types[ref]
	several := func(open, closing byte, each func(i int)) []byte {
		dst = append(dst, open)
		n := rapid.IntRange(0, 3).Draw(t, "n")
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			each(i)
		}
		return append(dst, closing)
	}
	switch typ.Kind {
	case schema.Object:
		dst = append(dst, '{')
		first := true
		for i := range typ.Fields {
			f := &typ.Fields[i]
			if f.Number == 0 || f.Presence != schema.Always && rapid.IntRange(0, 2+depth*3).Draw(t, f.Name) > 0 {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(document.AppendQuoted(dst, f.Name), ':')
			dst = appendAnyValue(dst, t, table, f.Type, depth+1)
		}
		return append(dst, '}')
	case schema.List:
		return several('[', ']', func(int) { dst = appendAnyValue(dst, t, table, typ.Elem, depth+1) })
	case schema.Map:
		return several('{', '}', func(i int) {
			dst = append(document.AppendQuoted(dst, string(rune('a'+i))+anyText(t)), ':')
			dst = appendAnyValue(dst, t, table, typ.Elem, depth+1)
		})
	case schema.Any:
		return append(dst, rapid.SampledFrom([]string{`{"a": [1, "}\""]}`, `[]`, `"x"`, `0`, `null`}).Draw(t, "raw")...)
	case schema.String:
		return document.AppendQuoted(dst, anyText(t))
	case schema.Bytes:
		return document.AppendQuoted(dst, base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")))
	case schema.Boolean:
		return append(dst, rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")...)
	case schema.Integer:
		if typ.Bits == 32 {
			return append(dst, mustJSON(rapid.Int32().Draw(t, "int32"))...)
		}
		return append(dst, mustJSON(rapid.Int64().Draw(t, "int64"))...)
	case schema.Number:
		return append(dst, mustJSON(rapid.Float64().Draw(t, "double"))...)
	case schema.Quantity:
		return document.AppendQuoted(dst, rapid.SampledFrom([]string{"0", "100m", "1Gi"}).Draw(t, "quantity"))
	case schema.Duration:
		return document.AppendQuoted(dst, time.Duration(rapid.Int64().Draw(t, "duration")).String())
	case schema.IntOrString:
		if rapid.Bool().Draw(t, "is int") {
			return append(dst, mustJSON(rapid.Int32().Draw(t, "int"))...)
		}
		return document.AppendQuoted(dst, anyText(t))
	}
	seconds := rapid.Int64Range(firstSecond, lastSecond).Draw(t, "seconds")
	dst = append(dst, '"')
	dst, err := appendTime(dst, seconds, rapid.Int32Range(0, 999999).Draw(t, "micros")*1000, typ.Kind == schema.MicroTime)
	if err != nil {
		t.Fatal(err)
	}
	return append(dst, '"')
}

func anyText(t *rapid.T) string {
	s := rapid.StringN(0, 20, 80).Draw(t, "text")
	return s + strings.Repeat("x", rapid.SampledFrom([]int{0, 0, 0, 130}).Draw(t, "more"))
}

func mustJSON(v any) []byte {
	text, err := stdjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// parsed reads JSON and drops the zero values that the document package drops.
func parsed(t *rapid.T, table *schema.Table, ref schema.Ref, text []byte) any {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return withoutZeros(table, ref, v)
}

func withoutZeros(table *schema.Table, ref schema.Ref, v any) any {
	typ := &table.Types[ref]
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch typ.Kind {
			case schema.Map:
				v[name] = withoutZeros(table, typ.Elem, member)
			case schema.Object:
				f := &typ.Fields[typ.Field(name)]
				member = withoutZeros(table, f.Type, member)
				kind := table.Types[f.Type].Kind
				zeros := []string{"null", `""`, "0", "-0", "false", "[]", "{}"}
				switch {
				case kind == schema.Any, f.Presence == schema.Explicit && kind != schema.List && kind != schema.Map:
					zeros = zeros[:1]
				case kind == schema.Quantity:
					zeros = append(zeros, `"0"`)
				case kind == schema.Duration:
					zeros = append(zeros, `"0s"`)
				case kind == schema.IntOrString:
					zeros = []string{"null", "0"}
				}
				if v[name] = member; slices.Contains(zeros, string(mustJSON(member))) {
					delete(v, name)
				}
			}
		}
	case []any:
		for i := range v {
			if typ.Kind == schema.List {
				v[i] = withoutZeros(table, typ.Elem, v[i])
			}
		}
	}
	return v
}

func FuzzDecodeBinary(f *testing.F) {
	table := parseTable(shapes)
	b, typ := NewBinary(table), table.Root("Shape")
	for _, text := range []string{
		`{"name":"a","total":5,"size":"1Gi","born":"2024-01-02T03:04:05Z","port":"http","must":{"a":"b"},"labels":{"a":"b"},"groups":{"g":["x"]}}`,
		`{"name":"a","total":-5,"size":"1","born":null,"seen":"2024-01-02T03:04:05.000006Z","wait":"1m","port":-1,"any":{"x":[]},"verbs":["get"],"must":{},"mixed":{"late":"x","child":{"early":"e"}},"volume":{"secret":{"a":"b"}}}`,
	} {
		message, err := b.Append(nil, typ, []byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
		f.Add(AppendEnvelope(nil, "v1", "Shape", message))
	}
	f.Add([]byte("\xba\x01\x03\x00\x01\x02"))                      // packed numbers
	f.Add([]byte("\x8a\x02\x04\x12\x02\x0a\x00"))                  // embedded message
	f.Add([]byte("\xc2\x01\x04\x0a\x00\x10\x00"))                  // wrong value under an empty key
	f.Add(bytes.Repeat([]byte("\x82\x02\x7f\x12\x7f\x12\x7f"), 9)) // cut off
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _, _ = OpenEnvelope(data)
		text, err := b.Decode(typ, data)
		if err != nil {
			return
		}
		if !stdjson.Valid(text) || len(text) > 2*growth*len(data)+2*growthGrace {
			t.Fatalf("%x gave %d bytes: %s", data, len(text), text)
		}
		// A decoded message can be written, unless a scalar holds text that only the
		// document package refuses (a quantity such as "x" is fine here).
		again, err := b.Append(nil, typ, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		back, err := b.Decode(typ, again)
		if err != nil {
			t.Fatalf("%s: %x: %v", text, again, err)
		}
		third, err := b.Append(nil, typ, back)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%s: %v\n%x\n%x", text, err, again, third)
		}
	})
}

// FuzzAppendBinary gives the writer, which trusts its input, arbitrary text: it
// may refuse it or write anything, but it may not panic.
func FuzzAppendBinary(f *testing.F) {
	table := parseTable(shapes)
	b, typ := NewBinary(table), table.Root("Shape")
	f.Add([]byte(`{"name":"a","total":5,"labels":{"a":"b\u00e4"},"mixed":{"child":{}},"volume":{"secret":{"a":"b"}},"raws":[{},null]}`))
	f.Add([]byte(`{"name":"a`))
	f.Add([]byte(`{"must":n`))
	f.Fuzz(func(t *testing.T, text []byte) {
		message, err := b.Append(nil, typ, text)
		if err == nil && len(text) > 0 && text[0] != '{' {
			t.Fatalf("%s was accepted: %x", text, message)
		}
	})
}
