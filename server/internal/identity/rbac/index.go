package rbac

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/capstan-dev/capstan/server/internal/live"
)

// role is the place of a role's rules: bindings refer to it, so that a changed role
// counts at once for all of them.
type role struct {
	rules atomic.Pointer[[]rule] // nil while the role does not exist
	bound int                    // the number of bindings that refer to it
}

// grant is a binding as one of its subjects has it.
type grant struct {
	*binding
	reason string
}

// index finds the grants of a subject. Requests read it while the newest change is
// applied to it in place; they see each object before or after its change.
//
// Invariants:
//
//	X1. roles has a place for every role that exists or is referred to by a binding.
//	    Only apply uses it, which the collection calls one change after the other.
//	X2. subjects never changes; apply replaces it.
type index struct {
	roles    map[roleRef]*role
	subjects atomic.Pointer[grants]
}

// grants are lists of grants by subject: those of the subjects in recent, and of others
// in rest. So a change copies few lists.
type grants struct{ recent, rest map[subject][]grant }

func (g *grants) of(s subject) []grant {
	if len(g.recent) > 0 {
		if list, ok := g.recent[s]; ok {
			return list
		}
	}
	return g.rest[s]
}

func newIndex() *index {
	x := &index{roles: map[roleRef]*role{}}
	x.subjects.Store(&grants{})
	return x
}

// place is the place of a role.
func (x *index) place(ref roleRef) *role {
	r := x.roles[ref]
	if r == nil {
		r = &role{}
		x.roles[ref] = r
	}
	return r
}

// leave removes the place of a role that neither exists nor is referred to.
func (x *index) leave(ref roleRef, r *role) {
	if r.bound == 0 && r.rules.Load() == nil {
		delete(x.roles, ref)
	}
}

// leastRecent is the number of subjects in grants.recent up to which it is copied at every
// change.
const leastRecent = 64

// apply makes changes of roles and bindings, whose references are those of the keys.
func (x *index) apply(changes []live.Change[*object], refOf func(key string) roleRef) {
	next := newChangedGrants(x.subjects.Load())
	for _, change := range changes {
		if isRole(change.Before) || isRole(change.After) {
			ref := refOf(change.Key)
			r := x.place(ref)
			if change.After == nil {
				r.rules.Store(nil)
			} else {
				r.rules.Store(change.After.rules)
			}
			x.leave(ref, r)
			continue
		}
		if change.After != nil { // first, so that a place that both use stays
			x.add(next, change.After.binding)
		}
		if change.Before != nil {
			x.remove(next, change.Before.binding)
		}
	}
	x.subjects.Store(next.done())
}

func isRole(o *object) bool { return o != nil && o.rules != nil }

func (x *index) add(to *changedGrants, b *binding) {
	b.role = x.place(b.ref)
	b.role.bound++
	for _, s := range b.subjects {
		to.set(s.subject, append(to.list(s.subject), grant{b, s.reason}))
	}
}

func (x *index) remove(from *changedGrants, b *binding) {
	b.role.bound--
	x.leave(b.ref, b.role)
	for _, s := range b.subjects {
		from.set(s.subject, slices.DeleteFunc(from.list(s.subject), func(g grant) bool { return g.binding == b }))
	}
}

// changedGrants are grants that are being changed. The lists in own are copies, which no
// request has seen.
type changedGrants struct {
	grants
	own map[subject]bool
}

func newChangedGrants(before *grants) *changedGrants {
	c := &changedGrants{grants{maps.Clone(before.recent), before.rest}, map[subject]bool{}}
	if c.recent == nil {
		c.recent = map[subject][]grant{}
	}
	return c
}

// list is the list of a subject, to be changed.
func (c *changedGrants) list(s subject) []grant {
	if c.own[s] {
		return c.recent[s]
	}
	return slices.Clone(c.of(s))
}

func (c *changedGrants) set(s subject, list []grant) { c.recent[s], c.own[s] = list, true }

// done is the result. Where many lists are recent, it has all of them in rest.
func (c *changedGrants) done() *grants {
	if len(c.recent) <= max(leastRecent, len(c.rest)/8) {
		return &c.grants
	}
	rest := maps.Clone(c.rest)
	if rest == nil {
		rest = map[subject][]grant{}
	}
	for s, list := range c.recent {
		if rest[s] = list; len(list) == 0 {
			delete(rest, s)
		}
	}
	return &grants{rest: rest}
}
