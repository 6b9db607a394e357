package document

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestQuantityReference: spellings agree with resource.Quantity, as do refusals.
func TestQuantityReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[-+]?[0-9]{1,12}(\.[0-9]{0,6})?(m|k|M|G|T|P|E|u|n|Ki|Mi|Gi|Ti|Pi|Ei|[eE][-+]?[0-9]{1,2})?`),
			rapid.StringMatching(`[0-9]{1,4}(000|024)?(m|Mi|Ki|Gi|k|M|G)?`),
			rapid.StringMatching(`[-+.0-9a-zA-Z ]{0,8}`),
		).Draw(t, "text")
		got, err := canonicalQuantity([]byte(text))
		if exponent([]byte(text)) > maxExponent {
			return
		}
		q, wantErr := resource.ParseQuantity(strings.TrimSpace(text))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		if want := q.String(); string(got) != want {
			t.Fatalf("%q: got %s, want %s", text, got, want)
		}
		again, err := canonicalQuantity(got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q: %s is not canonical: %s, %v", text, got, again, err)
		}
	})
}

// TestTimeReference: times are read and written as metav1.Time does.
func TestTimeReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`(0000|0001|1970|2022|2024|9999)-(0[0-9]|1[0-3])-([0-3][0-9])T([0-2][0-9]):([0-6][0-9]):([0-6][0-9])(\.[0-9]{1,9})?(Z|[-+]0[0-9]:30)`),
			rapid.StringMatching(`2022-01-0[1-9]T0[0-9]:00:00(Z|z|)`),
		).Draw(t, "text")
		var want metav1.Time
		quoted, _ := json.Marshal(text)
		wantErr := json.Unmarshal(quoted, &want)
		got, err := canonicalTime([]byte(text))
		if year := want.UTC().Year(); wantErr == nil && (year < 0 || year > 9999) {
			if err == nil {
				t.Fatalf("%q: no error for the year %d", text, year)
			}
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if err != nil || want.UTC().Truncate(time.Second).IsZero() {
			if len(got) != 0 {
				t.Fatalf("%q: got %s, want nothing", text, got)
			}
			return
		}
		written, _ := json.Marshal(want)
		if `"`+string(got)+`"` != string(written) {
			t.Fatalf("%q: got %s, want %s", text, got, written)
		}
	})
}

// TestBytesReference: base64 is read as encoding/json reads it into []byte.
func TestBytesReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[A-D/+=\r\n]{0,9}`),
			rapid.Custom(func(t *rapid.T) string {
				return base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes"))
			}),
		).Draw(t, "text")
		got, err := canonicalBytes([]byte(text))
		plain, wantErr := base64.StdEncoding.DecodeString(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if want := base64.StdEncoding.EncodeToString(plain); err == nil && string(got) != want {
			t.Fatalf("%q: got %s, want %s", text, got, want)
		}
	})
}

// TestFloatReference: numbers are written as encoding/json writes a float64.
func TestFloatReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64().Draw(t, "value")
		want, err := json.Marshal(value)
		if err != nil {
			t.Skip("no JSON number")
		}
		if got := string(appendFloat(nil, value)); got != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// TestTextReference: strings are read as encoding/json reads them, and written
// text is read back.
func TestTextReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.StringMatching(`"([a-z]|\\[bfnrt"\\/]|\\u(00[0-7][0-9a-f]|d8[0-9]{2}|DC[0-9]{2}|20[0-9A-F]{2})){0,12}"`),
			rapid.Custom(func(t *rapid.T) string {
				return `"` + strings.Map(func(r rune) rune {
					if r < ' ' || r == '"' || r == '\\' {
						return 'x'
					}
					return r
				}, rapid.String().Draw(t, "runes")) + rapid.SampledFrom([]string{"", "\xff", "\xed\xa0\x80"}).Draw(t, "bad") + `"`
			}),
		).Draw(t, "in")
		var want string
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		d, err := DecodeAny([]byte(in), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Release()
		if got := d.Root().Text(); got != want || !d.Root().Equals(want) {
			t.Fatalf("%s: got %q, want %q", in, got, want)
		}
		written := d.Root().AppendJSON(nil)
		if string(written) != string(AppendQuoted(nil, want)) {
			t.Fatalf("%s: %s is not canonical, want %s", in, written, AppendQuoted(nil, want))
		}
	})
}

// TestSpellNumbers: numbers outside of strings get one spelling, all else stays.
func TestSpellNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1.0,"b":[1e2,-0.5,1E+30,-100.00],"1e2":"1e2\"1.0\\","c":7}`: `{"a":1,"b":[100,-0.5,1e+30,-100],"1e2":"1e2\"1.0\\","c":7}`,
		`{"a":100000000000000000000,"b":true}`:                            `{"a":100000000000000000000,"b":true}`,
		`{"a":1e400}`:                                                     `{"a":1e400}`,
		`{"a":1.`:                                                         `{"a":1.`,
		`{"a":2.0,"b":"1.0`:                                               `{"a":2,"b":"1.0`,
		`"`:                                                               `"`,
	} {
		if got := string(SpellNumbers([]byte(text))); got != want {
			t.Errorf("%s is spelt %s, expected %s", text, got, want)
		}
	}
}
