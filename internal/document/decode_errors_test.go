package document

import (
	"errors"
	"strings"
	"testing"
)

func TestDecodeErrors(t *testing.T) {
	table := parseTable(t, kitchen)
	deep := strings.Repeat(`{"more":[`, 40) + strings.Repeat(`]}`, 40)
	for _, c := range []struct {
		name, in string
		want     string // text of the error
	}{
		{"empty", "", "json: the body is empty, want a JSON value at offset 0"},
		{"white space only", " \n", "json: the body is empty, want a JSON value at offset 2"},
		{"word", `hello`, `json: invalid character 'h', want a value at offset 0`},
		{"cut", `{"name":`, "json: unexpected end of the text, want a value at offset 8"},
		{"cut string", `{"name":"x`, "json: unexpected end of the text, want the quote that ends the string at offset 10"},
		{"cut in a name", `{"na`, "json: unexpected end of the text, want the quote that ends the string at offset 4"},
		{"cut after a member", `{"name":"x"`, "json: unexpected end of the text, want a comma or } after the member at offset 11"},
		{"trailing comma", `{"name":"x",}`, `json: invalid character '}', want the name of a member in quotes at offset 12`},
		{"trailing comma in a list", `{"tags":["a",]}`, `json: invalid character ']', want a value at offset 13`},
		{"no comma", `{"name":"x" "count":1}`, `json: invalid character '"', want a comma or } after the member at offset 12`},
		{"no colon", `{"name" "x"}`, `json: invalid character '"', want a colon at offset 8`},
		{"garbage after it", `{} x`, `json: invalid character 'x', want nothing after the value at offset 3`},
		{"two values", `{}{}`, `json: invalid character '{', want nothing after the value at offset 2`},
		{"wrong literal", `{"flag":tru}`, `json: invalid character 't', want true, false or null at offset 8`},
		{"wrong escape", `{"name":"\x"}`, `json: invalid character 'x', want an escape such as \n or \u00e9 at offset 10`},
		{"short escape", `{"name":"\u12"}`, `json: invalid character '1', want an escape such as \n or \u00e9 at offset 11`},
		{"control character", "{\"name\":\"a\nb\"}", `json: invalid character '\n', want no control character in a string, escape it at offset 10`},
		{"leading zero", `{"count":01}`, `json: invalid character '1', want a comma or } after the member at offset 10`},
		{"lone minus", `{"count":-}`, `json: invalid character '}', want a digit at offset 10`},
		{"lone point", `{"ratio":1.}`, `json: invalid character '}', want a digit at offset 11`},
		{"lone exponent", `{"ratio":1e}`, `json: invalid character '}', want a digit at offset 11`},
		{"syntax in what is dropped", `{"x":{"y":[1,}]}}`, `json: invalid character '}', want a value at offset 13`},
		{"missing bracket in what is dropped", `{"x":[1}}`, `json: invalid character '}', want a comma or ] after the element at offset 7`},

		{"list for the object", `[]`, "json: cannot unmarshal array into a value of type Thing"},
		{"string for the object", `"x"`, "json: cannot unmarshal string into a value of type Thing"},
		{"number for string", `{"name":5}`, "json: cannot unmarshal number into field name of type string"},
		{"bool for string", `{"name":true}`, "json: cannot unmarshal bool into field name of type string"},
		{"object for string", `{"name":{}}`, "json: cannot unmarshal object into field name of type string"},
		{"number in a map", `{"labels":{"a.b/c":1}}`, "json: cannot unmarshal number into field labels[a.b/c] of type string"},
		{"string for a map", `{"labels":"x"}`, "json: cannot unmarshal string into field labels of type map"},
		{"list for a map", `{"labels":[]}`, "json: cannot unmarshal array into field labels of type map"},
		{"object for a list", `{"tags":{}}`, "json: cannot unmarshal object into field tags of type list"},
		{"inside", `{"parts":[{},{"more":[{"a":[]}]}]}`, "json: cannot unmarshal array into field parts[1].more[0].a of type string"},
		{"null element", `{"tags":["a",null]}`, "json: cannot unmarshal null into field tags[1] of type string: a list has no empty places, remove it"},
		{"int32 too large", `{"count":2147483648}`, "json: cannot unmarshal number 2147483648 into field count of type int32: want a whole number in its range, without fraction or exponent"},
		{"int64 too large", `{"big":9223372036854775808}`, "json: cannot unmarshal number 9223372036854775808 into field big of type int64: want a whole number in its range, without fraction or exponent"},
		{"int64 far too large", `{"big":99999999999999999999}`, "json: cannot unmarshal number 99999999999999999999 into field big of type int64: want a whole number in its range, without fraction or exponent"},
		{"fraction", `{"count":1.0}`, "json: cannot unmarshal number 1.0 into field count of type int32: want a whole number in its range, without fraction or exponent"},
		{"exponent", `{"count":1e3}`, "json: cannot unmarshal number 1e3 into field count of type int32: want a whole number in its range, without fraction or exponent"},
		{"string for int", `{"count":"1"}`, "json: cannot unmarshal string into field count of type int32"},
		{"string for bool", `{"flag":"true"}`, "json: cannot unmarshal string into field flag of type bool"},
		{"number out of range", `{"ratio":1e999}`, "json: cannot unmarshal number 1e999 into field ratio of type number: it is too large"},
		{"port out of range", `{"port":2147483648}`, "json: cannot unmarshal number 2147483648 into field port of type int32 or string: want a whole number in its range, without fraction or exponent"},
		{"bool for port", `{"port":true}`, "json: cannot unmarshal bool into field port of type int32 or string"},
		{"quantity", `{"cpu":"1 GB"}`, `json: cannot unmarshal string "1 GB" into field cpu of type quantity: want a number with an optional suffix, like "100m", "1.5" or "2Gi"`},
		{"empty quantity", `{"cpu":""}`, `json: cannot unmarshal string "" into field cpu of type quantity: want a number with an optional suffix, like "100m", "1.5" or "2Gi"`},
		{"quantity that takes long", `{"cpu":"1.1e999999999"}`, `json: cannot unmarshal string "1.1e999999999" into field cpu of type quantity: want a number with an optional suffix, like "100m", "1.5" or "2Gi"`},
		{"quantity bool", `{"cpu":true}`, "json: cannot unmarshal bool into field cpu of type quantity"},
		{"time", `{"at":"yesterday"}`, `json: cannot unmarshal string "yesterday" into field at of type time: want RFC 3339 like "2006-01-02T15:04:05Z"`},
		{"no such day", `{"at":"2022-02-29T00:00:00Z"}`, `json: cannot unmarshal string "2022-02-29T00:00:00Z" into field at of type time: want RFC 3339 like "2006-01-02T15:04:05Z"`},
		{"empty time", `{"at":""}`, `json: cannot unmarshal string "" into field at of type time: want RFC 3339 like "2006-01-02T15:04:05Z"`},
		{"time number", `{"at":5}`, "json: cannot unmarshal number into field at of type time"},
		{"year 10000", `{"at":"9999-12-31T23:59:59-01:00"}`, `json: cannot unmarshal string "9999-12-31T23:59:59-01:00" into field at of type time: want RFC 3339 like "2006-01-02T15:04:05Z"`},
		{"duration", `{"wait":"5"}`, `json: cannot unmarshal string "5" into field wait of type duration: want a duration like "90s" or "1h30m"`},
		{"base64", `{"data":"a"}`, `json: cannot unmarshal string "a" into field data of type base64 string: want standard base64 with padding`},
		{"bytes of 9 bits", `{"data":[256]}`, "json: cannot unmarshal array into field data of type base64 string"},
		{"bytes of text", `{"data":["]"]}`, "json: cannot unmarshal array into field data of type base64 string"},
		{"bytes number", `{"data":1}`, "json: cannot unmarshal number into field data of type base64 string"},
		{"deep", `{"inner":` + deep + `}`, "json: the document has more than 32 levels of nesting, make it smaller"},
		{"deep in what is dropped", `{"x":` + deep + `}`, "json: the document has more than 32 levels of nesting, make it smaller"},
		{"deep any", `{"raw":` + deep + `}`, "json: the document has more than 32 levels of nesting, make it smaller"},
		{"many", `{"sizes":[` + strings.Repeat("1,", 600) + `1]}`, "json: the document has more than 500 values, make it smaller"},
		{"long", `{"name":"` + strings.Repeat("x", 3000) + `"}`, "json: the document has more than 3000 bytes, make it smaller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dec := Decoder{Table: table, Limits: Limits{MaxBytes: 3000, MaxDepth: 32, MaxNodes: 500}}
			_, _, err := dec.Decode(table.Root("Thing"), []byte(c.in))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestEndlessTypes: types that always contain themselves end in an error, not in endless
// work.
func TestEndlessTypes(t *testing.T) {
	for _, text := range []string{
		"type A\n  a A always",
		"type A\n  a A explicit default={}",
		"type A\n  a A always\n  b A always default={}",
	} {
		table := parseTable(t, text)
		_, _, err := (&Decoder{Table: table}).Decode(table.Root("A"), []byte("{}"))
		var limit *LimitError
		if !errors.As(err, &limit) {
			t.Errorf("%s: got %v, want a LimitError", text, err)
		}
	}
}
