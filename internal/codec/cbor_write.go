package codec

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Append appends an object of type typ, given as canonical JSON that the document package
// wrote, in one pass over the text without a tree. The tag at the beginning is not included.
func (c *CBORCodec) Append(dst []byte, typ schema.Ref, json []byte) ([]byte, error) {
	return c.appendFrom(dst, json, func(w *cborWriter, dst []byte) ([]byte, int) { return w.value(dst, typ, 0) })
}

// AppendRest appends an object without its first members, which end before the offset from:
// an item of a list, which does not repeat its kind.
func (c *CBORCodec) AppendRest(dst []byte, typ schema.Ref, json []byte, from int) ([]byte, error) {
	return c.appendFrom(dst, json, func(w *cborWriter, dst []byte) ([]byte, int) {
		ref := untyped
		if c.needs(typ) {
			ref = typ
		}
		return w.members(dst, ref, from)
	})
}

// AppendCBOR appends any canonical JSON whose meaning needs no table: metadata, a Status.
func AppendCBOR(dst, json []byte) ([]byte, error) {
	var none *CBORCodec
	return none.appendFrom(dst, json, func(w *cborWriter, dst []byte) ([]byte, int) { return w.any(dst, 0) })
}

func (c *CBORCodec) appendFrom(dst, json []byte, write func(*cborWriter, []byte) ([]byte, int)) ([]byte, error) {
	w := cborWriter{c: c, json: json}
	dst, end := write(&w, dst)
	if end != len(json) {
		return dst, errNotCanonical
	}
	return dst, nil
}

// AppendCBORFrame appends a watch event; object appends its object, without the tag.
func AppendCBORFrame(dst []byte, event string, object func([]byte) ([]byte, error)) ([]byte, error) {
	dst = append(dst, CBORTag...)
	dst = append(dst, cborMap|2)
	dst = appendCBORString(appendCBORString(dst, "type"), event)
	dst = append(appendCBORString(dst, "object"), CBORTag...)
	return object(dst)
}

// CBORListHead turns the JSON of a list without items into the beginning of one with so many
// items, each appended after it. none is the JSON text of the items of an empty list.
func CBORListHead(dst, empty []byte, items int, none string) ([]byte, error) {
	dst, err := AppendCBOR(append(dst, CBORTag...), empty)
	if err != nil {
		return dst, err
	}
	dst = dst[:len(dst)-1] // the empty array, which is the last member
	if items == 0 && none == "null" {
		return append(dst, cborNull), nil
	}
	return appendCBORHead(dst, cborArray, uint64(items)), nil
}

func appendCBORString(dst []byte, s string) []byte {
	return append(appendCBORHead(dst, cborBytes, uint64(len(s))), s...)
}

// cborWriter is one call of Append. Its methods append the value that begins at an offset in
// json and return the offset after it, -1 for text that is not canonical.
type cborWriter struct {
	c    *CBORCodec
	json []byte
}

// at returns the byte at an offset, 0 outside of the text.
func (w *cborWriter) at(i int) byte {
	if uint(i) < uint(len(w.json)) {
		return w.json[i]
	}
	return 0
}

// past is the offset of the next byte that is not a space: values of any type may have some
// between their parts.
func (w *cborWriter) past(i int) int {
	for w.at(i) <= ' ' && w.at(i) != 0 {
		i++
	}
	return i
}

// value writes a value of a type.
func (w *cborWriter) value(dst []byte, ref schema.Ref, i int) ([]byte, int) {
	if !w.c.needs(ref) || w.at(i) == 'n' {
		return w.any(dst, i)
	}
	t := &w.c.table.Types[ref]
	switch {
	case t.Kind == schema.Bytes:
		return w.bytes(dst, i)
	case t.Kind == schema.Number:
		return w.float(dst, i)
	case w.at(i) == '{' && t.Kind == schema.Object:
		return w.object(dst, ref, i)
	case w.at(i) == '{':
		return w.entries(dst, t, i)
	case w.at(i) == '[':
		return w.list(dst, t.Elem, i)
	}
	return w.any(dst, i)
}

// any writes a value for which no table is needed.
func (w *cborWriter) any(dst []byte, i int) ([]byte, int) {
	switch w.at(i) {
	case '"':
		return w.text(dst, i)
	case '{':
		return w.object(dst, untyped, i)
	case '[':
		return w.list(dst, untyped, i)
	case 't':
		return append(dst, cborTrue), i + len("true")
	case 'f':
		return append(dst, cborFalse), i + len("false")
	case 'n':
		return append(dst, cborNull), i + len("null")
	}
	return w.number(dst, i)
}

func (w *cborWriter) object(dst []byte, ref schema.Ref, i int) ([]byte, int) {
	if i = w.past(i + 1); w.at(i) == '}' {
		return append(dst, cborMap), i + 1
	}
	return w.members(dst, ref, i)
}

