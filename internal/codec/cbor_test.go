package codec

import (
	"bytes"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/capstan-dev/capstan/internal/schema"
)

// oracle reads CBOR as releases that have it do: their options of the library.
var oracle = func() cbor.DecMode {
	var values []func(*cbor.SimpleValueRegistry) error
	for v := range 256 {
		if v < 20 || v == 23 || v > 31 {
			values = append(values, cbor.WithRejectedSimpleValue(cbor.SimpleValue(v)))
		}
	}
	simple := mode(cbor.NewSimpleValueRegistryFromDefaults(values...))
	return mode(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, TimeTag: cbor.DecTagOptional, MaxNestedLevels: cborMostLevels, MaxArrayElements: 1<<31 - 1,
		MaxMapPairs: 2 << 20, IntDec: cbor.IntDecConvertSignedOrFail, MapKeyByteString: cbor.MapKeyByteStringForbidden,
		DefaultMapType: reflect.TypeFor[map[string]any](), UTF8: cbor.UTF8RejectInvalid, DefaultByteStringType: reflect.TypeFor[string](),
		ByteStringToString: cbor.ByteStringToStringAllowedWithExpectedLaterEncoding, UnrecognizedTagToAny: cbor.UnrecognizedTagContentToAny,
		TimeTagToAny: cbor.TimeTagToRFC3339Nano, ByteStringToTime: cbor.ByteStringToTimeAllowed, NaN: cbor.NaNDecodeForbidden,
		Inf: cbor.InfDecodeForbidden, ByteStringExpectedFormat: cbor.ByteStringExpectedBase64, BignumTag: cbor.BignumTagForbidden, SimpleValues: simple,
	}.DecMode())
}()

// TestCBORRoundTrip writes objects in CBOR and reads them back. The library finds the same values
// in them as in the JSON text.
func TestCBORRoundTrip(t *testing.T) {
	table := parseTable(shapes)
	c, typ := NewCBOR(table), table.Root("Shape")
	rapid.Check(t, func(t *rapid.T) {
		text := appendAnyValue(nil, t, table, typ, 0)
		object, err := c.Append(nil, typ, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		back, err := c.Decode(typ, object)
		if err != nil {
			t.Fatalf("%s: %x: %v", text, object, err)
		}
		if diff := cmp.Diff(parsed(t, table, typ, text), parsed(t, table, typ, back)); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
		var got any
		want := exactly(text)
		if err := oracle.Unmarshal(object, &got); err != nil || !sameJSON(want, got) {
			t.Fatalf("%s: the library reads %v of %x, %v", text, got, object, err)
		}
	})
}

// exactly parses JSON, whole numbers as such.
func exactly(text []byte) any {
	var v any
	d := stdjson.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	return v
}

// sameJSON reports whether two values are the same in JSON.
func sameJSON(a, b any) bool {
	x, _ := stdjson.Marshal(a)
	y, _ := stdjson.Marshal(b)
	return string(x) == string(y)
}

func valuesTable() *schema.Table {
	table := &schema.Table{Types: []schema.Type{
		{Name: "Value", Kind: schema.Object, Elem: schema.None, Fields: []schema.Field{
			{Name: "b", Type: 2}, {Name: "f", Type: 3}, {Name: "i", Type: 4}, {Name: "list", Type: 5}, {Name: "map", Type: 6}, {Name: "q", Type: 8}, {Name: "s", Type: 1},
			{Name: "self", Type: 7}, {Name: "any", Type: 9},
		}},
		{Kind: schema.String, Elem: schema.None},
		{Kind: schema.Bytes, Elem: schema.None},
		{Kind: schema.Number, Elem: schema.None},
		{Kind: schema.Integer, Bits: 64, Elem: schema.None},
		{Kind: schema.List, Elem: 2},
		{Kind: schema.Map, Elem: 3},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrList},
		{Kind: schema.Quantity, Elem: schema.None},
		{Kind: schema.Any, Elem: schema.None},
	}}
	table.MakeIndex()
	return table
}

