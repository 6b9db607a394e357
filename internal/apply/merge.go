package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// merge appends the JSON of l with r merged over it. Nothing of l is removed; prune
// removes the fields that r leaves out.
func (g grammar) merge(dst []byte, typ schema.Ref, l, r document.Value) []byte {
	dst, _ = g.mergeValues(dst, typ, l, r)
	return dst
}

// mergeValues reports whether it appended anything.
func (g grammar) mergeValues(dst []byte, typ schema.Ref, l, r document.Value) ([]byte, bool) {
	switch {
	case !l.Exists() && !r.Exists():
		return dst, false
	case !r.Exists(), document.Same(l, r):
		return l.AppendJSON(dst), true
	}
	here := g.shapeOf(typ, r)
	if g.typeOf(typ) == nil {
		if r.IsNull() && filled(l) && l.Kind() == document.Object {
			here = g.shapeOf(typ, l)
		} else if g.shapeOf(typ, l) != here {
			l = document.Value{} // another kind of value: nothing of it stays
		}
	}
	if here == scalar || here == atomic || !filled(l) && !filled(r) || misplaced(here, r) {
		return r.AppendJSON(dst), true
	}
	start := len(dst)
	open, end := byte('{'), byte('}')
	if here == keyed {
		open, end = '[', ']'
	}
	dst = append(dst, open)
	if here == keyed {
		dst = g.mergeItems(dst, typ, l, r)
	} else {
		visit := func(name string, x, y document.Value) {
			below, _, ok := g.member(typ, name)
			if !ok {
				return
			}
			before := len(dst)
			dst = separate(dst)
			dst = append(appendStepString(dst, []byte(name)), ':')
			var there bool
			if dst, there = g.mergeValues(dst, below, x, y); !there {
				dst = dst[:before]
			}
		}
		t := g.typeOf(typ)
		if t == nil {
			members(nil, l, r, visit)
		} else {
			// In the order of l, so that values that r repeats give the text of l.
			members(t, r, l, func(name string, y, x document.Value) { visit(name, x, y) })
		}
	}
	if dst[len(dst)-1] == open {
		return dst[:start], false
	}
	return append(dst, end), true
}

// misplaced reports whether a value is of another kind than its type, which the validation
// of custom objects refuses.
func misplaced(here shape, v document.Value) bool {
	want := document.Object
	if here == keyed {
		want = document.Array
	}
	return !v.IsNull() && v.Kind() != want
}

// separate appends a comma unless dst ends with an opening bracket.
func separate(dst []byte) []byte {
	if c := dst[len(dst)-1]; c == '{' || c == '[' {
		return dst
	}
	return append(dst, ',')
}

// mergeItems merges two lists. The elements of r come in its order; those that only l has
// stay after the element that they followed, as far as possible.
func (g grammar) mergeItems(dst []byte, typ schema.Ref, l, r document.Value) []byte {
	left, right := indexItems(g.items(typ, l)), indexItems(g.items(typ, r))
	elem := g.elem(typ)
	var space [few]int
	inLeft := func(s Step) int { return len(left.all(s, space[:0])) }
	inRight := func(s Step) bool { return len(right.all(s, space[:0])) > 0 }
	emit := func(x, y document.Value) {
		before := len(dst)
		var there bool
		if dst, there = g.mergeValues(separate(dst), elem, x, y); !there {
			dst = dst[:before]
		}
	}
	// shared are the elements of r that l has too, in the order of r.
	var shared []Step
	for i := range right.items {
		if inLeft(right.items[i].step) > 0 {
			shared = append(shared, right.items[i].step)
		}
	}
	done := make(map[Step]bool, len(right.items))
	take := func(i int) {
		s := right.items[i].step
		done[s] = true
		var x document.Value
		if same := left.all(s, space[:0]); len(same) == 1 {
			x = left.items[same[0]].value // elements with repeated keys do not merge
		}
		emit(x, right.items[i].value)
	}
	for li, ri := 0, 0; li < len(left.items) || ri < len(right.items); {
		if li < len(left.items) {
			s := left.items[li].step
			if ri < len(right.items) {
				if s == right.items[ri].step {
					take(ri)
					li, ri = li+1, ri+1
					if len(shared) > 0 {
						shared = shared[1:]
					}
					continue
				}
				if len(shared) > 0 && shared[0] != s && inRight(s) {
					li++ // it follows with the element of r
					continue
				}
			}
			if !inRight(s) {
				emit(left.items[li].value, document.Value{})
				li++
				continue
			}
			if done[s] {
				li++
			}
		}
		if ri < len(right.items) {
			take(ri)
			if len(shared) > 0 && shared[0] == right.items[ri].step {
				shared = shared[1:]
			}
			ri++
		}
	}
	return dst
}

// remove appends the JSON of a value without the paths of a set. A value that becomes
// empty is null.
func (g grammar) remove(dst []byte, typ schema.Ref, v document.Value, s Set) []byte {
	here := g.shapeOf(typ, v)
	if here == scalar {
		return v.AppendJSON(dst)
	}
	if here == atomic || !filled(v) {
		return append(dst, "null"...)
	}
	start := len(dst)
	part := func(step Step, below schema.Ref, m document.Value) {
		switch n := s.child(step); {
		case n.member:
			// The member is removed.
		case n.below.Empty():
			dst = m.AppendJSON(dst)
		default:
			dst = g.remove(dst, below, m, n.below)
		}
	}
	open, end := byte('{'), byte('}')
	switch {
	case here == keyed && v.Kind() == document.Array:
		open, end = '[', ']'
		dst = append(dst, open)
		for _, it := range g.items(typ, v) {
			if s.child(it.step).member {
				continue
			}
			dst = separate(dst)
			part(it.step, g.elem(typ), it.value)
		}
	case here != keyed && v.Kind() == document.Object:
		dst = append(dst, open)
		for name, m := range v.Members() {
			step := Step{StepField, name}
			if s.child(step).member {
				continue
			}
			below, _, _ := g.member(typ, name)
			dst = append(appendStepString(separate(dst), []byte(name)), ':')
			part(step, below, m)
		}
	default:
		return append(dst, "null"...)
	}
	if dst[len(dst)-1] == open {
		return append(dst[:start], "null"...)
	}
	return append(dst, end)
}
