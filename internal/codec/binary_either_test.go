package codec

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

func eitherCodec() *BinaryCodec {
	table := &schema.Table{Types: []schema.Type{
		{Name: "Node", Kind: schema.Object, Elem: schema.None, Fields: []schema.Field{
			{Name: "name", Type: 1, Number: 1}, {Name: "list", Type: 2, Number: 2, Presence: schema.Explicit},
			{Name: "flag", Type: 3, Number: 3, Presence: schema.Explicit}, {Name: "words", Type: 5, Number: 4},
		}},
		{Kind: schema.String, Elem: schema.None},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrList},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrBoolean},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrStrings},
		{Kind: schema.Map, Elem: 4},
	}}
	table.MakeIndex()
	return NewBinary(table)
}

func TestEither(t *testing.T) {
	b := eitherCodec()
	for _, c := range []struct{ json, binary, back string }{
		{`{"list":{"name":"a"}}`, "\x0a\x00\x12\x05\x0a\x03\x0a\x01a", ""},
		{`{"list":[{"name":"a"},{}]}`, "\x0a\x00\x12\x09\x12\x03\x0a\x01a\x12\x02\x0a\x00", ""},
		{`{"list":[]}`, "\x0a\x00\x12\x00", `{"list":null}`},
		{`{"flag":false}`, "\x0a\x00\x1a\x02\x08\x00", ""},
		{`{"flag":true}`, "\x0a\x00\x1a\x02\x08\x01", ""},
		{`{"flag":{}}`, "\x0a\x00\x1a\x06\x08\x01\x12\x02\x0a\x00", ""},
		{`{"words":{"k":["x","y"]}}`, "\x0a\x00\x22\x0b\x0a\x01k\x12\x06\x12\x01x\x12\x01y", ""},
		{`{"words":{"k":{}}}`, "\x0a\x00\x22\x09\x0a\x01k\x12\x04\x0a\x02\x0a\x00", ""},
	} {
		binary, err := b.Append(nil, 0, []byte(c.json))
		if err != nil || string(binary) != c.binary {
			t.Errorf("%s: wrote %q, %v, want %q", c.json, binary, err, c.binary)
			continue
		}
		json, err := b.Decode(0, binary)
		if c.back == "" {
			c.back = c.json
		}
		if err != nil || string(json) != c.back {
			t.Errorf("%s: read %s, %v", c.json, json, err)
		}
	}
	for _, wrong := range []string{`{"list":true}`, `{"flag":[]}`, `{"words":{"k":1}}`, `{"words":{"k":[1]}}`} {
		if binary, err := b.Append(nil, 0, []byte(wrong)); err == nil {
			t.Errorf("%s: wrote %q", wrong, binary)
		}
	}
	for _, wrong := range []string{"\x12\x02\x08\x01", "\x1a\x02\x0a\x00", "\x12\x01\x0a"} {
		if json, err := b.Decode(0, []byte(wrong)); err == nil {
			t.Errorf("%q: read %s", wrong, json)
		}
	}
}

func FuzzEitherDecode(f *testing.F) {
	f.Add([]byte("\x0a\x00\x12\x09\x12\x03\x0a\x01a\x12\x02\x0a\x00"))
	f.Add([]byte("\x0a\x00\x1a\x06\x08\x01\x12\x02\x0a\x00"))
	f.Add([]byte("\x0a\x00\x22\x0b\x0a\x01k\x12\x06\x12\x01x\x12\x01y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := eitherCodec()
		json, err := b.Decode(0, data)
		if err != nil {
			return
		}
		if len(json) > len(data)*growth+2*growthGrace {
			t.Fatalf("%d bytes became %d", len(data), len(json))
		}
	})
}
