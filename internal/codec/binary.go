package codec

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// BinaryCodec writes and reads the binary form, Kubernetes' protobuf, of the types of one
// table. It holds no state between calls and is safe for concurrent use.
//
// The rules, in the words of the tables:
//
//   - Fields are written in ascending order of their numbers. Fields without a
//     number (kind, apiVersion) are not written.
//   - A field whose Presence is Explicit is written when it is present. Any other
//     scalar or object is always written, with its zero value when it is absent: "" is
//     the tag and length 0, an object is its message with the zeros of its own fields, a
//     quantity is "0", a time is an empty message. Absent lists, maps, bytes and string
//     lists are not written.
//   - Fields with the same Outer number are together in an embedded message, which is
//     always written. It may be in a further one: Outer has a byte for each.
//
// Worked example. A volume has name (number 1), hostPath (number 1 in the
// embedded message 2) and secret (number 6 there). The slots of its plan are
//
//	[name] [message 2, next 2 slots] [hostPath] [secret]
//
// and {"name":"a","secret":{"secretName":"b"}} becomes
//
//	0a 01 'a'   12 05   32 03 0a 01 'b'
type BinaryCodec struct {
	table *schema.Table
	forms []form   // by schema.Ref
	plans []plan   // by schema.Ref
	zeros []string // by schema.Ref: the zero value after its tag
}

// form is the writer's summary of a type, in few bytes.
type form struct {
	kind schema.Kind
	elem schema.Ref // List and Map; of an Any, its objects
	wire uint8      // of a List's or Map's elements
	// wrapped marks a list that is a message of its own (BinaryStringList).
	wrapped bool
	// binary is the wrapping of an Any.
	binary schema.BinaryForm
}

// plan is the layout of the members of one Object type in its message.
type plan struct {
	keys    []string     // by index in schema.Type.Fields: `"name":`
	members []memberPlan // by index in schema.Type.Fields
	slots   []slot       // in the order of the message
	numbers []number     // ascending, to find a member when reading
	// inOrder means that canonical JSON has the members in the order of the slots and
	// that no message is embedded: they can be written in one pass.
	inOrder bool
	empty   string // the message of an object without members
}

type memberPlan struct {
	typ  schema.Ref
	tag  tag // empty when the field has no binary form
	slot int // index in slots
}

// slot is the position of one member, or the beginning of an embedded message that holds
// the next inner slots.
type slot struct {
	zero     string // the bytes of an absent member, tag included; "" for nothing
	embedded tag    // of an embedded message, empty for a member
	inner    int
}

// tag is the encoded number and wire type of a field.
type tag struct {
	text [5]byte
	size uint8
}

func newTag(number uint32, wire uint64) tag {
	var t tag
	t.size = uint8(len(appendTag(t.text[:0], number, wire)))
	return t
}

// appendTo appends the tag. Most tags are one byte.
func (t *tag) appendTo(dst []byte) []byte {
	if t.size == 1 {
		return append(dst, t.text[0])
	}
	return append(dst, t.text[:t.size]...)
}

type number struct {
	outer, inner uint32
	member       int // -1 for an embedded message, whose number is inner
}

// NewBinary prepares the binary form of a table's types. It takes some
// microseconds per type: keep the result.
func NewBinary(t *schema.Table) *BinaryCodec {
	b := &BinaryCodec{table: t, forms: make([]form, len(t.Types)), plans: make([]plan, len(t.Types)), zeros: make([]string, len(t.Types))}
	for i := range t.Types {
		b.forms[i] = b.newForm(&t.Types[i])
		if t.Types[i].Kind == schema.Object {
			b.plans[i] = b.newPlan(&t.Types[i])
		}
	}
	begun := make([]bool, len(t.Types))
	for i := range t.Types {
		b.addZeros(schema.Ref(i), begun)
	}
	return b
}

func (b *BinaryCodec) newForm(t *schema.Type) form {
	f := form{kind: t.Kind, elem: t.Elem, wrapped: t.Binary == schema.BinaryStringList, binary: t.Binary}
	if e := b.typeOf(t.Elem); e != nil {
		wire, _ := scalarWire(e)
		f.wire = uint8(wire)
	}
	return f
}

func (b *BinaryCodec) newPlan(t *schema.Type) plan {
	p := plan{keys: make([]string, len(t.Fields)), members: make([]memberPlan, len(t.Fields)), inOrder: true}
	var key []byte
	for i := range t.Fields {
		f := &t.Fields[i]
		key = append(document.AppendQuoted(key[:0], f.Name), ':')
		p.keys[i] = string(key)
		if f.Number == 0 {
			continue
		}
		wire, ok := b.wireType(f.Type)
		if !ok {
			continue
		}
		p.members[i] = memberPlan{typ: f.Type, tag: newTag(f.Number, wire)}
		p.numbers = append(p.numbers, number{f.Rest().Outer, f.Number, i})
		for outer := f.Rest().Outer; outer != 0; outer >>= schema.OuterBits {
			if n := (number{outer >> schema.OuterBits, outer & schema.MostOuter, -1}); !slices.Contains(p.numbers, n) {
				p.numbers = append(p.numbers, n)
			}
		}
	}
	slices.SortFunc(p.numbers, compareNumbers)
	p.addSlots(0, -1)
	return p
}

