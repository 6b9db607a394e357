package document

import (
	"github.com/capstan-dev/capstan/internal/schema"
)

// ReadStored reads bytes that AppendJSON wrote for a value of type typ. They are trusted:
// only their first and last byte are checked, and nothing is changed. Containers become
// nodes on demand; a damaged one has no children then. The document refers to data, which
// must not change until its Release. Errors are *SyntaxError and *LimitError.
func ReadStored(t *schema.Table, typ schema.Ref, data []byte) (*Document, error) {
	return readCanonical(t, typ, data, stored)
}

// ReadCanonical is ReadStored for bytes that have not been validated.
func ReadCanonical(t *schema.Table, typ schema.Ref, data []byte) (*Document, error) {
	return readCanonical(t, typ, data, 0)
}

func readCanonical(t *schema.Table, typ schema.Ref, data []byte, flags uint8) (*Document, error) {
	if len(data) > maxText {
		return nil, &LimitError{"bytes", maxText}
	}
	if t == nil || typ < 0 || int(typ) >= len(t.Types) {
		t, typ = nil, schema.None
	}
	d := fromPool(t, data)
	d.nodes[1].typ = typ
	if last := len(data) - 1; last > 1 && (data[0] == '{' && data[last] == '}' || data[0] == '[' && data[last] == ']') {
		d.fold(1, data[0], 0, uint32(len(data)), flags)
		return d, nil
	}
	r := reader{d: d, table: t, buf: data}
	if !r.value(1, typ) || r.pos != len(data) {
		pos := min(r.pos, len(data))
		d.Release()
		return nil, &SyntaxError{pos, "the stored object is damaged"}
	}
	return d, nil
}

// fold makes n a container with that canonical text.
func (d *Document) fold(n int32, bracket byte, off, size uint32, flags uint8) {
	nd := &d.nodes[n]
	nd.kind, nd.off, nd.size = Object, off, size
	if bracket == '[' {
		nd.kind = Array
	}
	nd.flags |= clean | flags
	if size > 2 {
		nd.flags |= folded
	}
}

// maxFolded is the depth of nodes below which a container is read as a whole, so that
// deep nesting does not skip the same bytes over and over.
const maxFolded = 16

// unfold makes the children of n if that has not been done.
func (d *Document) unfold(n int32) {
	nd := &d.nodes[n]
	if nd.flags&folded == 0 {
		return
	}
	nd.flags &^= folded
	r := reader{d: d, table: d.table, flags: nd.flags & stored}
	text := d.src
	if nd.off&sideBit != 0 {
		text, r.bit = d.side, sideBit
	}
	r.pos = int(nd.off &^ sideBit)
	r.buf = text[: r.pos+int(nd.size) : r.pos+int(nd.size)]
	depth := 0
	for m := nd.parent; m != 0; m = d.nodes[m].parent {
		depth++
	}
	r.lazy = depth < maxFolded
	ok := false
	if nd.kind == Array {
		ok = r.list(n, nd.typ)
	} else {
		ok = r.object(n, nd.typ)
	}
	if !ok || r.pos != len(r.buf) {
		d.nodes[n].first, d.nodes[n].last = 0, 0
	}
}

// children is the first child of n, 0 for none. It may make nodes, so pointers to nodes
// are invalid after it.
func (d *Document) children(n int32) int32 {
	if d.nodes[n].flags&folded != 0 {
		d.unfold(n)
	}
	return d.nodes[n].first
}

// childless reports whether the container n is empty.
func (d *Document) childless(n int32) bool {
	nd := &d.nodes[n]
	return nd.first == 0 && nd.flags&folded == 0
}

// maxStoredDepth bounds the nesting of trusted text.
const maxStoredDepth = 10_000

// reader walks canonical text once. Its methods return false at text that cannot be
// canonical; then the whole document is given up.
type reader struct {
	d     *Document
	table *schema.Table
	buf   []byte
	pos   int
	bit   uint32 // sideBit when buf is the side buffer
	depth int
	lazy  bool  // leave containers folded; buf ends at the end of the current container
	flags uint8 // stored, or 0: a flag for containers
}

// at is the byte at pos, 0 at the end.
func (r *reader) at() byte {
	if r.pos < len(r.buf) {
		return r.buf[r.pos]
	}
	return 0
}

