package yaml

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// meaning is the type of a scalar.
type meaning uint8

const (
	isString meaning = iota
	isNull
	isTrue
	isFalse
	isInt  // decimal digits already
	isUint // the same, too large for an int64
	isFloat
	isTime // written like a string
	isCollection
)

// words are the scalars with a meaning other than their text.
var words = map[string]meaning{
	"": isNull, "~": isNull, "null": isNull, "Null": isNull, "NULL": isNull,
	"y": isTrue, "Y": isTrue, "yes": isTrue, "Yes": isTrue, "YES": isTrue, "on": isTrue, "On": isTrue, "ON": isTrue,
	"true": isTrue, "True": isTrue, "TRUE": isTrue,
	"n": isFalse, "N": isFalse, "no": isFalse, "No": isFalse, "NO": isFalse, "off": isFalse, "Off": isFalse, "OFF": isFalse,
	"false": isFalse, "False": isFalse, "FALSE": isFalse,
}

// longestWord and longestNumber bound the texts that are resolved as such.
const (
	longestWord   = 5
	longestNumber = 1 << 10
)

// value is a scalar that is not a string.
type value struct {
	meaning meaning
	int     int64
	uint    uint64
	float   float64
}

// resolve returns the meaning of a plain scalar. like is the meaning that its tag
// requires, isString when it has none.
func resolve(text []byte, like meaning) value {
	if len(text) <= longestWord {
		if m, ok := words[string(text)]; ok {
			return value{meaning: m}
		}
	}
	switch c := text[0]; {
	case len(text) > longestNumber:
	case c == '.':
		if f, ok := infinite(string(text)); ok {
			return value{meaning: isFloat, float: f}
		}
		if f, err := strconv.ParseFloat(string(text), 64); err == nil {
			return value{meaning: isFloat, float: f}
		}
	case c == '+' || c == '-' || '0' <= c && c <= '9':
		if like == isTime && isTimestamp(string(text)) {
			return value{meaning: isTime}
		}
		if c == '+' || c == '-' {
			if f, ok := infinite(string(text[1:])); ok && (c == '+' || f > 0) {
				return value{meaning: isFloat, float: math.Copysign(f, float64(','-int(c)))}
			}
		}
		if bytes.IndexByte(text, '_') >= 0 {
			text = bytes.ReplaceAll(text, []byte("_"), nil)
		}
		return number(text)
	}
	return value{}
}

// infinite reads .inf and .nan.
func infinite(s string) (float64, bool) {
	switch s {
	case ".inf", ".Inf", ".INF":
		return math.Inf(1), true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), true
	}
	return 0, false
}

// number reads a text that begins with a digit or a sign.
func number(text []byte) value {
	digits := bytes.TrimLeft(text, "+-")
	switch {
	case len(digits) > 1 && digits[0] == '0' && bytes.IndexByte([]byte("xXoObB"), digits[1]) >= 0:
		if v, ok := integer(text, 0); ok {
			return v
		}
		if binary, ok := bytes.CutPrefix(text, []byte("0b")); ok && len(binary) > 0 { // with a sign after 0b
			v, _ := integer(binary, 2)
			return v
		}
	case !decimal(text):
	case isDigits(digits):
		if v, ok := integer(text, 0); ok {
			return v
		}
		fallthrough // 08, or very large
	default:
		if f, err := strconv.ParseFloat(string(text), 64); err == nil {
			return value{meaning: isFloat, float: f}
		}
	}
	return value{}
}

// integer reads digits to a base; 0 means the base of their prefix.
func integer(text []byte, base int) (value, bool) {
	if i, err := strconv.ParseInt(string(text), base, 64); err == nil {
		return value{meaning: isInt, int: i}, true
	}
	if u, err := strconv.ParseUint(string(text), base, 64); err == nil {
		return value{meaning: isUint, uint: u}, true
	}
	return value{}, false
}

// decimal reports whether text is digits, perhaps with a sign, a dot and an exponent.
func decimal(text []byte) bool {
	digits := func() (n int) {
		for n < len(text) && '0' <= text[n] && text[n] <= '9' {
			n++
		}
		text = text[n:]
		return n
	}
	sign := func() {
		if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
	}
	sign()
	n := digits()
	if len(text) > 0 && text[0] == '.' {
		text = text[1:]
		n += digits()
	}
	if n == 0 {
		return false
	}
	if len(text) > 0 && text[0]|0x20 == 'e' {
		text = text[1:]
		sign()
		if digits() == 0 {
			return false
		}
	}
	return len(text) == 0
}