// addSlots adds the slots of a message: that of the object for 0, else an embedded one.
// last is the member of the slot before.
func (p *plan) addSlots(outer uint32, last int) {
	for _, n := range p.numbers {
		switch {
		case n.outer != outer:
		case n.member >= 0:
			p.inOrder = p.inOrder && n.member > last
			last = n.member
			p.members[n.member].slot = len(p.slots)
			p.slots = append(p.slots, slot{})
		default:
			p.inOrder = false
			at := len(p.slots)
			p.slots = append(p.slots, slot{embedded: newTag(n.inner, wireBytes)})
			p.addSlots(outer<<schema.OuterBits|n.inner, last)
			p.slots[at].inner = len(p.slots) - at - 1
		}
	}
}

func compareNumbers(a, b number) int {
	return cmp.Or(cmp.Compare(a.outer, b.outer), cmp.Compare(a.inner, b.inner))
}

// find returns the number's entry, or nil.
func (p *plan) find(outer, inner uint32) *number {
	lo, hi := 0, len(p.numbers)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n := &p.numbers[mid]; n.outer < outer || n.outer == outer && n.inner < inner {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(p.numbers) && p.numbers[lo].outer == outer && p.numbers[lo].inner == inner {
		return &p.numbers[lo]
	}
	return nil
}

// wireType is the framing of a type's values, of lists their elements. It is not ok for
// types without a binary form.
func (b *BinaryCodec) wireType(ref schema.Ref) (wire uint64, ok bool) {
	t := b.typeOf(ref)
	if t == nil {
		return 0, false
	}
	switch t.Kind {
	case schema.List, schema.Map:
		if t.Binary == schema.BinaryStringList {
			return wireBytes, true
		}
		e := b.typeOf(t.Elem)
		if e == nil || e.Kind == schema.Map || e.Kind == schema.List && e.Binary != schema.BinaryStringList {
			return 0, false
		}
		wire, ok = scalarWire(e)
		if t.Kind == schema.Map {
			wire = wireBytes
		}
		return wire, ok
	}
	return scalarWire(t)
}

func scalarWire(t *schema.Type) (wire uint64, ok bool) {
	switch t.Kind {
	case schema.Boolean, schema.Integer:
		return wireVarint, true
	case schema.Number:
		return wireFixed64, true
	case schema.Any:
		return wireBytes, t.Binary != schema.BinaryPlain
	}
	return wireBytes, true
}

func (b *BinaryCodec) typeOf(ref schema.Ref) *schema.Type {
	if ref < 0 || int(ref) >= len(b.table.Types) {
		return nil
	}
	return &b.table.Types[ref]
}

// addZeros fills in the bytes of an absent value of a type and of the absent members of
// an object, every type once. An object that always contains itself could not be written
// at all; the inner one is taken to be empty.
func (b *BinaryCodec) addZeros(ref schema.Ref, begun []bool) {
	if begun[ref] {
		return
	}
	begun[ref] = true
	t := &b.table.Types[ref]
	b.zeros[ref] = "\x00"
	switch t.Kind {
	case schema.Number:
		b.zeros[ref] = "\x00\x00\x00\x00\x00\x00\x00\x00"
	case schema.Quantity:
		b.zeros[ref] = "\x03\x0a\x010"
	case schema.Duration:
		b.zeros[ref] = "\x02\x08\x00"
	case schema.IntOrString:
		b.zeros[ref] = "\x06\x08\x00\x10\x00\x1a\x00"
	case schema.Object:
		p := &b.plans[ref]
		for i := range p.members {
			if m := &p.members[i]; m.tag.size > 0 && b.writesZero(&t.Fields[i]) {
				b.addZeros(m.typ, begun)
				p.slots[m.slot].zero = string(m.tag.appendTo(nil)) + b.zeros[m.typ]
			}
		}
		p.empty = p.emptyMessage()
		b.zeros[ref] = withLength(p.empty)
	}
}

// writesZero reports whether an absent member is written.
func (b *BinaryCodec) writesZero(f *schema.Field) bool {
	switch b.table.Types[f.Type].Kind {
	case schema.List, schema.Map, schema.Bytes:
		return false
	}
	return f.Presence != schema.Explicit
}

func (p *plan) emptyMessage() string {
	message, _ := arrange(nil, p, make([]span, len(p.slots)), 0, nil)
	return string(message)
}

func withLength(message string) string {
	return string(binary.AppendUvarint(nil, uint64(len(message)))) + message
}