// value reads a value into n.
func (r *reader) value(n int32, typ schema.Ref) bool {
	start := r.pos
	var kind Kind
	var flags uint8
	if c := r.at(); r.lazy && (c == '{' || c == '[') {
		end := r.end(n, c)
		if end < 0 {
			return false
		}
		r.pos = end
		r.d.fold(n, c, uint32(start)|r.bit, uint32(end-start), r.flags)
		return true
	}
	switch r.at() {
	case '"':
		end, plain := QuotedEnd(r.buf, start)
		if end < 0 {
			return false
		}
		r.pos = end
		kind = String
		if !plain {
			flags = escaped
		}
	case '{':
		r.depth++
		if r.depth > maxStoredDepth || !r.object(n, typ) {
			return false
		}
		r.depth--
		kind, flags = Object, clean|r.flags
	case '[':
		r.depth++
		if r.depth > maxStoredDepth || !r.list(n, typ) {
			return false
		}
		r.depth--
		kind, flags = Array, clean|r.flags
	case 't':
		kind = Bool
		r.literal("true")
	case 'f':
		kind = Bool
		r.literal("false")
	case 'n':
		kind = Null
		r.literal("null")
	default:
		end, ok := numberEnd(r.buf, start)
		if !ok {
			return false
		}
		kind, r.pos = Number, end
	}
	if r.pos == start {
		return false
	}
	nd := &r.d.nodes[n]
	nd.kind, nd.off, nd.size = kind, uint32(start)|r.bit, uint32(r.pos-start)
	nd.flags |= flags
	return true
}

// end is the position after the container at pos, the future n, -1 when it has none. The
// last field of a type ends where the object does, since members are in order and no
// other may follow: metadata.managedFields and status, most of the text of many objects,
// are not scanned.
func (r *reader) end(n int32, bracket byte) int {
	nd := &r.d.nodes[n]
	if nd.field != noField {
		t := &r.table.Types[r.d.nodes[nd.parent].typ]
		if end := len(r.buf) - 1; int(nd.field) == len(t.Fields)-1 && !t.Open && end-1 > r.pos && r.buf[end-1] == bracket+2 {
			return end
		}
	}
	return containerEnd(r.buf, r.pos)
}

// literal moves past the word if it is there.
func (r *reader) literal(word string) {
	if end := r.pos + len(word); end <= len(r.buf) && string(r.buf[r.pos:end]) == word {
		r.pos = end
	}
}

// QuotedEnd returns the position after the string at i, -1 if it has no end, and whether
// it has no escapes.
func QuotedEnd(b []byte, i int) (end int, plain bool) {
	plain = true
	for i++; ; i += 2 {
		i = textEnd(b, i, 0)
		switch {
		case i >= len(b) || b[i] < ' ':
			return -1, false
		case b[i] == '"':
			return i + 1, plain
		}
		plain = false
	}
}

func (r *reader) list(n int32, typ schema.Ref) bool {
	elem := schema.None
	if typ >= 0 {
		if t := &r.table.Types[typ]; t.Kind == schema.List {
			elem = t.Elem
		}
	}
	r.pos++
	if r.at() == ']' {
		r.pos++
		return true
	}
	d := r.d
	for prev := int32(0); ; {
		d.nodes = append(d.nodes, node{parent: n, typ: elem, field: noField})
		m := int32(len(d.nodes) - 1)
		if prev == 0 {
			d.nodes[n].first = m
		} else {
			d.nodes[prev].next = m
		}
		prev = m
		if !r.value(m, elem) {
			return false
		}
		c := r.at()
		r.pos++
		if c == ']' {
			d.nodes[n].last = m
			return true
		}
		if c != ',' {
			return false
		}
	}
}

func (r *reader) object(n int32, typ schema.Ref) bool {
	var fields []schema.Field
	elem := schema.None
	if typ >= 0 {
		switch t := &r.table.Types[typ]; t.Kind {
		case schema.Object:
			fields = t.Fields
		case schema.Map:
			elem = t.Elem
		}
	}
	r.pos++
	if r.at() == '}' {
		r.pos++
		return true
	}
	d := r.d
	prev := int32(0)
	for hint := 0; ; {
		m := node{parent: n, typ: elem, field: noField}
		i := r.field(fields, hint)
		if i >= 0 {
			hint = i + 1
			m.typ, m.field = fields[i].Type, uint16(i)
			r.pos += len(fields[i].Name) + 2
		} else {
			end, plain := -1, false
			if r.at() == '"' {
				end, plain = QuotedEnd(r.buf, r.pos)
			}
			if end < 0 {
				return false
			}
			m.key, m.keySize = uint32(r.pos+1)|r.bit, uint32(end-r.pos-2)
			if !plain {
				m.flags = keyEscaped
			}
			r.pos, d.odd = end, d.odd || fields != nil
		}
		if r.at() != ':' {
			return false
		}
		r.pos++
		d.nodes = append(d.nodes, m)
		at := int32(len(d.nodes) - 1)
		if prev == 0 {
			d.nodes[n].first = at
		} else {
			d.nodes[prev].next = at
		}
		prev = at
		if !r.value(at, m.typ) {
			return false
		}
		c := r.at()
		r.pos++
		if c == '}' {
			d.nodes[n].last = at
			return true
		}
		if c != ',' {
			return false
		}
	}
}

// field returns the index of the field whose name is at pos in quotes, from
// hint on: canonical members come in the order of fields. -1 for none.
func (r *reader) field(fields []schema.Field, hint int) int {
	rest := r.buf[min(r.pos, len(r.buf)):]
	for i := hint; i < len(fields); i++ {
		name := fields[i].Name
		if end := len(name) + 1; end < len(rest) && rest[end] == '"' && rest[0] == '"' && string(rest[1:end]) == name {
			return i
		}
	}
	return -1
}
