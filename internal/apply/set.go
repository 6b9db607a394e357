package apply

import (
	"slices"
	"strings"
)

// Set is a set of paths: a tree of steps. The empty path is never a member. Sets share
// parts and are never changed.
//
// Invariants: nodes are ordered by compareSteps, without repetition; each is a member or
// has something below it.
type Set struct{ nodes []node }

type node struct {
	step   Step
	member bool
	below  Set
}

// NewSet makes a set of paths of fields.
func NewSet(paths ...[]string) Set {
	var s Set
	for _, path := range paths {
		steps := make([]Step, len(path))
		for i, name := range path {
			steps[i] = Step{StepField, name}
		}
		s = s.Union(single(steps))
	}
	return s
}

// single is the set of one path.
func single(path []Step) Set {
	var s Set
	for i := len(path) - 1; i >= 0; i-- {
		s = Set{[]node{{step: path[i], member: i == len(path)-1, below: s}}}
	}
	return s
}

// Empty reports whether the set has no members.
func (s Set) Empty() bool { return len(s.nodes) == 0 }

// find returns the index of a step and whether it is present.
func (s Set) find(step Step) (int, bool) {
	return slices.BinarySearchFunc(s.nodes, step, func(n node, step Step) int { return compareSteps(n.step, step) })
}

// child is the node of a step, or the zero node.
func (s Set) child(step Step) node { return *s.at(step) }

// nothing is the node of steps that are not in a set. It is never changed.
var nothing node

// at is child without a copy.
func (s Set) at(step Step) *node {
	if len(s.nodes) == 0 {
		return &nothing
	}
	if i, ok := s.find(step); ok {
		return &s.nodes[i]
	}
	return &nothing
}

// Has reports whether the path is a member.
func (s Set) Has(path ...Step) bool {
	var n node
	for _, step := range path {
		n = s.child(step)
		s = n.below
	}
	return n.member
}

// both walks two sets in order. A node that only one of them has is passed with the zero
// node. The result holds the non-empty nodes that join returns.
func both(a, b Set, join func(x, y node) node) Set {
	out := make([]node, 0, max(len(a.nodes), len(b.nodes)))
	i, j := 0, 0
	for i < len(a.nodes) || j < len(b.nodes) {
		var x, y node
		order := 0
		switch {
		case i == len(a.nodes):
			order = 1
		case j == len(b.nodes):
			order = -1
		default:
			order = compareSteps(a.nodes[i].step, b.nodes[j].step)
		}
		if order <= 0 {
			x = a.nodes[i]
			i++
		}
		if order >= 0 {
			y = b.nodes[j]
			j++
		}
		n := join(x, y)
		if n.step = x.step; order > 0 {
			n.step = y.step
		}
		if n.member || !n.below.Empty() {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return Set{}
	}
	return Set{out}
}

// Union holds the paths of either set.
func (s Set) Union(t Set) Set {
	switch {
	case s.Empty():
		return t
	case t.Empty():
		return s
	}
	return both(s, t, func(x, y node) node {
		return node{member: x.member || y.member, below: x.below.Union(y.below)}
	})
}

// Intersection holds the paths of both sets.
func (s Set) Intersection(t Set) Set {
	if s.Empty() || t.Empty() {
		return Set{}
	}
	return both(s, t, func(x, y node) node {
		return node{member: x.member && y.member, below: x.below.Intersection(y.below)}
	})
}

// meets reports whether a path of s and one of t begin with the same step.
func (s Set) meets(t Set) bool {
	return slices.ContainsFunc(s.nodes, func(n node) bool { _, ok := t.find(n.step); return ok })
}

// Difference holds the paths of s that t does not have.
func (s Set) Difference(t Set) Set {
	if !s.meets(t) {
		return s
	}
	return both(s, t, func(x, y node) node {
		return node{member: x.member && !y.member, below: x.below.Difference(y.below)}
	})
}

// Without holds the paths of s that are neither in t nor below a path of t.
func (s Set) Without(t Set) Set {
	if !s.meets(t) {
		return s
	}
	return both(s, t, func(x, y node) node {
		if y.member {
			return node{}
		}
		return node{member: x.member, below: x.below.Without(y.below)}
	})
}

// Equal reports whether both hold the same paths.
func (s Set) Equal(t Set) bool {
	return slices.EqualFunc(s.nodes, t.nodes, func(x, y node) bool {
		return x.step == y.step && x.member == y.member && x.below.Equal(y.below)
	})
}

// Holds reports whether s has all paths of t.
func (s Set) Holds(t Set) bool {
	for _, y := range t.nodes {
		x := s.child(y.step)
		if y.member && !x.member || !x.below.Holds(y.below) {
			return false
		}
	}
	return true
}

// Each visits the paths: the members of a level, then those below. The path is valid
// until the visit returns.
func (s Set) Each(visit func(path []Step)) { s.each(nil, visit) }

func (s Set) each(path []Step, visit func(path []Step)) {
	for _, n := range s.nodes {
		if n.member {
			visit(append(path, n.step))
		}
	}
	for _, n := range s.nodes {
		n.below.each(append(path, n.step), visit)
	}
}

// String lists the paths, for messages and tests.
func (s Set) String() string {
	var b strings.Builder
	s.Each(func(path []Step) { b.WriteString(pathText(path) + "\n") })
	return b.String()
}

func pathText(path []Step) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString(step.String())
	}
	return b.String()
}

// sortNodes sorts nodes into the order of a Set. Nodes of the same step become one.
func sortNodes(nodes []node) Set {
	byStep := func(x, y node) int { return compareSteps(x.step, y.step) }
	if !slices.IsSortedFunc(nodes, byStep) {
		slices.SortStableFunc(nodes, byStep)
	}
	out := nodes[:0]
	for _, n := range nodes {
		if last := len(out) - 1; last >= 0 && out[last].step == n.step {
			out[last].member = out[last].member || n.member
			out[last].below = out[last].below.Union(n.below)
			continue
		}
		out = append(out, n)
	}
	return Set{out}
}
