package codec

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// value writes one value after its tag. A null, which only an element can be here, is
// written as the zero value.
func (w *writer) value(dst []byte, ref schema.Ref, i int) ([]byte, int) {
	if w.at(i) == 'n' {
		return append(dst, w.zeros[ref]...), i + len("null")
	}
	f := &w.forms[ref]
	switch f.kind {
	case schema.String:
		return w.text(dst, i)
	case schema.Integer:
		n, i := w.integer(i)
		return binary.AppendUvarint(dst, uint64(n)), i
	case schema.Boolean:
		if w.at(i) == 't' {
			return append(dst, 1), i + len("true")
		}
		return append(dst, 0), i + len("false")
	case schema.Number:
		end := document.ValueEnd(w.json, i)
		if end < 0 {
			return dst, -1
		}
		n, err := strconv.ParseFloat(string(w.json[i:end]), 64)
		if err != nil {
			return dst, w.fail(err)
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(n)), end
	}
	dst, mark := openLength(dst)
	if f.kind == schema.Object {
		dst, i = w.object(dst, ref, i)
	} else {
		dst, i = w.message(dst, f, i)
	}
	if i < 0 {
		return dst, -1
	}
	return closeLength(dst, mark), i
}

// message writes the contents of a scalar that is a message of its own.
func (w *writer) message(dst []byte, f *form, i int) ([]byte, int) {
	switch f.kind {
	case schema.Any:
		if f.binary >= schema.BinaryObjectOrList {
			return w.either(dst, f, i)
		}
		end := document.ValueEnd(w.json, i)
		if end < 0 {
			return dst, -1
		}
		dst = append(dst, 1<<3|wireBytes)
		dst = binary.AppendUvarint(dst, uint64(end-i))
		return append(dst, w.json[i:end]...), end
	case schema.List:
		return w.list(dst, &memberPlan{tag: newTag(1, wireBytes)}, f, i)
	case schema.Quantity:
		return w.text(append(dst, 1<<3|wireBytes), i)
	case schema.IntOrString:
		if w.at(i) == '"' {
			return w.text(append(dst, "\x08\x01\x10\x00\x1a"...), i)
		}
		n, i := w.integer(i)
		dst = append(dst, "\x08\x00\x10"...)
		dst = binary.AppendUvarint(dst, uint64(n))
		return append(dst, "\x1a\x00"...), i
	}
	// The rest are strings without escapes in JSON.
	if w.at(i) != '"' {
		return dst, -1
	}
	end, plain := document.QuotedEnd(w.json, i)
	if end < 0 || !plain {
		return dst, -1
	}
	text := w.json[i+1 : end-1]
	switch f.kind {
	case schema.Bytes:
		var err error
		if dst, err = base64.StdEncoding.AppendDecode(dst, text); err != nil {
			return dst, w.fail(err)
		}
	case schema.Time, schema.MicroTime:
		seconds, nanos, err := parseTime(text)
		if err != nil {
			return dst, w.fail(err)
		}
		if f.kind == schema.Time {
			nanos = 0
		}
		dst = binary.AppendUvarint(append(dst, 1<<3|wireVarint), uint64(seconds))
		dst = binary.AppendUvarint(append(dst, 2<<3|wireVarint), uint64(nanos))
	case schema.Duration:
		d, err := time.ParseDuration(string(text))
		if err != nil {
			return dst, w.fail(err)
		}
		dst = binary.AppendUvarint(append(dst, 1<<3|wireVarint), uint64(d))
	default:
		return dst, -1
	}
	return dst, end
}

// integer reads the number at i.
func (w *writer) integer(i int) (int64, int) {
	negative := w.at(i) == '-'
	if negative {
		i++
	}
	start := i
	var n uint64
	for ; i < len(w.json) && '0' <= w.json[i] && w.json[i] <= '9'; i++ {
		n = n*10 + uint64(w.json[i]-'0')
	}
	if i == start || i-start > 19 {
		return 0, -1
	}
	if negative {
		return -int64(n), i
	}
	return int64(n), i
}

// fail notes the reason for returning the offset -1.
func (w *writer) fail(err error) int {
	w.err = err
	return -1
}