// TestCBOR has both directions where they meet.
func TestCBOR(t *testing.T) {
	c := NewCBOR(valuesTable())
	long := strings.Repeat("x", 300)
	for json, want := range map[string]string{
		`{}`:                        "a0",
		`{"s":"a\né"}`:              "a1 4173 44610ac3a9",
		`{"s":"` + long + `"}`:      "a1 4173 59012c" + hex.EncodeToString([]byte(long)),
		`{"b":"AQI=","s":null}`:     "a2 4162 d6420102 4173 f6",
		`{"b":""}`:                  "a1 4162 d640",
		`{"f":1,"i":1}`:             "a2 4166 f93c00 4169 01",
		`{"f":1.1,"i":-500}`:        "a2 4166 fb3ff199999999999a 4169 3901f3",
		`{"list":["AA==",null]}`:    "a1 446c697374 82 d64100 f6",
		`{"map":{"k":65504}}`:       "a1 436d6170 a1 416b f97bff",
		`{"self":[{"b":"AA=="},1]}`: "a1 4473656c66 82 a1 4162 d64100 01",
		`{"self":{"b":"AA=="}}`:     "a1 4473656c66 a1 4162 d64100",
		`{"any":{"b":"AA==","f":2,"g":2.5,"h":[true,false,[],{}]}}`: "a1 43616e79 a4 4162 4441413d3d 4166 02 4167 f94100 4168 84 f5 f4 80 a0",
		`{"i":9223372036854775807}`:                                 "a1 4169 1b7fffffffffffffff",
	} {
		got, err := c.Append(nil, 0, []byte(json))
		if want = strings.ReplaceAll(want, " ", ""); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: wrote %x, %v, want %s", json, got, err, want)
			continue
		}
		if back, err := c.Decode(0, got); err != nil || string(back) != json {
			t.Errorf("%s: read %s, %v", json, back, err)
		}
	}
	for _, wrong := range []string{``, `{`, `{"b":1}`, `{"b":"?"}`, `{"s":"a"`, `{"s":tru}`, `[1`, `{"f":x}`, `{}{}`, `{"s":"\u12"}`} {
		if got, err := c.Append(nil, 0, []byte(wrong)); err == nil {
			t.Errorf("%s: wrote %x", wrong, got)
		}
	}
}

