package codec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxDepth bounds the nesting of messages.
const maxDepth = 200

// A few bytes of binary data can stand for a long member name. So that a hostile message
// cannot take much more memory than its own size, its JSON may not be longer than growth
// times the message and a grace. Real objects grow two- or threefold.
const (
	growth      = 16
	growthGrace = 64 << 10
)

var (
	errDepth  = errors.New("the binary data is nested too deeply")
	errGrowth = errors.New("the binary data holds too many empty fields")
)

// Decode turns the message of an object of type typ into JSON text for the document
// package, which checks it like any body. Members are in canonical order; invalid UTF-8
// in strings becomes U+FFFD. Fields with unknown numbers are left out. The last of
// repeated scalars counts, repeated messages of one field are merged, as the wire format
// requires.
//
// An error describes the mistake in the data.
func (b *BinaryCodec) Decode(typ schema.Ref, data []byte) ([]byte, error) {
	text, _, err := b.DecodeKnown(typ, data)
	return text, err
}

// DecodeKnown is Decode that also reports whether fields with unknown numbers were left out.
func (b *BinaryCodec) DecodeKnown(typ schema.Ref, data []byte) (text []byte, less bool, err error) {
	if t := b.typeOf(typ); t == nil || t.Kind != schema.Object {
		return nil, false, fmt.Errorf("type %d of the table has no message of its own: only objects have", typ)
	}
	r := reader{BinaryCodec: b, data: data, max: len(data)*growth + growthGrace, out: make([]byte, 0, len(data)*2+64), fields: make([]memberAt, 0, 64)}
	if err := r.object(typ, []wireField{{end: len(data)}}, 0); err != nil {
		return nil, false, err
	}
	return r.out, r.less, nil
}

// reader is one call of Decode.
type reader struct {
	*BinaryCodec
	data   []byte
	less   bool // a field with an unknown number was left out
	out    []byte
	max    int         // length of out
	fields []memberAt  // a stack: one frame per message being read
	pieces []wireField // a stack too: the positions of one member's values
}

// memberAt is one occurrence of a member.
type memberAt struct {
	member int
	wireField
}

// object writes the object whose message lies in parts, in sequence.
func (r *reader) object(ref schema.Ref, parts []wireField, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	t, p := &r.table.Types[ref], &r.plans[ref]
	frame := len(r.fields)
	for _, part := range parts {
		if err := r.collect(p, 0, part); err != nil {
			return err
		}
	}
	found := r.fields[frame:]
	byMember := func(a, b memberAt) int { return cmp.Compare(a.member, b.member) }
	if !slices.IsSortedFunc(found, byMember) {
		slices.SortStableFunc(found, byMember)
	}
	r.out = append(r.out, '{')
	first := true
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].member == found[0].member {
			n++
		}
		f := &t.Fields[found[0].member]
		pieces := len(r.pieces)
		for _, at := range found[:n] {
			r.pieces = append(r.pieces, at.wireField)
		}
		before := len(r.out)
		if !first {
			r.out = append(r.out, ',')
		}
		r.out = append(r.out, p.keys[found[0].member]...)
		written, err := r.member(f, r.pieces[pieces:], depth)
		if err != nil {
			return within("."+f.Name, err)
		}
		if written {
			first = false
		} else {
			r.out = r.out[:before]
		}
		if len(r.out) > r.max {
			return errGrowth
		}
		r.pieces = r.pieces[:pieces]
		found = found[n:]
	}
	r.out = append(r.out, '}')
	r.fields = r.fields[:frame]
	return nil
}

