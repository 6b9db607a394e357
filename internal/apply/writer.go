package apply

import (
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// fieldsWriter writes a fieldsV1 object directly from a walk over the values, in the
// order of a Set but without making one: the fields that the creator of an object owns,
// and those of an applied configuration.
type fieldsWriter struct {
	grammar
	applied bool
	vague   bool // a new object has a list whose elements are indistinguishable
	// Buffers for the members and lists that the walk is in, used as stacks.
	sent []sent
	keys []keyedBy
	text []byte
	out  []byte // for users of the writer
}

var fieldsWriters = sync.Pool{New: func() any { return new(fieldsWriter) }}

func (g grammar) fieldsWriter() *fieldsWriter {
	w := fieldsWriters.Get().(*fieldsWriter)
	w.grammar = g
	return w
}

// maxKept is the size of a writer's buffers, in bytes, up to which it is reused.
const maxKept = 64 << 10

func (g *fieldsWriter) release() {
	if cap(g.out)+cap(g.text) <= maxKept {
		clear(g.keys[:cap(g.keys)])
		clear(g.sent[:cap(g.sent)])
		fieldsWriters.Put(g)
	}
}

// created appends the fields of a new object: the result of compare with an absent
// object, without reset and neverOwned.
func (g *fieldsWriter) created(dst []byte, typ schema.Ref, obj document.Value, reset Set) []byte {
	g.applied, g.vague = false, false
	return append(g.members(append(dst, '{'), typ, obj, true, reset, neverOwned), '}')
}

// configured appends the fields of an applied configuration: the result of collect,
// without reset and neverOwned.
func (g *fieldsWriter) configured(dst []byte, typ schema.Ref, config document.Value, reset Set) []byte {
	g.applied = true
	return append(g.members(append(dst, '{'), typ, config, true, reset, neverOwned), '}')
}

// node closes the name at the end of dst and appends the fieldsV1 object of the member or
// element of that name, or cuts dst back to start. A weak value is owned only through its
// parts: a field of a configuration, and in a new object a value that the empty object
// has too.
func (g *fieldsWriter) node(dst []byte, start int, typ schema.Ref, v document.Value, weak bool, reset, without *node) []byte {
	if reset.member {
		g.vague = g.vague || !g.applied && filled(v) && g.compare(typ, document.Value{}, v).vague
		return dst[:start]
	}
	here := g.shapeOf(typ, v)
	leaf, self := here == scalar || here == atomic, false
	if g.applied {
		self = !weak || leaf || v.IsNull() || v.Kind() == document.Object && v.IsEmpty()
	} else {
		leaf = leaf || !filled(v) && !(weak && g.zeroFilled(typ))
		self = !weak || leaf && !g.isZero(typ, v)
	}
	self = self && !without.member
	if leaf {
		g.vague = g.vague || !g.applied && here == atomic && g.vagueBelow(typ, v)
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
		dst = g.elements(dst, typ, v, reset.below, without.below)
	} else {
		dst = g.members(dst, typ, v, weak, reset.below, without.below)
	}
	if len(dst) == mark {
		if !self {
			return dst[:start]
		}
		dst = dst[:open]
	}
	return append(dst, '}')
}

// sent is a member that was sent.
type sent struct {
	field *schema.Field
	value document.Value
	key   bool // it is none: its object is open
}

func (g *fieldsWriter) members(dst []byte, typ schema.Ref, v document.Value, weak bool, reset, without Set) []byte {
	t := g.typeOf(typ)
	if t == nil || t.Kind != schema.Object {
		return g.mapped(dst, typ, v, reset, without)
	}
	from := len(g.sent)
	_, own := v.Type()
	for name, m := range v.MembersOf(t) {
		i := m.Field()
		if own != typ {
			i = t.Field(name)
		}
		one := sent{value: m, key: i < 0}
		switch {
		case i >= 0:
			one.field = &t.Fields[i]
		case t.Open:
			one.field = &schema.Field{Name: name, Type: schema.None, Presence: schema.Sent}
		default:
			continue
		}
		at := len(g.sent)
		g.sent = append(g.sent, one)
		for ; at > from && g.sent[at-1].field.Name > one.field.Name; at-- {
			g.sent[at] = g.sent[at-1]
		}
		g.sent[at] = one
	}
	everything := reset.Empty() && without.Empty()
	for i := from; i < len(g.sent); i++ {
		f := g.sent[i].field
		if weak && !g.applied && f.Null && g.sent[i].value.IsNull() {
			continue // in the empty object too
		}
		if everything && (g.applied || !weak || f.Presence != schema.Always) && g.isScalar(f.Type) {
			dst = append(append(append(separate(dst), `"f:`...), f.Name...), `":{}`...)
			continue
		}
		start := len(dst)
		dst = document.AppendEscaped(append(separate(dst), `"f:`...), f.Name)
		step := Step{StepField, f.Name}
		inner := !g.sent[i].key && (g.applied || weak && f.Presence == schema.Always)
		dst = g.node(dst, start, f.Type, g.sent[i].value, inner, reset.at(step), without.at(step))
	}
	g.sent = g.sent[:from]
	return dst
}

// mapped appends the members of a map, or of an object without a type.
func (g *fieldsWriter) mapped(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
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
		dst = document.AppendEscaped(append(separate(dst), `"f:`...), m.name)
		step := Step{StepField, m.name}
		dst = g.node(dst, start, below, m.value, false, reset.at(step), without.at(step))
	}
	return dst
}

func (g *fieldsWriter) elements(dst []byte, typ schema.Ref, v document.Value, reset, without Set) []byte {
	elem := g.elem(typ)
	if reset.Empty() && without.Empty() {
		keys, text := len(g.keys), len(g.text)
		key, ok := g.singleKeys(typ, v)
		if ok {
			for _, it := range g.keys[keys:] {
				start := len(dst)
				dst = append(append(append(separate(dst), `"k:{\"`...), key...), `\":\"`...)
				dst = append(append(dst, it.key...), `\"}`...)
				dst = g.node(dst, start, elem, it.value, false, &nothing, &nothing)
			}
		}
		g.keys, g.text = g.keys[:keys], g.text[:text]
		if ok {
			return dst
		}
	}
	items := g.items(typ, v)
	for i := range items {
		g.vague = g.vague || items[i].keyless
	}
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
		dst = document.AppendEscaped(dst, it.step.Text)
		if i+1 < len(items) && items[i+1].step == it.step {
			// Elements with the same keys are owned together by their applier.
			g.vague = g.vague || !g.repeats
			dst = append(dst, `":{}`...)
			continue
		}
		dst = g.node(dst, start, elem, it.value, false, reset.at(it.step), without.at(it.step))
	}
	return dst
}
