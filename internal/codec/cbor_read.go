package codec

import (
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Decode turns an object of type typ into JSON text for the document package, which checks it
// like any body. The text is at most six times as long as the data, and so is the work.
//
// Refused are data that have no form in JSON, and maps with a key twice, whatever validation a
// client asks for: unlike JSON with repeated names, such data are not valid. A byte string may
// have bytes that are not UTF-8, each of which becomes U+FFFD; a text string and a key are refused
// for them.
//
// An error describes the mistake in the data.
func (c *CBORCodec) Decode(typ schema.Ref, data []byte) ([]byte, error) {
	if err := cborReading.Wellformed(data); err != nil {
		return nil, fmt.Errorf("cbor: %w", withoutPrefix{err})
	}
	r := cborReader{c: c, data: data, out: make([]byte, 0, len(data)+len(data)/4+64)}
	if err := r.value(typ, 0); err != nil {
		return nil, err
	}
	return r.out, nil
}

// DecodeCBOR turns a value whose types are not known into JSON text.
func DecodeCBOR(data []byte) ([]byte, error) {
	var none *CBORCodec
	return none.Decode(untyped, data)
}

// withoutPrefix is an error of the library, some of which begin with its name.
type withoutPrefix struct{ error }

func (e withoutPrefix) Error() string { return strings.TrimPrefix(e.error.Error(), "cbor: ") }

func (e withoutPrefix) Unwrap() error { return e.error }

// cborReader is one call of Decode. The data are well-formed: heads and contents are complete,
// and nothing is nested too deeply.
type cborReader struct {
	c    *CBORCodec
	data []byte
	at   int
	out  []byte
	keys []span // a stack: the positions in out of the names of the maps being read
}

// head reads a head. An unbounded one has the number 0.
func (r *cborReader) head() (major, low byte, n uint64) {
	b := r.data[r.at]
	r.at++
	major, low = b&0xe0, b&0x1f
	if low < cborShortest {
		return major, low, uint64(low)
	}
	if low == cborUnbounded {
		return major, low, 0
	}
	for range 1 << (low - cborShortest) {
		n = n<<8 | uint64(r.data[r.at])
		r.at++
	}
	return major, low, n
}

// more reports whether a container has another element after i; low and n are those of its head.
func (r *cborReader) more(low byte, i, n uint64) bool {
	if low != cborUnbounded {
		return i < n
	}
	if r.data[r.at] != cborBreak {
		return true
	}
	r.at++
	return false
}

// value writes a value of a type. later is the tag that says how the byte strings in it are
// spelled in text, 0 for none.
func (r *cborReader) value(ref schema.Ref, later uint64) error {
	t := r.c.typeOf(ref)
	start := r.at
	major, low, n := r.head()
	switch major {
	case cborUnsigned, cborNegative:
		return r.integer(t, major, n)
	case cborBytes, cborText:
		r.at = start
		return r.text(t, later)
	case cborArray:
		return r.array(t, low, n, later)
	case cborMap:
		return r.object(t, low, n, later)
	case cborTagged:
		return r.tagged(ref, n, start, later)
	}
	switch b := r.data[start]; b {
	case cborFalse:
		r.out = append(r.out, "false"...)
	case cborTrue:
		r.out = append(r.out, "true"...)
	case cborNull:
		r.out = append(r.out, "null"...)
	default:
		if b < cborFloat16 || b > cborFloat64 {
			return fmt.Errorf("cbor: simple value %d is not recognized; only false, true and null are", n)
		}
		return r.float(t, start)
	}
	return nil
}

func (r *cborReader) integer(t *schema.Type, major byte, n uint64) error {
	switch {
	case t != nil && t.Kind == schema.Quantity:
		return errors.New("cbor: a quantity is a number; send it as a string")
	case major == cborNegative && n > math.MaxInt64, n > math.MaxInt64 && (t == nil || t.Kind == schema.Any):
		return errors.New("cbor: an integer does not fit into 64 bits with a sign")
	case major == cborNegative:
		r.out = strconv.AppendInt(r.out, -1-int64(n), 10)
	default:
		r.out = strconv.AppendUint(r.out, n, 10)
	}
	return nil
}

// float writes the number at start. A whole one stays distinct from an integer where its type
// wants one.
func (r *cborReader) float(t *schema.Type, start int) error {
	var f float64
	if err := cborReading.Unmarshal(r.data[start:r.at], &f); err != nil {
		return err
	}
	text, err := stdjson.Marshal(f)
	if err != nil {
		return err
	}
	r.out = append(r.out, text...)
	if t == nil {
		return nil
	}
	switch t.Kind {
	case schema.Quantity:
		return errors.New("cbor: a quantity is a number; send it as a string")
	case schema.Integer, schema.IntOrString:
		if f == math.Trunc(f) && !strings.ContainsAny(string(text), ".e") {
			r.out = append(r.out, ".0"...)
		}
	}
	return nil
}

// tagged writes the contents of a tag, whose head begins at start.
func (r *cborReader) tagged(ref schema.Ref, tag uint64, start int, later uint64) error {
	content := r.data[r.at]
	switch tag {
	case tagTime, tagEpoch:
		if tag == tagTime && content&0xe0 != cborText {
			return errors.New("cbor: the tag of a time in RFC 3339 is not followed by a text string")
		}
		if r.c.typeOf(ref) == nil || r.c.table.Types[ref].Kind == schema.Any {
			return r.time(start)
		}
	case tagBignum, tagNegative:
		return errors.New("cbor: a number has more than 64 bits; send a smaller one")
	case tagBase64URL, tagBase64, tagBase16:
		later = tag
	}
	return r.value(ref, later)
}

// time writes the time whose tag begins at start, as text.
func (r *cborReader) time(start int) error {
	var text any
	rest, err := cborReading.UnmarshalFirst(r.data[start:], &text)
	if err != nil {
		return err
	}
	r.at = len(r.data) - len(rest)
	s, ok := text.(string)
	if !ok {
		return errors.New("cbor: the tag of a time is followed by something else")
	}
	r.out = document.AppendQuoted(r.out, s)
	return nil
}

// text writes a byte or text string as a JSON string.
func (r *cborReader) text(t *schema.Type, later uint64) error {
	s, major, valid := r.contents()
	switch {
	case !valid:
		return errors.New("cbor: a text string is not UTF-8")
	case major == cborText && t != nil && t.Kind == schema.Bytes:
		return errors.New("cbor: a field of bytes is a text string; send a byte string")
	case major == cborText || later == 0:
		r.out = document.AppendQuoted(r.out, s)
		return nil
	case t != nil && t.Kind == schema.Bytes:
		later = tagBase64 // whatever its tag says, the bytes are meant
	}
	r.out = append(r.out, '"')
	switch later {
	case tagBase64URL:
		r.out = base64.RawURLEncoding.AppendEncode(r.out, s)
	case tagBase64:
		r.out = base64.StdEncoding.AppendEncode(r.out, s)
	default:
		r.out = hex.AppendEncode(r.out, s)
	}
	r.out = append(r.out, '"')
	return nil
}

// contents reads the contents of a string, and joins its chunks. Each chunk of a valid text
// string is UTF-8.
func (r *cborReader) contents() (s []byte, major byte, valid bool) {
	major, low, n := r.head()
	if low != cborUnbounded {
		s = r.chunk(n)
		return s, major, major != cborText || utf8.Valid(s)
	}
	valid = true
	for r.more(low, 0, 0) {
		_, _, n := r.head()
		part := r.chunk(n)
		valid = valid && (major != cborText || utf8.Valid(part))
		s = append(s, part...)
	}
	return s, major, valid
}

func (r *cborReader) chunk(n uint64) []byte {
	s := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return s
}

func (r *cborReader) array(t *schema.Type, low byte, n, later uint64) error {
	elem := untyped
	if t != nil && (t.Kind == schema.List || t.Kind == schema.Any) {
		elem = t.Elem
	}
	r.out = append(r.out, '[')
	for i := uint64(0); r.more(low, i, n); i++ {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		if err := r.value(elem, later); err != nil {
			return within("["+strconv.FormatUint(i, 10)+"]", err)
		}
	}
	r.out = append(r.out, ']')
	return nil
}

// object writes a map.
func (r *cborReader) object(t *schema.Type, low byte, n, later uint64) error {
	frame := len(r.keys)
	r.out = append(r.out, '{')
	if t != nil && t.Kind == schema.Any {
		t = r.c.typeOf(t.Elem)
	}
	for i := uint64(0); r.more(low, i, n); i++ {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		start := len(r.out)
		r.out = document.AppendQuoted(r.out, key)
		r.keys = append(r.keys, span{start, len(r.out)})
		r.out = append(r.out, ':')
		of := untyped
		switch {
		case t == nil:
		case t.Kind == schema.Object:
			if f := t.FieldOf(key); f >= 0 {
				of = t.Fields[f].Type
			}
		default:
			of = t.Elem
		}
		if err := r.value(of, later); err != nil {
			return within("."+string(key), err)
		}
	}
	r.out = append(r.out, '}')
	err := r.repeated(r.keys[frame:])
	r.keys = r.keys[:frame]
	return err
}

// key reads the name of a member.
func (r *cborReader) key() ([]byte, error) {
	for r.data[r.at]&0xe0 == cborTagged {
		if _, _, tag := r.head(); tag != tagSelf {
			return nil, fmt.Errorf("cbor: a key of a map has the tag %d; send it without", tag)
		}
	}
	if major := r.data[r.at] & 0xe0; major != cborBytes && major != cborText {
		return nil, errors.New("cbor: a key of a map is not a string")
	}
	s, _, _ := r.contents()
	if !utf8.Valid(s) { // else two names could become one
		return nil, errors.New("cbor: a key of a map is not UTF-8")
	}
	return s, nil
}
