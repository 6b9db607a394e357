package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// item is an element of a keyed list.
type item struct {
	step    Step
	value   document.Value
	keyless bool // all keys are missing and have no defaults
}

// items returns the elements of a keyed list with their steps; none for null.
func (g grammar) items(typ schema.Ref, v document.Value) []item {
	if v.Kind() != document.Array || v.Len() == 0 {
		return nil
	}
	t := g.typeOf(typ)
	keys := sortedNames(t.ListKeys)
	kind := StepKey
	if t.ListType == schema.ListSet {
		kind = StepValue
	}
	out := make([]item, 0, v.Len())
	text := make([]byte, 0, 32*v.Len())
	at := make([]int, 0, v.Len())
	for _, value := range v.Elements() {
		it := item{step: Step{Kind: kind}, value: value}
		if kind == StepValue {
			text = appendStepValue(text, value)
		} else {
			text, it.keyless = g.appendItemKeys(text, t, keys, value)
		}
		out = append(out, it)
		at = append(at, len(text))
	}
	all, start := string(text), 0 // one string for the texts of all steps
	for i, end := range at {
		out[i].step.Text = all[start:end]
		start = end
	}
	return out
}

// appendItemKeys writes the keys of an element, in order, and reports whether all are
// missing. A key that was not sent has its default; one that is always written has at
// least its zero value. A further one is absent: elements with it are others.
func (g grammar) appendItemKeys(dst []byte, t *schema.Type, keys []string, v document.Value) (_ []byte, keyless bool) {
	elem := g.typeOf(t.Elem)
	dst = append(dst, '{')
	keyless = true
	for _, key := range keys {
		value, def := v.Get(key), ""
		if !value.Exists() && elem != nil {
			if i := elem.Field(key); i >= 0 {
				def = g.keyDefault(&elem.Fields[i])
			}
		}
		if !value.Exists() && def == "" {
			continue
		}
		if !keyless {
			dst = append(dst, ',')
		}
		keyless = false
		dst = append(appendStepString(dst, []byte(key)), ':')
		if value.Exists() {
			dst = appendStepValue(dst, value)
		} else {
			dst = append(dst, def...)
		}
	}
	return append(dst, '}'), keyless
}

// keyDefault is the JSON of a key that was not sent, or empty.
func (g grammar) keyDefault(f *schema.Field) string {
	if f.Default != "" || f.Presence != schema.Always {
		return f.Default
	}
	if t := g.typeOf(f.Type); t != nil && (t.Kind == schema.Integer || t.Kind == schema.Number) {
		return "0"
	}
	return `""`
}

// few is the length up to which lists and objects are searched linearly.
const few = 16

// index finds elements by their step.
type index struct {
	items []item
	by    map[Step][]int // for more than a few
}

func indexItems(items []item) index {
	x := index{items: items}
	if len(items) > few {
		x.by = make(map[Step][]int, len(items))
		for i := range items {
			x.by[items[i].step] = append(x.by[items[i].step], i)
		}
	}
	return x
}

// all returns the positions of the elements with that step.
func (x *index) all(step Step, space []int) []int {
	if x.by != nil {
		return x.by[step]
	}
	space = space[:0]
	for i := range x.items {
		if x.items[i].step == step {
			space = append(space, i)
		}
	}
	return space
}
