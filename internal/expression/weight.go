package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/capstan-dev/capstan/internal/document"
)

// weight is the size of values with all of their parts. A part that is in several places
// counts at each of them, since who looks at all of the value sees it as often: two lists
// in each other, written 40 times, are a billion of parts in a few bytes.
type weight struct {
	nodes, bytes float64
	most         float64 // of nodes: a heavier value is not weighed to its end
}

// weigh weighs values, as far as the evaluation can afford to look at them.
func (b *Bindings) weigh(all ...ref.Val) weight {
	w := weight{most: CallLimit - float64(b.course.steps)}
	for _, v := range all {
		w.add(v)
	}
	return w
}

func (w *weight) add(v ref.Val) {
	if w.nodes++; w.nodes > w.most {
		return
	}
	switch v := v.(type) {
	case types.String:
		w.bytes += float64(len(v))
	case types.Bytes:
		w.bytes += float64(len(v))
	case *object:
		w.addTree(v.v)
	case *list:
		if !v.made {
			w.addTree(v.v)
			return
		}
		for _, e := range v.elems {
			if w.add(e); w.nodes > w.most {
				return
			}
		}
	case *made:
		for name, m := range v.members {
			w.bytes += float64(len(name))
			w.add(m)
		}
	case *types.Optional:
		if v.HasValue() {
			w.add(v.GetValue())
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && w.nodes <= w.most; {
			w.add(it.Next())
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && w.nodes <= w.most; {
			key := it.Next()
			w.add(key)
			w.add(v.Get(key))
		}
	case opaque:
		w.addTree(v.v)
	case types.Double: // with all of its digits
		w.bytes += 400
	default:
		w.bytes += elemBytes
	}
}

// addTree adds the parts of a tree, which has at most some for each byte of its object.
func (w *weight) addTree(v document.Value) {
	switch v.Kind() {
	case document.Object:
		for name, m := range v.Members() {
			if w.nodes++; w.nodes > w.most {
				return
			}
			w.bytes += float64(len(name))
			w.addTree(m)
		}
	case document.Array:
		for _, e := range v.Elements() {
			if w.nodes++; w.nodes > w.most {
				return
			}
			w.addTree(e)
		}
	case document.String:
		w.bytes += float64(len(v.Text()))
	default:
		w.bytes += 400
	}
}

// hasParts reports whether a value has others as its parts.
func hasParts(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper, *made, *types.Optional:
		return true
	}
	return false
}

// isTree reports whether a value is a part of an object.
func isTree(v ref.Val) bool {
	switch v := v.(type) {
	case *object:
		return true
	case *list:
		return !v.made || v.v.Exists()
	}
	return false
}
