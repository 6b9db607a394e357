package codec

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestBinaryBytes compares messages with bytes that were assembled by hand from the
// description of the wire format.
func TestBinaryBytes(t *testing.T) {
	table := parseTable(shapes + `
One
	x 1 string
OptionalInt
	x 1 ? int32
Scalars
	s 1 ! string
	i 2 ! int32
	b 3 ! bool
	q 4 ! quantity
	t 5 ! time
	p 6 ! intorstring
	d 7 ! duration
	r 8 ! raw
	n 9 ! double
	l 10 ! []string
	m 11 ! map[string]
	y 12 ! bytes
	v 13 ! strings
Times
	t 1 ? time
	u 2 ? micro
	d 3 ? duration
Ports
	p 1 ? intorstring
	q 2 ? intorstring
Lists
	l 1 []string
	n 2 []int32
	m 3 map[string]
	v 4 strings
	g 5 map[strings]
	r 6 []raw
	o 7 []One
	y 8 map[bytes]
	c 9 map[int64]
`)
	for _, c := range []struct{ name, typ, json, want string }{
		{"empty object", "One", `{}`, "0a00"},
		{"string", "One", `{"x":"ab"}`, "0a02 6162"},
		{"unknown and unnumbered members are left out", "Shape", `{"kind":"Shape","apiVersion":"v1","what":{"a":[1,"}"]},"name":"n"}`,
			"0a01 6e 1200 2000 2800 3800 5a030a0130 6a00 7a00 8a0106080010001a00 9a0100 f20104 0a00 1000"},
		{"escapes", "One", `{"x":"a\"\\\/\n\tä😀\ud800!"}`, "0a10 61 22 5c 2f 0a 09 c3a4 f09f9880 efbfbd 21"},
		{"negative int32 takes ten bytes", "OptionalInt", `{"x":-1}`, "08ffffffffffffffffff01"},
		{"pointer that is not there", "OptionalInt", `{}`, ""},
		{"pointer to zero", "OptionalInt", `{"x":0}`, "0800"},
		{"zeros", "Scalars", `{}`, "0a00 1000 1800 22030a0130 2a00 3206080010001a00 3a020800 4200 490000000000000000"},
		{"nulls", "Scalars", `{"t":null,"r":null,"l":null,"m":null,"y":null,"v":null}`, "0a00 1000 1800 22030a0130 2a00 3206080010001a00 3a020800 4200 490000000000000000"},
		{"times", "Times", `{"t":"1970-01-02T00:00:01Z","u":"1970-01-01T00:00:00.000001Z","d":"1m0.5s"}`, "0a0608 81a305 1000 1205 0800 10e807 1a07 08 80fad2b0e101"},
		{"time before 1970", "Times", `{"t":"1969-12-31T23:59:59Z"}`, "0a0d 08ffffffffffffffffff01 1000"},
		{"int or string", "Ports", `{"p":80,"q":"http"}`, "0a06 0800 1050 1a00 120a 0801 1000 1a04 68747470"},
		{"lists", "Lists", `{"l":["a","",null],"n":[0,-1],"m":{"a":"1","b":""},"v":["x"],"g":{"k":["y","z"]},"r":[{"a": 1},"s",null],"o":[{},{"x":"1"}],"y":{"j":null,"k":"AQI="},"c":{"k":5}}`,
			"0a0161 0a00 0a00 1000 10ffffffffffffffffff01 1a06 0a0161 120131 1a05 0a0162 1200 2203 0a0178 2a0b 0a016b 1206 0a0179 0a017a" +
				"320a 0a08 7b2261223a20317d 3205 0a03 227322 3200 3a02 0a00 3a03 0a0131 4203 0a016a 4207 0a016b 12020102 4a05 0a016b 1005"},
		{"empty lists", "Lists", `{"l":[],"n":[],"m":{},"v":[],"o":[]}`, "2200"},
		{"order of numbers, not of members", "Mixed", `{"late":"l","early":"e","big":"b","list":[{"a":"x"}],"flag":true}`,
			"0a0165 1a05 0a0178 1000 2001 4a016c e2120162"},
		{"nested, out of order", "Mixed", `{"late":"l","child":{"early":"e","big":"b"}}`, "0a00 120b 0a0165 2000 4a00 e2120162 2000 4a016c e21200"},
		{"embedded message", "Volume", `{"name":"n","secret":{"a":"s"},"last":"z"}`, "0a016e 1209 1a00 3205 0a0173 1000 1a017a"},
		{"embedded message of nothing but zeros", "Volume", `{"name":"n"}`, "0a016e 1202 1a00 1a00"},
		{"embedded message of an empty object", "Volume", `{}`, "0a00 1202 1a00 1a00"},
		{"embedded twice", "NamedRule", `{"operations":["o"],"groups":["g"],"scope":"s","names":["n"]}`, "0a016e 120b 0a016f 1206 0a0167 220173"},
		{"embedded twice, nothing", "NamedRule", `{}`, "1204 1202 2200"},
		{"embedded twice, only inside", "NamedRule", `{"scope":"s"}`, "1205 1203 220173"},
		{"length over one byte", "Mixed", `{"child":{"early":"` + strings.Repeat("x", 200) + `"}}`,
			"0a00 12d201 0ac801" + strings.Repeat("78", 200) + "2000 4a00 e21200 2000 4a00 e21200"},
		{"length over one byte, in order", "Lists", `{"o":[{"x":"` + strings.Repeat("x", 200) + `"}]}`, "3acb01 0ac801" + strings.Repeat("78", 200)},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewBinary(table).Append([]byte("keep"), table.Root(c.typ), []byte(c.json))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "keep"+string(want) {
				t.Errorf("%s\n got %x\nwant %x", c.json, got[4:], want)
			}
		})
	}
}

// A text with wrong escapes is refused, and not written as another text.
func TestBinaryRefusesWrongEscapes(t *testing.T) {
	table := parseTable("\nOne\n\tx 1 string\n")
	for _, wrong := range []string{`\x`, `\u12`, `\u12g4`, `a\'`, `\ud800\u12x4`} {
		if got, err := NewBinary(table).Append(nil, table.Root("One"), []byte(`{"x":"`+wrong+`"}`)); err == nil {
			t.Errorf("%s is written as %x", wrong, got)
		}
	}
}