// TestCBORRead reads what this package does not write.
func TestCBORRead(t *testing.T) {
	c := NewCBOR(valuesTable())
	for data, want := range map[string]string{
		"d9d9f7 a1 6173 6161":                        `{"s":"a"}`,
		"bf 4173 5f 4161 4162 ff ff":                 `{"s":"ab"}`,
		"a1 446c697374 9f d54161 d74161 ff":          `{"list":["YQ==","YQ=="]}`,
		"a1 4162 4459513d3d":                         `{"b":"YQ=="}`,
		"a1 4173 d54161":                             `{"s":"YQ"}`,
		"a1 4173 d74161":                             `{"s":"61"}`,
		"a1 4173 41ff":                               `{"s":"` + "\ufffd" + `"}`,
		"a1 4169 f93c00":                             `{"i":1.0}`,
		"a1 4169 1bffffffffffffffff":                 `{"i":18446744073709551615}`,
		"a1 43616e79 f93c00":                         `{"any":1}`,
		"a1 43616e79 c11a514b67b0":                   `{"any":"2013-03-21T20:04:00Z"}`,
		"a1 43616e79 d6 82 4161 d5 4161":             `{"any":["YQ==","YQ"]}`,
		"a1 d9d9f7 d9d9f7 4173 d9d9f7 d903e8 626100": `{"s":"a\u0000"}`,
		"f6": `null`,
	} {
		if got, err := c.Decode(0, unhex(t, data)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", data, got, err, want)
		}
	}
	large := "b9 01f4"
	for i := range 500 {
		large += fmt.Sprintf("43%x00", fmt.Sprintf("%03d", i))
	}
	if _, err := c.Decode(0, unhex(t, large)); err != nil {
		t.Error(err)
	}
	for data, want := range map[string]string{
		"":                            "EOF",
		"a1":                          "unexpected EOF",
		"a0a0":                        "extraneous data",
		"a2 4173 00 6173 00":          `found duplicate map key "s" at map element index 1`,
		"bf 5f 4173 ff 00 4173 00 ff": `found duplicate map key "s" at map element index 1`,
		strings.Replace(large, fmt.Sprintf("43%x", "400"), fmt.Sprintf("43%x", "399"), 1): `found duplicate map key "399" at map element index 400`,
		"a1 4173 61ff": "not UTF-8", "a1 61ff 00": "not UTF-8", "a1 41ff 00": "not UTF-8", "a1 c14161 00": "has the tag 1", "a1 01 00": "not a string",
		"a1 43616e79 1bffffffffffffffff": "64 bits", "a1 4169 3bffffffffffffffff": "64 bits", "a1 4169 c24101": "64 bits",
		"a1 4166 f97e00": "NaN", "a1 4166 f97c00": "infinity", "a1 4166 f7": "simple value 23", "a1 4166 f0": "simple value 16", "a1 4166 f8ff": "simple value 255",
		"a1 4171 01": "quantity", "a1 4171 f93c00": "quantity", "a1 4162 6161": "bytes", "a1 43616e79 c04161": "RFC 3339", "a1 43616e79 c06161": "cannot set",
		strings.Repeat("81", cborMostLevels+1) + "00": "nested level",
	} {
		if got, err := c.Decode(0, unhex(t, data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %.60s, %v, want %s", data, got, err, want)
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCBORLists has the beginnings of lists and the frames of watches.
func TestCBORLists(t *testing.T) {
	empty := AppendListHead(nil, "v1", "AList", ListMeta{ResourceVersion: "7"})
	empty = append(empty, "]}"...)
	for items, none := range []string{"null", "[]"} {
		list, err := CBORListHead(nil, empty, items, none)
		if err != nil {
			t.Fatal(err)
		}
		for range items {
			if list, err = NewCBOR(valuesTable()).AppendRest(list, 0, []byte(`{"kind":"A","b":"AA=="}`), len(`{"kind":"A",`)); err != nil {
				t.Fatal(err)
			}
		}
		var got map[string]any
		if err := oracle.Unmarshal(list, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"kind": "AList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "7"}, "items": any(nil)}
		if items > 0 {
			want["items"] = []any{map[string]any{"b": "AA=="}}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	frame, err := AppendCBORFrame(nil, "ADDED", func(dst []byte) ([]byte, error) { return AppendCBOR(dst, []byte(`{"a":1}`)) })
	if want := "d9d9f7a244747970654541444445444666f626a656374d9d9f7a1416101"; err != nil || hex.EncodeToString(frame) != strings.Replace(want, "4666f6", "466f6", 1) {
		t.Errorf("%x, %v", frame, err)
	}
}

// FuzzCBOR compares the reader with the library under the options of releases that have CBOR: both
// refuse, or both find the same value.
func FuzzCBOR(f *testing.F) {
	for _, seed := range []string{"a1616101", "bf5f4161ff9fff41620aff", "d9d9f7a2416100416200", "d64161", "c11a514b67b0", "c074323031332d30332d32315432303a30343a30305a", "fb3ff199999999999a",
		"f93c00", "3bffffffffffffffff", "a241610061610", "7f61c361a9ff", "82d54161d782416141"} {
		data, _ := hex.DecodeString(seed)
		f.Add(data)
	}
	c := NewCBOR(valuesTable())
	f.Fuzz(func(t *testing.T, data []byte) {
		var want any
		refused := oracle.Unmarshal(data, &want)
		text, err := DecodeCBOR(data)
		if err != nil && (strings.Contains(err.Error(), "key of a map is not UTF-8") || strings.Contains(err.Error(), "key of a map has the tag")) {
			return // which the library does not mind
		}
		if (err == nil) != (refused == nil) {
			t.Fatalf("%x: %s, %v; the library says %v, %v", data, text, err, want, refused)
		}
		if typed, err := c.Decode(0, data); err == nil && !stdjson.Valid(typed) {
			t.Fatalf("%x: %s is not JSON", data, typed)
		}
		if err != nil {
			return
		}
		if len(text) > 8*len(data)+64 {
			t.Fatalf("%d bytes become %d", len(data), len(text))
		}
		same, _ := stdjson.Marshal(want)
		var x, y any
		if stdjson.Unmarshal(text, &x) != nil || stdjson.Unmarshal(same, &y) != nil || !reflect.DeepEqual(x, y) {
			t.Fatalf("%x: %s, the library reads %s", data, text, same)
		}
	})
}

// BenchmarkCBOR compares the walk with a tree of the library's: of a pod of 4 KB, each way.
func BenchmarkCBOR(b *testing.B) {
	res, text := podResource(), podJSON(b)
	c, typ, dst := NewCBOR(res.GV.Table), res.Type, []byte(nil)
	object, err := c.Append(nil, typ, text)
	if err != nil {
		b.Fatal(err)
	}
	for name, work := range map[string]func() error{
		"write": func() (err error) {
			dst, err = c.Append(dst[:0], typ, text)
			return err
		},
		"read": func() error { _, err := c.Decode(typ, object); return err },
		"write by a tree": func() error {
			var v any
			err := stdjson.Unmarshal(text, &v)
			if err == nil {
				_, err = cborWriting.Marshal(v)
			}
			return err
		},
		"read by a tree": func() error {
			var v any
			err := oracle.Unmarshal(object, &v)
			if err == nil {
				_, err = stdjson.Marshal(v)
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
