package apply

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// created writes the fieldsV1 object of a new object's writer: what compare finds
// against nothing, without reset and never. It makes no Set on the way, as
// every create comes through here.
func (g grammar) created(dst []byte, typ schema.Ref, obj document.Value, reset Set) []byte {
	dst = append(dst, '{')
	dst = g.createdMembers(dst, typ, obj, true, reset, never)
	return append(dst, '}')
}

// createdNode appends what is owned of one member or element. With zero, the
// empty object had the zero value there.
func (g grammar) createdNode(dst []byte, step Step, typ schema.Ref, v document.Value, zero bool, reset, without node) []byte {
	if reset.member {
		return dst
	}
	here := g.shapeOf(typ, v)
	leaf := here == scalar || here == atomic || !filled(v) && !(zero && g.zeroFilled(typ))
	self := !without.member && (!zero || leaf && !g.isZero(typ, v))
	if leaf && !self {
		return dst
	}
	start := len(dst)
	dst = append(step.appendName(separate(dst)), ':', '{')
	if !leaf {
		open := len(dst)
		if self {
			dst = append(dst, `".":{}`...)
		}
		mark := len(dst)
		if here == keyed {
			dst = g.createdItems(dst, typ, v, reset.below, without.below)
		} else {
			dst = g.createdMembers(dst, typ, v, zero, reset.below, without.below)
		}
		if len(dst) == mark {
			if !self {
				return dst[:start]
			}
			dst = dst[:open]
		}
	}
	return append(dst, '}')
}

// ranked is a member that is a field, with its place among the type's fields in
// the order of their names.
type ranked struct {
	rank  int
	value document.Value
}

func (g grammar) createdMembers(dst []byte, typ schema.Ref, v document.Value, zero bool, reset, without Set) []byte {
	t := g.typeOf(typ)
	if t == nil || t.Kind != schema.Object {
		return g.createdKeys(dst, typ, v, reset, without)
	}
	var space [few]ranked
	list := space[:0]
	for name, m := range v.Members() {
		rank, ok := slices.BinarySearchFunc(t.Sorted, name, func(i uint16, name string) int { return strings.Compare(t.Fields[i].Name, name) })
		if !ok {
			continue
		}
		at := len(list)
		list = append(list, ranked{rank, m})
		for ; at > 0 && list[at-1].rank > rank; at-- {
			list[at] = list[at-1]
		}
		list[at] = ranked{rank, m}
	}
	for _, m := range list {
		f := &t.Fields[t.Sorted[m.rank]]
		step := Step{StepField, f.Name}
		dst = g.createdNode(dst, step, f.Type, m.value, zero && f.Presence == schema.Always, reset.child(step), without.child(step))
	}
	return dst
}

// createdKeys appends the members of a map, or of an object without a type.
func (g grammar) createdKeys(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
	below, _, _ := g.member(typ, "")
	names := make([]string, 0, v.Len())
	for name := range v.Members() {
		names = append(names, name)
	}
	find := finder(v, len(names))
	for _, name := range sortedNames(names) {
		step := Step{StepField, name}
		dst = g.createdNode(dst, step, below, find(name), false, reset.child(step), without.child(step))
	}
	return dst
}

func (g grammar) createdItems(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
	items := g.items(typ, v)
	byStep := func(a, b item) int { return compareSteps(a.step, b.step) }
	if !slices.IsSortedFunc(items, byStep) {
		slices.SortFunc(items, byStep)
	}
	elem := g.elem(typ)
	for i, it := range items {
		if i > 0 && items[i-1].step == it.step {
			continue
		}
		if i+1 < len(items) && items[i+1].step == it.step {
			// Elements with the same keys are owned together.
			dst = append(it.step.appendName(separate(dst)), `:{}`...)
			continue
		}
		dst = g.createdNode(dst, it.step, elem, it.value, false, reset.child(it.step), without.child(it.step))
	}
	return dst
}