// timestamps are the forms of times. A time keeps its text, so only a tag that requires
// one makes a difference.
var timestamps = []string{"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2"}

func isTimestamp(text string) bool {
	if len(text) < 5 || text[4] != '-' || !isDigits([]byte(text[:4])) {
		return false
	}
	for _, form := range timestamps {
		if _, err := time.Parse(form, text); err == nil {
			return true
		}
	}
	return false
}

func isDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// The known tags, without "tag:yaml.org,2002:".
var demands = map[string]meaning{"bool": isTrue, "int": isInt, "float": isFloat, "null": isNull, "timestamp": isTime}

const coreTags = "tag:yaml.org,2002:"

// appendScalar appends the JSON of a scalar. tag is its whole tag, "" for none. ok is
// false when the text does not fit the tag, or is a number that JSON does not have.
func appendScalar(dst, text []byte, plain bool, tag string) (out []byte, m meaning, ok bool) {
	core, isCore := strings.CutPrefix(tag, coreTags)
	like, demanded := demands[core]
	demanded = demanded && isCore
	switch {
	case tag == "" && plain:
		if isCanonicalInt(text) {
			return append(dst, text...), isInt, true
		}
		v := resolve(text, isString)
		return v.append(dst, text)
	case demanded:
		v := resolve(text, like)
		if v.meaning == isInt && like == isFloat {
			v = value{meaning: isFloat, float: float64(v.int)}
		}
		if !v.meets(like) {
			return dst, 0, false
		}
		return v.append(dst, text)
	case isCore && core == "binary":
		data, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return dst, 0, false
		}
		text = data
	}
	return value{}.append(dst, text)
}

// isCanonicalInt reports whether text is a number as in JSON: most are.
func isCanonicalInt(text []byte) bool {
	if len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return false
	}
	return isDigits(text)
}

// meets reports whether a value has the type that a tag requires.
func (v value) meets(like meaning) bool {
	switch v.meaning {
	case isFalse:
		return like == isTrue
	case isUint:
		return like == isInt
	}
	return v.meaning == like
}

func (v value) append(dst, text []byte) ([]byte, meaning, bool) {
	switch v.meaning {
	case isNull:
		return append(dst, "null"...), isNull, true
	case isTrue:
		return append(dst, "true"...), isTrue, true
	case isFalse:
		return append(dst, "false"...), isFalse, true
	case isInt:
		return strconv.AppendInt(dst, v.int, 10), isInt, true
	case isUint:
		return strconv.AppendUint(dst, v.uint, 10), isUint, true
	case isFloat:
		if math.IsInf(v.float, 0) || math.IsNaN(v.float) {
			return dst, isFloat, false
		}
		return appendFloat(dst, v.float), isFloat, true
	}
	return appendString(dst, text), isString, true
}

// appendFloat writes a number as encoding/json does.
func appendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && n-start >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendString appends a JSON string.
func appendString(dst, text []byte) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // an error reports invalid UTF-8, which is replaced
	return dst
}

// appendKey makes the JSON of a scalar the name of a member: values other than strings
// get quotes. ok is false for a value that cannot be a name.
func appendKey(dst, json []byte, m meaning) (out []byte, ok bool) {
	switch m {
	case isString:
		return append(dst, json...), true
	case isTrue, isFalse, isInt:
		return append(append(append(dst, '"'), json...), '"'), true
	case isFloat:
		f, err := strconv.ParseFloat(string(json), 64)
		if err != nil {
			return dst, false
		}
		// As a number of 32 bits, like the library.
		switch text := strconv.FormatFloat(f, 'g', -1, 32); text {
		case "+Inf":
			return append(dst, `".inf"`...), true
		case "-Inf":
			return append(dst, `"-.inf"`...), true
		default:
			return append(append(append(dst, '"'), text...), '"'), true
		}
	}
	return dst, false
}

// isText reports whether text is UTF-8 without the control characters that YAML forbids,
// and returns the position of the first mistake.
func isText(text []byte) (at int, ok bool) {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		size := printable(text[i:])
		if size == 0 {
			return i, false
		}
		i += size
	}
	return 0, true
}

var bom = []byte("\xef\xbb\xbf")

func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, bom) }