// members writes an object from its member at i on.
func (w *cborWriter) members(dst []byte, ref schema.Ref, i int) ([]byte, int) {
	mark := len(dst)
	dst = append(dst, 0)
	for n := 1; ; n++ {
		key := i
		if dst, i = w.text(dst, i); i < 0 {
			return dst, -1
		}
		of := untyped
		if ref != untyped {
			t := &w.c.table.Types[ref]
			if f := t.FieldOf(w.json[key+1 : i-1]); f >= 0 {
				of = t.Fields[f].Type
			}
		}
		if i = w.past(i); w.at(i) != ':' {
			return dst, -1
		}
		dst, i = w.value(dst, of, w.past(i+1))
		switch i = w.past(i); w.at(i) {
		case ',':
			i = w.past(i + 1)
		case '}':
			return closeCBOR(dst, mark, cborMap, n), i + 1
		default:
			return dst, -1
		}
	}
}

// entries writes an object that has any names: a map, or one that a value of several forms
// may be.
func (w *cborWriter) entries(dst []byte, t *schema.Type, i int) ([]byte, int) {
	if t.Kind != schema.Map {
		return w.object(dst, t.Elem, i)
	}
	if w.at(i+1) == '}' {
		return append(dst, cborMap), i + 2
	}
	mark := len(dst)
	dst = append(dst, 0)
	for n := 1; ; n++ {
		if dst, i = w.text(dst, i+1); w.at(i) != ':' {
			return dst, -1
		}
		dst, i = w.value(dst, t.Elem, i+1)
		switch w.at(i) {
		case ',':
		case '}':
			return closeCBOR(dst, mark, cborMap, n), i + 1
		default:
			return dst, -1
		}
	}
}

func (w *cborWriter) list(dst []byte, elem schema.Ref, i int) ([]byte, int) {
	if i = w.past(i + 1); w.at(i) == ']' {
		return append(dst, cborArray), i + 1
	}
	mark := len(dst)
	dst = append(dst, 0)
	for n := 1; ; n++ {
		dst, i = w.value(dst, elem, w.past(i))
		switch i = w.past(i); w.at(i) {
		case ',':
			i++
		case ']':
			return closeCBOR(dst, mark, cborArray, n), i + 1
		default:
			return dst, -1
		}
	}
}

// text writes the contents of the string at i.
func (w *cborWriter) text(dst []byte, i int) ([]byte, int) {
	if w.at(i) != '"' {
		return dst, -1
	}
	end, plain := document.QuotedEnd(w.json, i)
	if end < 0 {
		return dst, -1
	}
	s := w.json[i+1 : end-1]
	if plain {
		return append(appendCBORHead(dst, cborBytes, uint64(len(s))), s...), end
	}
	if !document.WellEscaped(s) {
		return dst, -1
	}
	mark := len(dst)
	dst = document.AppendUnescaped(append(dst, 0), s)
	return closeCBOR(dst, mark, cborBytes, len(dst)-mark-1), end
}

// bytes writes the bytes that the string at i has in base64.
func (w *cborWriter) bytes(dst []byte, i int) ([]byte, int) {
	if w.at(i) != '"' {
		return dst, -1
	}
	end, plain := document.QuotedEnd(w.json, i)
	if end < 0 || !plain {
		return dst, -1
	}
	dst = append(dst, bytesInBase64)
	mark := len(dst)
	dst, err := base64.StdEncoding.AppendDecode(append(dst, 0), w.json[i+1:end-1])
	if err != nil {
		return dst, -1
	}
	return closeCBOR(dst, mark, cborBytes, len(dst)-mark-1), end
}

// spaces may follow a number in a value of any type.
const spaces = " \t\r\n"

// number writes a whole number that fits into 64 bits as such, any other as a floating-point
// number.
func (w *cborWriter) number(dst []byte, i int) ([]byte, int) {
	end := document.ValueEnd(w.json, i)
	if end < 0 {
		return dst, -1
	}
	n, err := strconv.ParseInt(string(bytes.TrimRight(w.json[i:end], spaces)), 10, 64)
	switch {
	case err != nil:
		return w.float(dst, i)
	case n < 0:
		return appendCBORHead(dst, cborNegative, uint64(-1-n)), end
	}
	return appendCBORHead(dst, cborUnsigned, uint64(n)), end
}

// float writes a number in the shortest floating-point form that has its value.
func (w *cborWriter) float(dst []byte, i int) ([]byte, int) {
	end := document.ValueEnd(w.json, i)
	if end < 0 {
		return dst, -1
	}
	f, err := strconv.ParseFloat(string(bytes.TrimRight(w.json[i:end], spaces)), 64)
	if err != nil {
		return dst, -1
	}
	text, err := cborWriting.Marshal(f)
	if err != nil {
		return dst, -1
	}
	return append(dst, text...), end
}
