package patch

import (
	"cmp"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// item is one element of a merged list, before it is written.
//
// Example: containers [a, c] and a patch with [b, c'] give the items
//
//	{cur: a, server: 0, rank: -1}
//	{cur: c, server: 1, rank: 1, first: c'}
//	{server: -1, rank: 0, first: b}
//
// which sort orders as [b, c+c'] of those with a rank and [a] of the others; a came
// before c, so it is put before c, but after b, to which it has no relation: [b, a,
// c+c'].
type item struct {
	cur    document.Value   // in the current list; absent for a new element
	first  document.Value   // of the patch; may be absent
	more   []document.Value // further elements of the patch with the same key
	server int              // position of the first element with its key in the current list, -1 for none
	rank   int              // position of its key in the wanted order, -1 for none
	index  int              // of first in the patch, for messages
}

// list is the merge of one list that merges by key ("" for plain values).
type list struct {
	*merger
	key   string
	elem  schema.Ref
	at    *fieldPath
	order map[string]int // wanted position by key; nil for the order of the patch
	items []item
}

// merge makes the items of the two lists, in their final order.
func (l *list) merge(cur, patch document.Value) error {
	set, deleted, replace, err := l.split(patch)
	if err != nil {
		return err
	}
	rank := l.order
	if rank == nil {
		rank = make(map[string]int, len(set))
		for i, s := range set {
			if _, known := rank[s.key]; !known {
				rank[s.key] = i
			}
		}
	}
	rankOf := func(key string) int {
		if i, ok := rank[key]; ok {
			return i
		}
		return -1
	}
	l.items = make([]item, 0, cur.Len()+len(set))
	first := make(map[string]int, cur.Len()+len(set)) // index in items
	vacant := 0                                       // positions of the current list that deletions left
	for i, v := range cur.Elements() {
		key, ok := l.keyOf(v)
		if replace || ok && deleted[key] {
			vacant++
			continue
		}
		it := item{cur: v, server: i, rank: -1}
		if ok {
			known, twice := first[key]
			switch {
			case !twice:
				first[key] = len(l.items)
			case l.key == "":
				continue // a set holds a value once
			default:
				it.server = l.items[known].server
			}
			it.rank = rankOf(key)
		}
		l.items = append(l.items, it)
	}
	for _, s := range set {
		known, ok := first[s.key]
		if !ok || replace {
			if !replace {
				first[s.key] = len(l.items)
			}
			it := item{first: s.value, server: -1, rank: rankOf(s.key), index: s.index}
			if l.order != nil && vacant > 0 && !replace {
				// As in the reference: as many new elements as were deleted are added at
				// the end of the current order, and so come after the elements that stay.
				it.server = cur.Len() + s.index
				vacant--
			}
			l.items = append(l.items, it)
			continue
		}
		switch it := &l.items[known]; {
		case l.key == "": // it is present
		case !it.first.Exists():
			it.first, it.index = s.value, s.index
		default:
			it.more = append(it.more, s.value)
		}
	}
	l.sort()
	return nil
}

// sort sorts the items into their final order; see item and Strategic.
func (l *list) sort() {
	ranked := make([]item, 0, len(l.items))
	others := make([]item, 0, len(l.items))
	for _, it := range l.items {
		if it.rank >= 0 {
			ranked = append(ranked, it)
		} else {
			others = append(others, it)
		}
	}
	slices.SortStableFunc(ranked, func(a, b item) int { return cmp.Compare(a.rank, b.rank) })
	slices.SortStableFunc(others, func(a, b item) int { return cmp.Compare(a.server, b.server) })
	sorted := l.items[:0]
	for len(ranked) > 0 && len(others) > 0 {
		if others[0].server < ranked[0].server {
			sorted, others = append(sorted, others[0]), others[1:]
		} else {
			sorted, ranked = append(sorted, ranked[0]), ranked[1:]
		}
	}
	l.items = append(append(sorted, ranked...), others...)
}

// drop removes the plain values that are in remove.
func (l *list) drop(remove document.Value) {
	if remove.Len() == 0 {
		return
	}
	gone := make(map[string]bool, remove.Len())
	for _, v := range remove.Elements() {
		gone[scalarKey(v)] = true
	}
	l.items = slices.DeleteFunc(l.items, func(it item) bool {
		if it.cur.Exists() {
			return gone[scalarKey(it.cur)]
		}
		return gone[scalarKey(it.first)]
	})
}

// write appends the items.
func (l *list) write(dst []byte) ([]byte, error) {
	dst = append(dst, '[')
	for i := range l.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = l.appendItem(dst, &l.items[i], &fieldPath{up: l.at, index: l.items[i].index}); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (l *list) appendItem(dst []byte, it *item, at *fieldPath) (_ []byte, err error) {
	start := len(dst)
	switch {
	case !it.first.Exists():
		return it.cur.AppendJSON(dst), nil
	case it.cur.Exists():
		dst, err = l.mergeObject(dst, it.cur, it.first, l.elem, at)
	default:
		dst, _, err = l.appendValue(dst, it.first, rule{typ: l.elem}, at)
	}
	for _, v := range it.more {
		if err != nil {
			return nil, err
		}
		dst, err = l.mergeAgain(dst, start, v, at)
	}
	return dst, err
}

// mergeAgain merges one more object of the patch into the one just written from
// dst[start] on.
func (l *list) mergeAgain(dst []byte, start int, pat document.Value, at *fieldPath) ([]byte, error) {
	if l.repeats -= len(dst) - start; l.repeats < 0 {
		return nil, api.BadRequest("%s: the patch has too many elements with the same merge key %q; write each element once", at, l.key)
	}
	doc, err := document.DecodeAny(slices.Clone(dst[start:]), l.limits)
	if err != nil {
		return nil, api.BadRequest("%s: %v", at, err)
	}
	defer doc.Release()
	return l.mergeObject(dst[:start], doc.Root(), pat, l.elem, at)
}
