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

type namedValue struct {
	name  string
	value document.Value
}

func (g grammar) createdMembers(dst []byte, typ schema.Ref, v document.Value, zero bool, reset, without Set) []byte {
	var space [2 * few]namedValue
	list := space[:0]
	for name, m := range v.Members() {
		list = append(list, namedValue{name, m})
	}
	slices.SortFunc(list, func(a, b namedValue) int { return strings.Compare(a.name, b.name) })
	t := g.typeOf(typ)
	for _, m := range list {
		below, field, ok := g.member(typ, m.name)
		if !ok {
			continue
		}
		always := zero && field && t.Fields[t.Field(m.name)].Presence == schema.Always
		step := Step{StepField, m.name}
		dst = g.createdNode(dst, step, below, m.value, always, reset.child(step), without.child(step))
	}
	return dst
}

func (g grammar) createdItems(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
	items := g.items(typ, v)
	slices.SortFunc(items, func(a, b item) int { return compareSteps(a.step, b.step) })
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
