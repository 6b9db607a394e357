package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// collect is the set of the paths that a value sets: its leaves, the elements of its
// lists, and the keys of its maps.
func (g grammar) collect(typ schema.Ref, v document.Value) Set {
	below, _ := g.collectValue(typ, v)
	return below
}

// collectValue also reports whether the value itself is owned.
func (g grammar) collectValue(typ schema.Ref, v document.Value) (below Set, self bool) {
	var nodes []node
	switch g.shapeOf(typ, v) {
	case scalar, atomic:
		return Set{}, true
	case keyed:
		return g.collectItems(typ, v), false
	default:
		if v.Kind() != document.Object {
			return Set{}, false
		}
		for name, m := range v.Members() {
			below, field, ok := g.member(typ, name)
			if !ok {
				continue
			}
			n := node{step: Step{StepField, name}}
			n.below, n.member = g.collectValue(below, m)
			if !field || m.IsNull() || m.Kind() == document.Object && m.Len() == 0 {
				n.member = true
			}
			if n.member || !n.below.Empty() {
				nodes = append(nodes, n)
			}
		}
	}
	return sortNodes(nodes), false
}

// collectItems owns each element and its fields. Of elements with the same keys only the
// element itself is owned.
func (g grammar) collectItems(typ schema.Ref, v document.Value) Set {
	items := g.items(typ, v)
	by, elem := indexItems(items), g.elem(typ)
	nodes := make([]node, 0, len(items))
	var space [few]int
	for i := range items {
		n := node{step: items[i].step, member: true}
		same := by.all(n.step, space[:0])
		if len(same) == 1 {
			n.below, _ = g.collectValue(elem, items[i].value)
		} else if same[0] != i {
			continue
		}
		nodes = append(nodes, n)
	}
	return sortNodes(nodes)
}

// withFields adds the fields on the way to the members: not keys of maps and not elements
// of lists, which may have no owner.
func (g grammar) withFields(typ schema.Ref, s Set) Set {
	nodes := make([]node, len(s.nodes))
	for i, n := range s.nodes {
		if !n.below.Empty() {
			if n.step.Kind == StepField && !n.member {
				_, n.member, _ = g.member(typ, n.step.Text)
			}
			n.below = g.withFields(g.below(typ, n.step), n.below)
		}
		nodes[i] = n
	}
	return Set{nodes}
}

// reconcile fits a set that was written under an older schema to this one: where single
// parts of a now atomic value were owned, the whole is owned.
func (g grammar) reconcile(typ schema.Ref, s Set) Set {
	changed := false
	nodes := make([]node, len(s.nodes))
	for i, n := range s.nodes {
		if !n.below.Empty() {
			below := g.below(typ, n.step)
			if t := g.typeOf(below); t != nil {
				if g.shapeOf(below, document.Value{}) == atomic {
					n.member, n.below, changed = true, Set{}, true
				} else if r := g.reconcile(below, n.below); !r.Equal(n.below) {
					n.below, changed = r, true
				}
			}
		}
		nodes[i] = n
	}
	if !changed {
		return s
	}
	return Set{nodes}
}

// outdated reports whether reconcile might change the set of a fieldsV1 object.
func (g grammar) outdated(typ schema.Ref, fields document.Value) bool {
	t := g.typeOf(typ)
	for name, v := range fields.RawMembers() {
		if v.IsEmpty() || len(name) < 2 {
			continue
		}
		below := schema.None
		switch StepKind(name[0]) {
		case StepField:
			if t != nil && t.Kind == schema.Map {
				below = t.Elem
			} else if t != nil { // no name of a field has escapes
				if i := t.FieldOf(name[2:]); i >= 0 {
					below = t.Fields[i].Type
				}
			}
		case StepKey:
			below = g.elem(typ)
		}
		if g.typeOf(below) == nil {
			continue
		}
		if g.shapeOf(below, document.Value{}) == atomic || g.outdated(below, v) {
			return true
		}
	}
	return false
}
