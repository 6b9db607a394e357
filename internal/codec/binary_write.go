package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

var errSyntax = errors.New("the stored text is not canonical JSON; the store may be damaged")

// Append appends the message of an object of type typ, given as canonical JSON that the
// document package wrote. The envelope is not included.
//
// It is one pass over the text without a tree. Objects whose canonical order is the order
// of their numbers are written as they are read. The members of other objects are too,
// and then reordered by copying. Members that are not in canonical order give a valid
// message in another order.
//
// An error means that the text is not a canonical object of that type.
func (b *BinaryCodec) Append(dst []byte, typ schema.Ref, json []byte) ([]byte, error) {
	if t := b.typeOf(typ); t == nil || t.Kind != schema.Object {
		return dst, fmt.Errorf("type %d of the table has no message of its own: only objects have", typ)
	}
	w := writers.Get().(*writer)
	w.BinaryCodec, w.json = b, json
	dst, end := w.object(dst, typ, 0)
	err := w.err
	if end != len(json) && err == nil {
		err = errSyntax
	}
	*w = writer{spans: w.spans[:0], order: w.order[:0]}
	if cap(w.order) <= mostOrder {
		writers.Put(w)
	}
	return dst, err
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// mostOrder bounds the memory in bytes that a writer keeps for later calls.
const mostOrder = 64 << 10

// writer is one call of Append. Its methods append the value that begins at an offset in
// json and return the offset after it, -1 on an error.
type writer struct {
	*BinaryCodec
	json  []byte
	err   error  // the reason for an offset of -1, unless it is the syntax
	spans []span // a stack: one frame per object being put in order
	order []byte // the members of one of them, while arrange copies them
}

// span is the position of a written member in dst; empty for an absent one.
type span struct{ start, end int }

// at returns the byte at an offset, 0 outside of the text.
func (w *writer) at(i int) byte {
	if uint(i) < uint(len(w.json)) {
		return w.json[i]
	}
	return 0
}

func (w *writer) object(dst []byte, ref schema.Ref, i int) ([]byte, int) {
	if w.at(i) != '{' {
		return dst, -1
	}
	p := &w.plans[ref]
	if w.at(i+1) == '}' {
		return append(dst, p.empty...), i + 2
	}
	if p.inOrder {
		return w.orderedObject(dst, p, ref, i+1)
	}
	return w.sortedObject(dst, p, ref, i+1)
}

// orderedObject writes the members in their order and zeros for absent ones.
func (w *writer) orderedObject(dst []byte, p *plan, ref schema.Ref, i int) ([]byte, int) {
	next := 0 // slot
	for cursor := 0; ; i++ {
		var f int
		if f, i = w.key(p, ref, cursor, i); i < 0 {
			return dst, -1
		}
		if f < 0 || p.members[f].tag.size == 0 || w.at(i) == 'n' {
			if i = document.ValueEnd(w.json, i); i < 0 {
				return dst, -1
			}
		} else {
			m := &p.members[f]
			for ; next < m.slot; next++ {
				if zero := p.slots[next].zero; zero != "" {
					dst = append(dst, zero...)
				}
			}
			next = m.slot + 1
			if dst, i = w.member(dst, m, i); i < 0 {
				return dst, -1
			}
		}
		cursor = max(cursor, f+1)
		if w.at(i) != ',' {
			break
		}
	}
	for ; next < len(p.slots); next++ {
		dst = append(dst, p.slots[next].zero...)
	}
	if w.at(i) != '}' {
		return dst, -1
	}
	return dst, i + 1
}

// sortedObject writes the members in their order and then sorts them.
func (w *writer) sortedObject(dst []byte, p *plan, ref schema.Ref, i int) ([]byte, int) {
	start, frame := len(dst), len(w.spans)
	w.spans = slices.Grow(w.spans, len(p.slots))[:frame+len(p.slots)]
	clear(w.spans[frame:])
	for cursor := 0; ; i++ {
		var f int
		if f, i = w.key(p, ref, cursor, i); i < 0 {
			return dst, -1
		}
		if f < 0 || p.members[f].tag.size == 0 || w.at(i) == 'n' {
			if i = document.ValueEnd(w.json, i); i < 0 {
				return dst, -1
			}
		} else {
			m := &p.members[f]
			from := len(dst)
			if dst, i = w.member(dst, m, i); i < 0 {
				return dst, -1
			}
			w.spans[frame+m.slot] = span{from, len(dst)}
		}
		cursor = max(cursor, f+1)
		if w.at(i) != ',' {
			break
		}
	}
	if w.at(i) != '}' {
		return dst, -1
	}
	dst, w.order = arrange(dst, p, w.spans[frame:], start, w.order[:0])
	w.spans = w.spans[:frame]
	return dst, i + 1
}

// arrange reorders the members written from start on by their slots, with zeros for
// absent ones. It uses the memory of order, and returns it as long as it has grown.
func arrange(dst []byte, p *plan, spans []span, start int, order []byte) (arranged, grown []byte) {
	for at := range p.slots {
		s := &p.slots[at]
		switch sp := spans[at]; {
		case sp.end > sp.start:
			order = append(order, dst[sp.start:sp.end]...)
		case s.embedded.size > 0:
			order = s.embedded.appendTo(order)
			order = binary.AppendUvarint(order, uint64(p.embeddedSize(spans, at)))
		case s.zero != "":
			order = append(order, s.zero...)
		}
	}
	return append(dst[:start], order...), order
}

// embeddedSize is the size of the embedded message that begins at a slot.
func (p *plan) embeddedSize(spans []span, at int) (size int) {
	for k := at + 1; k <= at+p.slots[at].inner; k++ {
		switch s, sp := &p.slots[k], spans[k]; {
		case sp.end > sp.start:
			size += sp.end - sp.start
		case s.embedded.size > 0:
			within := p.embeddedSize(spans, k)
			size += int(s.embedded.size) + len(binary.AppendUvarint(nil, uint64(within)))
		default:
			size += len(s.zero)
		}
	}
	return size
}

// key reads the member name at i: the index of its field, -1 for an unknown one, and the
// offset of its value. The search begins at the cursor, because members come in the order
// of the fields.
func (w *writer) key(p *plan, ref schema.Ref, cursor, i int) (field, value int) {
	json := w.json
	for k := cursor; k < len(p.keys); k++ {
		key := p.keys[k]
		if end := i + len(key); end < len(json) && json[end-1] == ':' && string(json[i:end]) == key {
			return k, end
		}
	}
	if w.at(i) != '"' {
		return -1, -1
	}
	end, _ := document.QuotedEnd(json, i)
	if end < 0 || w.at(end) != ':' {
		return -1, -1
	}
	return w.table.Types[ref].Field(string(json[i+1 : end-1])), end + 1
}

// member writes a value that is not null, with its tag; an empty list or map
// writes nothing.
func (w *writer) member(dst []byte, m *memberPlan, i int) ([]byte, int) {
	f := &w.forms[m.typ]
	switch {
	case f.kind == schema.String: // the most frequent
		return w.text(m.tag.appendTo(dst), i)
	case f.kind == schema.List && !f.wrapped:
		return w.list(dst, m, f, i)
	case f.kind == schema.Map:
		return w.entries(dst, m, f, i)
	}
	return w.value(m.tag.appendTo(dst), m.typ, i)
}

func (w *writer) list(dst []byte, m *memberPlan, f *form, i int) ([]byte, int) {
	if w.at(i) != '[' {
		return dst, -1
	}
	if w.at(i+1) == ']' {
		return dst, i + 2
	}
	for {
		if dst, i = w.value(m.tag.appendTo(dst), f.elem, i+1); i < 0 {
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

// entries writes a map: one message {1: key, 2: value} per member.
func (w *writer) entries(dst []byte, m *memberPlan, f *form, i int) ([]byte, int) {
	if w.at(i) != '{' {
		return dst, -1
	}
	if w.at(i+1) == '}' {
		return dst, i + 2
	}
	for {
		var mark int
		dst, mark = openLength(m.tag.appendTo(dst))
		if dst, i = w.text(append(dst, 1<<3|wireBytes), i+1); w.at(i) != ':' {
			return dst, -1
		}
		if w.at(i+1) == 'n' && w.forms[f.elem].kind == schema.Bytes {
			i += 1 + len("null") // null differs from 0 bytes
		} else if dst, i = w.value(append(dst, 2<<3|f.wire), f.elem, i+1); i < 0 {
			return dst, -1
		}
		dst = closeLength(dst, mark)
		switch w.at(i) {
		case ',':
		case '}':
			return dst, i + 1
		default:
			return dst, -1
		}
	}
}

// text writes the contents of the string at i with their length.
func (w *writer) text(dst []byte, i int) ([]byte, int) {
	if w.at(i) != '"' {
		return dst, -1
	}
	end, plain := document.QuotedEnd(w.json, i)
	if end < 0 {
		return dst, -1
	}
	s := w.json[i+1 : end-1]
	if plain {
		if len(s) < 0x80 {
			dst = append(dst, byte(len(s)))
		} else {
			dst = binary.AppendUvarint(dst, uint64(len(s)))
		}
		return append(dst, s...), end
	}
	if !document.WellEscaped(s) {
		return dst, -1
	}
	dst, mark := openLength(dst)
	return closeLength(document.AppendUnescaped(dst, s), mark), end
}
