package codec

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// either appends the contents of the message of a value that is an object or
// something else.
func (w *writer) either(dst []byte, f *form, i int) ([]byte, int) {
	object := byte(1) // its number
	if f.binary == schema.BinaryObjectOrBoolean {
		object = 2
		if w.at(i) == 'f' {
			return append(dst, 1<<3|wireVarint, 0), i + len("false")
		}
		dst = append(dst, 1<<3|wireVarint, 1)
		if w.at(i) == 't' {
			return dst, i + len("true")
		}
	}
	switch {
	case w.at(i) == '{':
		dst, mark := openLength(append(dst, object<<3|wireBytes))
		if dst, i = w.object(dst, f.elem, i); i < 0 {
			return dst, -1
		}
		return closeLength(dst, mark), i
	case f.binary == schema.BinaryObjectOrList:
		return w.list(dst, &memberPlan{tag: newTag(2, wireBytes)}, f, i)
	case f.binary == schema.BinaryObjectOrStrings:
		return w.strings(dst, i)
	}
	return dst, -1
}

// strings appends a list of strings as repeated field 2.
func (w *writer) strings(dst []byte, i int) ([]byte, int) {
	if w.at(i) != '[' {
		return dst, -1
	}
	if w.at(i+1) == ']' {
		return dst, i + 2
	}
	for {
		if dst, i = w.text(append(dst, 2<<3|wireBytes), i+1); i < 0 {
			return dst, -1
		}
		switch w.at(i) {
		case ',':
		case ']':
			return dst, i + 1
		default:
			return dst, -1
		}
	}
}

// either writes a value that is an object or something else. When both are present the
// object counts.
func (r *reader) either(t *schema.Type, parts []wireField, depth int) error {
	boolean := t.Binary == schema.BinaryObjectOrBoolean
	var objects, others []wireField
	for _, part := range parts {
		for i := part.start; i < part.end; {
			f, next, err := nextField(r.data[:part.end], i)
			if err != nil {
				return err
			}
			i = next
			if f.number != 1 && f.number != 2 {
				continue
			}
			object, want := f.number == 1, uint8(wireBytes)
			if boolean {
				if object = !object; !object {
					want = wireVarint
				}
			}
			if f.wire != want {
				return errKind(f.wire)
			}
			if object {
				objects = append(objects, f)
			} else {
				others = append(others, f)
			}
		}
	}
	switch {
	case len(objects) > 0:
		return r.object(t.Elem, objects, depth+1)
	case boolean:
		r.out = strconv.AppendBool(r.out, len(others) > 0 && others[len(others)-1].value != 0)
	case len(others) == 0:
		r.out = append(r.out, "null"...)
	case t.Binary == schema.BinaryObjectOrList:
		return r.list(t, others, depth)
	default:
		r.out = append(r.out, '[')
		start := len(r.out)
		for _, f := range others {
			r.separate(start)
			r.out = document.AppendQuoted(r.out, r.data[f.start:f.end])
		}
		r.out = append(r.out, ']')
	}
	return nil
}
