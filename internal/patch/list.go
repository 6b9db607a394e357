package patch

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// mergeList appends the merge of a list. c.value is absent when there are only
// directives; cur may be absent.
func (m *merger) mergeList(dst []byte, cur document.Value, c *change, r rule, at *fieldPath) ([]byte, error) {
	elem := m.element(r.typ)
	objects, err := holdsObjects(cur, c, r.strategy&schema.PatchMerge != 0, at)
	if err != nil {
		return nil, err
	}
	merging := r.strategy&schema.PatchMerge != 0
	if merging && objects && r.key == "" {
		return nil, api.BadRequest("%s: the list cannot be merged, its schema names no merge key; use $patch: replace in the object around it", at)
	}
	if objects && c.remove.Exists() {
		return nil, api.BadRequest("%s: $deleteFromPrimitiveList is for lists of plain values; use elements with $patch: delete", at)
	}
	key := r.key
	if !objects {
		key = ""
	}
	if !merging {
		return m.replaceList(dst, cur, c, elem, at)
	}
	l := list{merger: m, key: key, elem: elem, at: at}
	if err := l.readOrder(c); err != nil {
		return nil, err
	}
	if cur.Kind() != document.Array && !c.remove.Exists() {
		return m.appendNewList(dst, c.value, elem, at) // in the wanted order, as readOrder has checked
	}
	if err := l.merge(cur, c.value); err != nil {
		return nil, err
	}
	l.drop(c.remove)
	return l.write(dst)
}

// replaceList appends a list that does not merge: the patch's, or else the current one,
// without the elements to delete. It has no directives: an element with $patch is one
// with a field that its type does not know, which decoding reports, as in 1.25.
func (m *merger) replaceList(dst []byte, cur document.Value, c *change, elem schema.Ref, at *fieldPath) ([]byte, error) {
	from := c.value
	if !from.Exists() {
		from = cur
	}
	if c.remove.Len() == 0 {
		return from.AppendJSON(dst), nil
	}
	l := list{merger: m, elem: elem, at: at}
	for _, v := range from.Elements() {
		l.items = append(l.items, item{cur: v})
	}
	l.drop(c.remove)
	return l.write(dst)
}

// holdsObjects reports whether a list is one of objects, by the elements of all lists
// concerned. Lists that merge must not mix objects, plain values, nulls and lists.
func holdsObjects(cur document.Value, c *change, merging bool, at *fieldPath) (bool, error) {
	objects, plain, other := false, false, false
	for _, list := range [...]document.Value{cur, c.value, c.order, c.remove} {
		for _, v := range list.Elements() {
			switch v.Kind() {
			case document.Object:
				objects = true
			case document.Array, document.Null:
				other = true
			default:
				plain = true
			}
		}
	}
	if merging && (other || objects && plain) {
		return false, api.BadRequest("%s: all elements of a list that merges must be objects, or all plain values", at)
	}
	return objects, nil
}
