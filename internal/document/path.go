package document

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// name is the name of a member.
func (d *Document) name(n int32) string {
	nd := &d.nodes[n]
	if nd.field != noField {
		return d.table.Types[d.nodes[nd.parent].typ].Fields[nd.field].Name
	}
	raw := d.rawKey(nd)
	if nd.flags&keyEscaped == 0 {
		return string(raw)
	}
	return string(AppendUnescaped(make([]byte, 0, len(raw)), raw))
}

// nameOf is name for a member of an object that is read as one of a type.
func (d *Document) nameOf(n int32, t *schema.Type) string {
	if nd := &d.nodes[n]; t != nil && nd.field == noField && nd.flags&keyEscaped == 0 {
		if i := t.FieldOf(d.rawKey(nd)); i >= 0 {
			return t.Fields[i].Name
		}
	}
	return d.name(n)
}

// rawName is the name of a member as it is spelled between its quotes.
func (d *Document) rawName(n int32) []byte {
	nd := &d.nodes[n]
	if nd.field != noField {
		return []byte(d.table.Types[d.nodes[nd.parent].typ].Fields[nd.field].Name)
	}
	return d.rawKey(nd)
}

// Names and paths in messages are cut to these lengths, so that a body with long names
// and many mistakes does not get a far longer answer.
const (
	maxName = 512
	maxPath = 4096
)

// appendPath appends the path from the root to n. Keys of maps are written [key] when
// brackets is set, as in causes, and .key otherwise, as in problems.
func (d *Document) appendPath(dst []byte, n int32, brackets bool) []byte {
	var space [32]int32
	way := space[:0]
	for ; d.nodes[n].parent != 0; n = d.nodes[n].parent {
		way = append(way, n)
	}
	for i := len(way) - 1; i >= 0; i-- {
		if len(dst) > maxPath {
			return append(dst, "…"...)
		}
		m := way[i]
		p := &d.nodes[d.nodes[m].parent]
		switch {
		case brackets && d.listOnly(d.nodes[m].parent):
		case p.kind == Array:
			dst = append(dst, '[')
			dst = strconv.AppendInt(dst, int64(d.index(m, len(way)-i)), 10)
			dst = append(dst, ']')
		case brackets && p.typ >= 0 && d.table.Types[p.typ].Kind == schema.Map:
			dst = append(dst, '[')
			dst = append(dst, cut(d.name(m))...)
			dst = append(dst, ']')
		case brackets:
			dst = d.appendCause(dst, m)
		default:
			dst = appendStep(dst, d.name(m))
		}
	}
	return dst
}

// declared is the declaration of a member, nil when it has none.
func (d *Document) declared(n int32) *schema.Field {
	nd := &d.nodes[n]
	if nd.field == noField || nd.parent == 0 {
		return nil
	}
	if typ := d.nodes[nd.parent].typ; typ >= 0 {
		return &d.table.Types[typ].Fields[nd.field]
	}
	return nil
}

// listOnly reports whether causes leave out the index of a list's elements, or the keys of
// a map.
func (d *Document) listOnly(list int32) bool {
	f := d.declared(list)
	return f != nil && f.More != nil && f.More.CauseList
}

// appendCause appends a member by its name in causes.
func (d *Document) appendCause(dst []byte, n int32) []byte {
	f := d.declared(n)
	if f == nil {
		return appendStep(dst, d.name(n))
	}
	return appendField(dst, f)
}

// appendField appends a declared field by its name in causes.
func appendField(dst []byte, f *schema.Field) []byte {
	name := f.Rest().CauseName
	if whole, ok := strings.CutPrefix(name, "/"); ok {
		return append(dst[:0], whole...)
	}
	if name == "." {
		return dst
	}
	return appendStep(dst, cmp.Or(name, f.Name))
}

func appendStep(dst []byte, name string) []byte {
	if len(dst) > 0 {
		dst = append(dst, '.')
	}
	return append(dst, cut(name)...)
}

// cut shortens a name for a path.
func cut(name string) string {
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

// listPosition is an element and its position in its list.
type listPosition struct{ node, index int32 }

// positionCache remembers, for each depth of the tree, the last counted position, so that
// paths of many elements of a long list, requested in order, are not counted from its
// beginning each time.
//
// Invariant: a position with a node is right until an array changes otherwise than by an
// addition at its end; then all are forgotten.
type positionCache [8]listPosition

// near is the entry of the cache for positions in the list.
func (d *Document) near(list int32) *listPosition {
	depth := 0
	for n := list; d.nodes[n].parent != 0; n = d.nodes[n].parent {
		depth++
	}
	return &d.positions[(depth+1)%len(d.positions)]
}

// index is the position of an element in its list; of one not linked yet, the position
// that it will get at the end. depth is the number of values above it.
func (d *Document) index(m int32, depth int) int {
	list := d.nodes[m].parent
	near := &d.positions[depth%len(d.positions)]
	at := *near
	if at.node == 0 || d.nodes[at.node].parent != list {
		at = listPosition{d.nodes[list].first, 0}
	}
	if at.node == 0 {
		return 0
	}
	if *near = d.toward(at, m); near.node == m {
		return int(near.index)
	}
	if d.nodes[m].next == 0 && d.nodes[list].last != m {
		return int(near.index) + 1 // not linked
	}
	*near = d.toward(listPosition{d.nodes[list].first, 0}, m) // it was before the known position
	return int(near.index)
}

// toward counts from a position to an element of the same list, or to its end if the
// element is not after that position.
func (d *Document) toward(at listPosition, m int32) listPosition {
	for at.node != m && d.nodes[at.node].next != 0 {
		at = listPosition{d.nodes[at.node].next, at.index + 1}
	}
	return at
}

// forget drops the known positions after a change of a list.
func (d *Document) forget(list int32) {
	if d.nodes[list].kind == Array {
		d.positions = positionCache{}
	}
}
