package apply

import (
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// creator writes the fieldsV1 object of a new object's writer: what compare finds
// against nothing, without reset and never. It makes no Set on the way, as every
// create comes through here.
type creator struct {
	grammar
	out []byte // for the whole entry
	// Space for the lists that the walk is in, used as stacks.
	sent []sent
	keys []keyedBy
	text []byte
}

var creators = sync.Pool{New: func() any { return new(creator) }}

// maxKept is the text of an entry, in bytes, up to which a creator is kept.
const maxKept = 64 << 10

func (g *creator) release() {
	if cap(g.out)+cap(g.text) <= maxKept {
		clear(g.keys[:cap(g.keys)])
		clear(g.sent[:cap(g.sent)])
		g.sent, g.keys, g.text = g.sent[:0], g.keys[:0], g.text[:0]
		creators.Put(g)
	}
}

// created appends the object.
func (g *creator) created(dst []byte, typ schema.Ref, obj document.Value, reset Set) []byte {
	dst = append(dst, '{')
	dst = g.createdMembers(dst, typ, obj, true, reset, never)
	return append(dst, '}')
}

// createdNode closes the name that dst ends with and appends what is owned of the
// member or element of that name, or cuts dst back to start. With zero, the empty
// object had the zero value there.
func (g *creator) createdNode(dst []byte, start int, typ schema.Ref, v document.Value, zero bool, reset, without node) []byte {
	if reset.member {
		return dst[:start]
	}
	here := g.shapeOf(typ, v)
	leaf := here == scalar || here == atomic || !filled(v) && !(zero && g.zeroFilled(typ))
	self := !without.member && (!zero || leaf && !g.isZero(typ, v))
	if leaf {
		if !self {
			return dst[:start]
		}
		return append(dst, `":{}`...)
	}
	dst = append(dst, `":{`...)
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
	return append(dst, '}')
}

// sent is a member that is a field.
type sent struct {
	field *schema.Field
	value document.Value
}

func (g *creator) createdMembers(dst []byte, typ schema.Ref, v document.Value, zero bool, reset, without Set) []byte {
	t := g.typeOf(typ)
	if t == nil || t.Kind != schema.Object {
		return g.createdKeys(dst, typ, v, reset, without)
	}
	from := len(g.sent)
	_, own := v.Type()
	for name, m := range v.Members() {
		i := m.Field()
		if own != typ {
			i = t.Field(name)
		}
		if i < 0 {
			continue
		}
		f := &t.Fields[i]
		at := len(g.sent)
		g.sent = append(g.sent, sent{f, m})
		for ; at > from && g.sent[at-1].field.Name > f.Name; at-- {
			g.sent[at] = g.sent[at-1]
		}
		g.sent[at] = sent{f, m}
	}
	for i := from; i < len(g.sent); i++ {
		f := g.sent[i].field
		start := len(dst)
		dst = append(append(separate(dst), `"f:`...), f.Name...)
		step := Step{StepField, f.Name}
		dst = g.createdNode(dst, start, f.Type, g.sent[i].value, zero && f.Presence == schema.Always, reset.child(step), without.child(step))
	}
	g.sent = g.sent[:from]
	return dst
}

// createdKeys appends the members of a map, or of an object without a type.
func (g *creator) createdKeys(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
	below, _, _ := g.member(typ, "")
	type member struct {
		name  string
		value document.Value
	}
	var space [few]member
	list, sorted := space[:0], true
	for name, m := range v.Members() {
		sorted = sorted && (len(list) == 0 || list[len(list)-1].name < name)
		list = append(list, member{name, m})
	}
	if !sorted {
		slices.SortFunc(list, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	for _, m := range list {
		start := len(dst)
		dst = appendEscaped(append(separate(dst), `"f:`...), m.name)
		step := Step{StepField, m.name}
		dst = g.createdNode(dst, start, below, m.value, false, reset.child(step), without.child(step))
	}
	return dst
}

func (g *creator) createdItems(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
	elem := g.elem(typ)
	if reset.Empty() && without.Empty() {
		keys, text := len(g.keys), len(g.text)
		key, ok := g.singleKeys(typ, v)
		if ok {
			for _, it := range g.keys[keys:] {
				start := len(dst)
				dst = append(append(append(separate(dst), `"k:{\"`...), key...), `\":\"`...)
				dst = append(append(dst, it.key...), `\"}`...)
				dst = g.createdNode(dst, start, elem, it.value, false, node{}, node{})
			}
		}
		g.keys, g.text = g.keys[:keys], g.text[:text]
		if ok {
			return dst
		}
	}
	items := g.items(typ, v)
	byStep := func(a, b item) int { return compareSteps(a.step, b.step) }
	if !slices.IsSortedFunc(items, byStep) {
		slices.SortFunc(items, byStep)
	}
	for i, it := range items {
		if i > 0 && items[i-1].step == it.step {
			continue
		}
		start := len(dst)
		dst = append(separate(dst), '"', byte(it.step.Kind), ':')
		dst = appendEscaped(dst, it.step.Text)
		if i+1 < len(items) && items[i+1].step == it.step {
			// Elements with the same keys are owned together.
			dst = append(dst, `":{}`...)
			continue
		}
		dst = g.createdNode(dst, start, elem, it.value, false, reset.child(it.step), without.child(it.step))
	}
	return dst
}
