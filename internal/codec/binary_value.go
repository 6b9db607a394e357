package codec

import (
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// value writes one value that lies in parts, in sequence.
func (r *reader) value(ref schema.Ref, parts []wireField, depth int) error {
	t := &r.table.Types[ref]
	last := parts[len(parts)-1]
	want, _ := scalarWire(t)
	for _, p := range parts {
		if uint64(p.wire) != want {
			return errKind(p.wire)
		}
	}
	switch t.Kind {
	case schema.Object:
		return r.object(ref, parts, depth+1)
	case schema.String:
		r.out = document.AppendQuoted(r.out, r.data[last.start:last.end])
	case schema.Bytes:
		r.out = append(r.out, '"')
		r.out = base64.StdEncoding.AppendEncode(r.out, r.data[last.start:last.end])
		r.out = append(r.out, '"')
	case schema.Boolean:
		r.out = strconv.AppendBool(r.out, last.value != 0)
	case schema.Integer:
		if t.Bits == 32 {
			r.out = strconv.AppendInt(r.out, int64(int32(last.value)), 10)
		} else {
			r.out = strconv.AppendInt(r.out, int64(last.value), 10)
		}
	case schema.Number:
		n := math.Float64frombits(last.value)
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return errors.New("a number is not finite")
		}
		text, err := stdjson.Marshal(n)
		if err != nil {
			return err
		}
		r.out = append(r.out, text...)
	case schema.List:
		return r.stringList(parts)
	case schema.Any:
		if t.Either() {
			return r.either(t, parts, depth)
		}
		return r.wrapped(t.Kind, parts)
	default:
		return r.wrapped(t.Kind, parts)
	}
	return nil
}

func (r *reader) stringList(parts []wireField) error {
	r.out = append(r.out, '[')
	start := len(r.out)
	for _, part := range parts {
		for i := part.start; i < part.end; {
			f, next, err := nextField(r.data[:part.end], i)
			if err != nil {
				return err
			}
			i = next
			if f.number != 1 {
				continue
			}
			if f.wire != wireBytes {
				return errKind(f.wire)
			}
			r.separate(start)
			r.out = document.AppendQuoted(r.out, r.data[f.start:f.end])
		}
	}
	r.out = append(r.out, ']')
	return nil
}

// wrapped writes the scalars that are a message of up to three fields.
func (r *reader) wrapped(kind schema.Kind, parts []wireField) error {
	var got [4]wireField // by number
	empty := true
	for _, part := range parts {
		for i := part.start; i < part.end; {
			f, next, err := nextField(r.data[:part.end], i)
			if err != nil {
				return err
			}
			i, empty = next, false
			if f.number < uint32(len(got)) {
				want := uint8(wireVarint)
				if kind == schema.Quantity || kind == schema.Any || kind == schema.IntOrString && f.number == 3 {
					want = wireBytes
				}
				if f.wire != want {
					return errKind(f.wire)
				}
				got[f.number] = f
			}
		}
	}
	switch kind {
	case schema.Quantity:
		if empty {
			r.out = append(r.out, `"0"`...)
			return nil
		}
		r.out = document.AppendQuoted(r.out, r.data[got[1].start:got[1].end])
	case schema.IntOrString:
		switch got[1].value {
		case 0:
			r.out = strconv.AppendInt(r.out, int64(int32(got[2].value)), 10)
		case 1:
			r.out = document.AppendQuoted(r.out, r.data[got[3].start:got[3].end])
		default:
			return fmt.Errorf("%d is neither 0 (a number) nor 1 (a string)", got[1].value)
		}
	case schema.Duration:
		r.out = document.AppendQuoted(r.out, time.Duration(got[1].value).String())
	case schema.Time, schema.MicroTime:
		if empty {
			r.out = append(r.out, "null"...)
			return nil
		}
		var err error
		r.out = append(r.out, '"')
		r.out, err = appendTime(r.out, int64(got[1].value), int32(got[2].value), kind == schema.MicroTime)
		r.out = append(r.out, '"')
		return err
	case schema.Any:
		raw := r.data[got[1].start:got[1].end]
		if len(raw) == 0 {
			r.out = append(r.out, "null"...)
			return nil
		}
		if !stdjson.Valid(raw) {
			return errors.New("the value is not JSON; only JSON can be embedded")
		}
		r.out = append(r.out, raw...)
	}
	return nil
}

func errKind(wire uint8) error {
	return fmt.Errorf("the wire type is %d, which is not how this field is encoded", wire)
}

// absent writes the zero value of a type, for a map entry without a value.
func (r *reader) absent(ref schema.Ref) {
	zero := "null"
	switch r.table.Types[ref].Kind {
	case schema.String, schema.Bytes:
		zero = `""`
	case schema.Integer, schema.Number, schema.IntOrString:
		zero = "0"
	case schema.Quantity:
		zero = `"0"`
	case schema.Duration:
		zero = `"0s"`
	case schema.Boolean:
		zero = "false"
	case schema.Object:
		zero = "{}"
	case schema.List:
		zero = "[]"
	}
	r.out = append(r.out, zero...)
}