// collect notes the positions of the members of a message. outer is the number of the
// embedded message being read, 0 for the object's own.
func (r *reader) collect(p *plan, outer uint32, part wireField) error {
	data := r.data[:part.end]
	for i := part.start; i < len(data); {
		f, next, err := nextField(data, i)
		if err != nil {
			return err
		}
		i = next
		n := p.find(outer, f.number)
		switch {
		case n == nil:
			r.less = true
		case n.member >= 0:
			r.fields = append(r.fields, memberAt{n.member, f})
		case f.wire != wireBytes:
			return errKind(f.wire)
		default:
			if err := r.collect(p, outer<<schema.OuterBits|f.number, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// member writes the value of a member. It reports false for a zero value that
// is the same as none.
func (r *reader) member(f *schema.Field, at []wireField, depth int) (bool, error) {
	t := &r.table.Types[f.Type]
	switch {
	case t.Kind == schema.List && t.Binary != schema.BinaryStringList:
		return true, r.list(t, at, depth)
	case t.Kind == schema.Map:
		return true, r.entries(t, at, depth)
	}
	last := at[len(at)-1]
	if f.Presence == schema.Implicit {
		switch {
		case t.Kind == schema.String && last.wire == wireBytes && last.start == last.end,
			(t.Kind == schema.Integer || t.Kind == schema.Boolean) && last.wire == wireVarint && last.value == 0:
			return false, nil
		}
	}
	return true, r.value(f.Type, at, depth)
}

func (r *reader) list(t *schema.Type, at []wireField, depth int) error {
	elem := &r.table.Types[t.Elem]
	packed := elem.Kind == schema.Integer || elem.Kind == schema.Boolean
	r.out = append(r.out, '[')
	start := len(r.out)
	for i, f := range at {
		if packed && f.wire == wireBytes {
			for k := f.start; k < f.end; {
				v, next, err := readVarint(r.data[:f.end], k)
				if err != nil {
					return err
				}
				r.separate(start)
				if err := r.value(t.Elem, []wireField{{wire: wireVarint, value: v}}, depth); err != nil {
					return err
				}
				k = next
			}
			continue
		}
		r.separate(start)
		if err := r.value(t.Elem, at[i:i+1], depth); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
		if len(r.out) > r.max {
			return errGrowth
		}
	}
	r.out = append(r.out, ']')
	return nil
}

// separate writes a comma unless out ends at start.
func (r *reader) separate(start int) {
	if len(r.out) > start {
		r.out = append(r.out, ',')
	}
}

// entry is one entry of a map.
type entry struct {
	key   []byte
	value []wireField
}

// entries writes a map, its keys sorted; the last of equal keys counts.
func (r *reader) entries(t *schema.Type, at []wireField, depth int) error {
	all := make([]entry, 0, min(len(at), 64))
	for _, f := range at {
		if f.wire != wireBytes {
			return errKind(f.wire)
		}
		var e entry
		data := r.data[:f.end]
		for i := f.start; i < f.end; {
			in, next, err := nextField(data, i)
			if err != nil {
				return err
			}
			i = next
			switch {
			case in.number == 1 && in.wire == wireBytes:
				e.key = data[in.start:in.end]
			case in.number == 1:
				return errKind(in.wire)
			case in.number == 2:
				e.value = append(e.value, in)
			}
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	r.out = append(r.out, '{')
	start := len(r.out)
	for i, e := range all {
		if i+1 < len(all) && bytes.Equal(e.key, all[i+1].key) {
			continue
		}
		r.separate(start)
		r.out = document.AppendQuoted(r.out, e.key)
		r.out = append(r.out, ':')
		if len(e.value) == 0 {
			r.absent(t.Elem)
		} else if err := r.value(t.Elem, e.value, depth); err != nil {
			return within("["+string(e.key)+"]", err)
		}
		if len(r.out) > r.max {
			return errGrowth
		}
	}
	r.out = append(r.out, '}')
	return nil
}

// pathError is a mistake at a path of the object.
type pathError struct {
	path string // each element is ".name" or "[index or key]"
	err  error
}

func (e *pathError) Error() string { return strings.TrimPrefix(e.path, ".") + ": " + e.err.Error() }

func (e *pathError) Unwrap() error { return e.err }

// within adds an element in front of the path of an error.
func within(element string, err error) error {
	if inner, ok := err.(*pathError); ok {
		return &pathError{element + inner.path, inner.err}
	}
	return &pathError{element, err}
}
