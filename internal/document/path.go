package document

import (
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
	if nd.flags&keyEscaped == 0 {
		return string(d.rawKey(nd))
	}
	return string(appendUnescaped(nil, d.rawKey(nd)))
}

// Names and paths in messages are cut here, so that a body with long names and
// many mistakes does not lead to a far longer answer.
const (
	maxName = 512
	maxPath = 4096
)

// appendPath appends the path from the root to n. Keys of maps are written
// [key] when brackets is set, as in causes, and .key otherwise, as in problems.
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
		case p.kind == Array:
			dst = append(dst, '[')
			dst = strconv.AppendInt(dst, int64(d.index(m)), 10)
			dst = append(dst, ']')
		case brackets && p.typ >= 0 && d.table.Types[p.typ].Kind == schema.Map:
			dst = append(dst, '[')
			dst = append(dst, cut(d.name(m))...)
			dst = append(dst, ']')
		default:
			dst = appendStep(dst, d.name(m))
		}
	}
	return dst
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

// index is the position of an element in its list; of one that is not linked
// yet, the position it will get at the end.
func (d *Document) index(m int32) int {
	i := 0
	for c := d.nodes[d.nodes[m].parent].first; c != 0 && c != m; c = d.nodes[c].next {
		i++
	}
	return i
}
