package document

import (
	"sync"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Kind is the JSON kind of a value.
type Kind uint8

// The kinds of values. Absent is the kind of the zero Value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "bool", "number", "string", "array", "object"}

// String is the name in messages: "number", "object", …
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Flags of a node.
const (
	clean      uint8 = 1 << iota // container: its text is its canonical form
	escaped                      // string: its text has escapes
	keyEscaped                   // member: its key has escapes
	filled                       // not sent and without a default, but always written
	folded                       // container: its children are made on demand (unfold)
	stored                       // container: its text comes from the store, where it was validated
	emptied                      // null: an empty list was sent
	assumed                      // container: its value was assumed, not sent

	wrong = escaped // container: something was wrong in it when it was last validated
)

// noField is the field of elements, and of members that are not fields of a schema.Object
// type.
const noField = 1<<16 - 1

// sideBit marks offsets into Document.side.
const sideBit = 1 << 31

// maxText bounds the bytes of a document's text.
const maxText = 1<<31 - 1

// node is one value. Its neighbours are indices in Document.nodes, 0 for none.
//
// Invariants:
//  1. A scalar's text (off, size) is its canonical JSON. A container's text is its
//     canonical JSON while the clean flag is set, and meaningless otherwise.
//  2. A member of an Object type has field, the index in the type's Fields, and no
//     key; a member of a Map, of an untyped object, or one unknown to the type has
//     noField and a key, in canonical escapes, without quotes.
//  3. Members are in canonical order: fields by index, then unknown ones in the order
//     in which they were read; keys of a Map ascending; others in the order in which they
//     were read.
//  4. A change below a node clears its clean flag.
//  5. A folded container is clean and not empty, and has no children yet.
//  6. A container that is stored and clean is as it was when its object was last
//     written: its values need no validation.
type node struct {
	off, size    uint32
	key, keySize uint32
	parent       int32
	next         int32
	first, last  int32
	typ          schema.Ref // schema.None for untyped values
	field        uint16
	kind         Kind
	flags        uint8
}

// Document is a tree of values: an arena of nodes over the text it was read from and an
// append-only buffer for new text. One goroutine at a time may use it, also for reading,
// since a stored text becomes a tree on demand.
//
// The text it was read from must not change until Release.
type Document struct {
	table *schema.Table // nil for untyped documents
	src   []byte
	side  []byte // begins with constants
	nodes []node // nodes[0] is absent, nodes[1] the root
	// Buffers for one step of the walk; they hold nothing between steps.
	sort      []int32
	scratch   []byte
	positions positionCache
	names     map[int32]*directory // of large objects that were searched, by their node
	filled    int                  // bytes of members that were filled in
	dirt      uint32               // counts the differences of the text from its canonical form
	odd       bool                 // members of Object types may have noField
	dead      bool                 // released
}

// The offsets of the constants in side.
const constants = `""0falsetruenull"0""0s"`

type constant struct{ off, size uint32 }

var (
	constEmpty    = constant{sideBit, 2}
	constZero     = constant{sideBit + 2, 1}
	constFalse    = constant{sideBit + 3, 5}
	constTrue     = constant{sideBit + 8, 4}
	constNull     = constant{sideBit + 12, 4}
	constQuantity = constant{sideBit + 16, 3}
	constDuration = constant{sideBit + 19, 4}
)

// Documents larger than this are not reused.
const (
	maxPooledNodes = 8 << 10
	maxPooledSide  = 64 << 10
)

// pool has documents that grow with what they hold: thousands of requests may have small ones at once.
var pool = sync.Pool{New: func() any {
	return &Document{nodes: make([]node, 0, 64), side: make([]byte, 0, 256)}
}}

// fromPool takes a document with an absent root from the pool.
func fromPool(t *schema.Table, src []byte) *Document {
	d := pool.Get().(*Document)
	d.table, d.src, d.odd, d.dead, d.dirt, d.filled = t, src, false, false, 0, 0
	d.positions = positionCache{}
	d.side = append(d.side[:0], constants...)
	d.nodes = append(d.nodes[:0], node{typ: schema.None, field: noField}, node{typ: schema.None, field: noField})
	return d
}

// Release returns the document's memory to the pool. The document and all its values must
// not be used after that; a second Release has no effect.
func (d *Document) Release() {
	if d == nil || d.dead {
		return
	}
	d.dead, d.table, d.src, d.names = true, nil, nil, nil
	d.nodes, d.side, d.sort = d.nodes[:0], d.side[:0], d.sort[:0]
	if cap(d.nodes) > maxPooledNodes || cap(d.side) > maxPooledSide || cap(d.sort) > maxPooledNodes || cap(d.scratch) > maxPooledSide {
		return
	}
	pool.Put(d)
}

// Root is the whole document.
func (d *Document) Root() Value {
	if d == nil || len(d.nodes) < 2 {
		return Value{}
	}
	return Value{d, 1}
}

// text is a part of the source or of the side buffer.
func (d *Document) text(off, size uint32) []byte {
	if off&sideBit != 0 {
		off &^= sideBit
		return d.side[off : off+size]
	}
	return d.src[off : off+size]
}

// objectType returns the type of n if that is an Object type, else nil.
func (d *Document) objectType(n int32) *schema.Type {
	if r := d.nodes[n].typ; r >= 0 {
		if t := &d.table.Types[r]; t.Kind == schema.Object {
			return t
		}
	}
	return nil
}

// newNode adds a node that is linked only to its parent.
func (d *Document) newNode(parent int32, typ schema.Ref, field uint16) int32 {
	d.nodes = append(d.nodes, node{parent: parent, typ: typ, field: field})
	return int32(len(d.nodes) - 1)
}

// link makes m the last child of its parent.
func (d *Document) link(m int32) {
	p := &d.nodes[d.nodes[m].parent]
	if p.last == 0 {
		p.first = m
	} else {
		d.nodes[p.last].next = m
	}
	p.last = m
}

// linkAfter links m after its sibling at; 0 makes it the first.
func (d *Document) linkAfter(at, m int32) {
	d.forget(d.nodes[m].parent)
	p := &d.nodes[d.nodes[m].parent]
	if at == 0 {
		d.nodes[m].next, p.first = p.first, m
	} else {
		d.nodes[m].next, d.nodes[at].next = d.nodes[at].next, m
	}
	if p.last == at {
		p.last = m
	}
}

// unlink removes m, which follows prev (0: it is the first), from its parent's children.
// m keeps its own next, so that a loop over the children may remove the current one.
func (d *Document) unlink(prev, m int32) {
	d.forget(d.nodes[m].parent)
	d.gone(m)
	p, next := &d.nodes[d.nodes[m].parent], d.nodes[m].next
	if prev == 0 {
		p.first = next
	} else {
		d.nodes[prev].next = next
	}
	if p.last == m {
		p.last = prev
	}
}

// insert links m, whose parent is an object, in its canonical position. It replaces a
// member of the same name and reports whether there was one.
func (d *Document) insert(m int32) (replaced bool) {
	nd := &d.nodes[m]
	p := &d.nodes[nd.parent]
	sorted := d.sorted(nd.parent)
	if nd.field != noField && (p.last == 0 || d.nodes[p.last].field < nd.field) {
		d.link(m)
		return false
	}
	after, steps := int32(-1), 0
	prev, c := int32(0), p.first
	if sorted {
		prev, c = d.begin(nd.parent, func(near int32) bool { return d.compareKeys(&d.nodes[near], nd) < 0 })
	}
	for ; c != 0; prev, c = c, d.nodes[c].next {
		steps++
		order := d.compare(c, m, sorted)
		if order == 0 {
			d.unlink(prev, c)
			if after < 0 {
				after = prev
			}
			replaced = true
			break
		}
		if order > 0 && after < 0 {
			after = prev
			if nd.field == noField {
				break // a Map: later keys are larger still
			}
		}
	}
	if after < 0 {
		after = p.last
	}
	d.linkAfter(after, m)
	if sorted {
		d.noteSearch(nd.parent, after, steps)
	}
	return replaced
}

// compare orders two members of one object; 0 means the same name. Members
// without an order of their own are less.
func (d *Document) compare(a, b int32, sorted bool) int {
	x, y := &d.nodes[a], &d.nodes[b]
	if x.field != y.field {
		return int(x.field) - int(y.field)
	}
	if x.field != noField {
		return 0
	}
	order := d.compareKeys(x, y)
	if sorted || order == 0 {
		return order
	}
	return -1
}

// touch notes a change of n, which invalidates the text of all its ancestors.
func (d *Document) touch(n int32) {
	d.dirt++
	for ; n != 0; n = d.nodes[n].parent {
		d.nodes[n].flags &^= clean
	}
}
