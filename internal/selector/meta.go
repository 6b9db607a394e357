package selector

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// The header that the store keeps with each object (store.Value.Meta), so that selectors
// need not read the object itself:
//
//	uvarint  metaVersion
//	4 bytes  size of the labels that follow, little endian, so that a reader
//	         of fields only can step over them
//	         per label, sorted by key: uvarint length, key, uvarint length, value
//	uvarint  number of fields
//	         per field, in the order of slots: uvarint length, value
//	a byte 1 if parts of the object were left out (Incomplete), else nothing
//
// A field that the object does not have is written with its default, so the reader needs
// no schema. New selectable fields are added at the end of api.Resource.Selectable:
// headers written before have fewer fields, and the reader takes the default for the
// missing ones.
const metaVersion = 1

// slots calls visit for every selectable field with a value in the header, in order.
func slots(fields []api.Selectable, visit func(slot int, f *api.Selectable)) {
	n := 0
	for i := range fields {
		f := &fields[i]
		if f.Path != nil && f.AliasOf == "" && !f.Never && !f.Served {
			visit(n, f)
			n++
		}
	}
}

// AppendMeta appends the header of an object to dst: its labels and the values
// of the selectable fields of its resource.
func AppendMeta(dst []byte, obj document.Value, fields []api.Selectable) []byte {
	dst = binary.AppendUvarint(dst, metaVersion)
	size := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendLabels(dst, obj.At("metadata", "labels"))
	binary.LittleEndian.PutUint32(dst[size:], uint32(len(dst)-size-4))
	count := 0
	slots(fields, func(int, *api.Selectable) { count++ })
	dst = binary.AppendUvarint(dst, uint64(count))
	slots(fields, func(_ int, f *api.Selectable) {
		value := obj.At(f.Path...)
		if f.Else != nil && value.Text() == "" {
			value = obj.At(f.Else...)
		}
		dst = appendField(dst, value, f.Default)
	})
	return dst
}

// The header of an object that was read without parts that only another release knows ends with this byte.
const incomplete = 1

// Incomplete marks a header: its object was read without parts that only another release knows.
func Incomplete(meta []byte) []byte { return append(meta, incomplete) }

// IsIncomplete reports whether a header is marked by Incomplete.
func IsIncomplete(meta []byte) bool {
	r := reader{rest: meta}
	r.number()
	r.block()
	for n := r.number(); n > 0 && !r.bad; n-- {
		r.text()
	}
	return !r.bad && len(r.rest) > 0
}

func appendLabels(dst []byte, labels document.Value) []byte {
	start, last := len(dst), ""
	for key, value := range labels.Members() {
		if len(dst) > start && last >= key {
			return appendSorted(dst[:start], labels)
		}
		dst = value.AppendText(binary.AppendUvarint(appendText(dst, key), uint64(value.TextSize())))
		last = key
	}
	return dst
}

// appendSorted is appendLabels for labels in another order.
func appendSorted(dst []byte, labels document.Value) []byte {
	list := make([][2]string, 0, labels.Len())
	for key, value := range labels.Members() {
		list = append(list, [2]string{key, value.Text()})
	}
	slices.SortFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	for _, l := range list {
		dst = appendText(appendText(dst, l[0]), l[1])
	}
	return dst
}

// appendField appends the text that selectors compare: strings as they are, booleans and
// numbers as in JSON, the default for everything else.
func appendField(dst []byte, v document.Value, absent string) []byte {
	switch v.Kind() {
	case document.String:
		return appendText(dst, v.Text())
	case document.Bool, document.Number:
		var space [32]byte
		text := v.AppendJSON(space[:0])
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		return append(dst, text...)
	}
	return appendText(dst, absent)
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// reader walks a header. After a length that points outside of the header bad is set and
// everything reads as empty.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) number() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // nearly always
		n := uint64(r.rest[0])
		r.rest = r.rest[1:]
		return n
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// block reads the size of the labels and moves past them.
func (r *reader) block() []byte {
	if len(r.rest) >= 4 {
		if n := uint64(binary.LittleEndian.Uint32(r.rest)); n <= uint64(len(r.rest)-4) {
			s := r.rest[4 : 4+n]
			r.rest = r.rest[4+n:]
			return s
		}
	}
	r.rest, r.bad = nil, true
	return nil
}

func (r *reader) text() []byte {
	if len(r.rest) > 0 { // a short text, nearly always
		if n := 1 + int(r.rest[0]); n <= 0x80 && n <= len(r.rest) {
			s := r.rest[1:n]
			r.rest = r.rest[n:]
			return s
		}
	}
	return r.longText()
}

func (r *reader) longText() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
