package controller

import (
	"github.com/capstan-dev/capstan/internal/ranks"
)

// graph is the ownership of objects, up to the feed's revision. Of an object it knows
// only uid and key.
//
// Invariants:
//
//	G1. A node is an object that existed when it was last read, and that has owners or
//	    dependents in the graph; other objects have none.
//	G2. A reference whose object does not exist under the reference's key is not in
//	    the graph.
//	G3. o is an owner of d if and only if d is among o's dependents, once.
//	G4. blockers counts the dependents whose reference blocks.
//
// A pod among 100,000 takes about 190 bytes (BenchmarkGraph).
type graph struct {
	mu    ranks.Mutex[ranks.Derived]
	nodes map[uid]*node
	seen  uint64 // the revision that the graph is at
}

// node is an object with owners or dependents.
type node struct {
	uid        uid
	key        string
	owners     []reference
	dependents map[*node]struct{}
	blockers   int32
	waits      bool // it is deleted when its dependents are gone
}

// reference is one of a node's owners.
type reference struct {
	owner  *node
	blocks bool
}

func newGraph() *graph { return &graph{nodes: make(map[uid]*node)} }

// node returns the node of an object, a new one if need be. The lock is held.
func (g *graph) node(id uid, key string) *node {
	n := g.nodes[id]
	if n == nil {
		n = &node{uid: id, key: key}
		g.nodes[id] = n
	}
	return n
}

// setOwners replaces a node's owners and returns the previous ones whose last blocker it
// was. The lock is held.
func (g *graph) setOwners(n *node, owners []reference) (free []*node) {
	before := n.owners
	n.owners = nil
	for _, r := range before {
		if g.unlink(n, r) {
			free = append(free, r.owner)
		}
	}
	for _, r := range owners {
		g.link(n, r)
	}
	stillFree := free[:0]
	for _, o := range free {
		if o.blockers == 0 {
			stillFree = append(stillFree, o)
		}
	}
	for _, r := range before {
		if r.owner != n {
			g.tidy(r.owner)
		}
	}
	g.tidy(n)
	return stillFree
}

// link adds an owner, unless n has it already.
func (g *graph) link(n *node, r reference) {
	for i := range n.owners {
		if have := &n.owners[i]; have.owner == r.owner {
			if r.blocks && !have.blocks {
				have.blocks = true
				r.owner.blockers++
			}
			return
		}
	}
	n.owners = append(n.owners, r)
	if r.owner.dependents == nil {
		r.owner.dependents = make(map[*node]struct{}, 1)
	}
	r.owner.dependents[n] = struct{}{}
	if r.blocks {
		r.owner.blockers++
	}
}

// unlink removes n from the owner's dependents, and reports whether it was the last that
// blocks.
func (g *graph) unlink(n *node, r reference) (last bool) {
	delete(r.owner.dependents, n)
	if r.blocks {
		r.owner.blockers--
		return r.owner.blockers == 0
	}
	return false
}

// tidy removes a node that has neither owners nor dependents.
func (g *graph) tidy(n *node) {
	if len(n.owners) == 0 && len(n.dependents) == 0 {
		delete(g.nodes, n.uid)
	}
}

// remove removes a deleted object. It returns its dependents, and the owners whose last
// blocker it was. The lock is held.
func (g *graph) remove(id uid) (dependents, free []*node) {
	n := g.nodes[id]
	if n == nil {
		return nil, nil
	}
	for d := range n.dependents {
		dependents = append(dependents, d)
		for i := range d.owners {
			if d.owners[i].owner == n {
				d.owners = append(d.owners[:i], d.owners[i+1:]...)
				break
			}
		}
		if d != n {
			g.tidy(d)
		}
	}
	n.dependents = nil
	free = g.setOwners(n, nil)
	delete(g.nodes, id)
	return dependents, free
}

// dependentsOf copies the keys of an object's dependents. ok is false until the graph has
// reached a revision.
func (g *graph) dependentsOf(id uid, revision uint64) (keys []string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen < revision {
		return nil, false
	}
	if n := g.nodes[id]; n != nil {
		for d := range n.dependents {
			keys = append(keys, d.key)
		}
	}
	return keys, true
}

// blocked reports whether dependents block the foreground deletion of an object. ok is
// false until the graph has reached a revision.
func (g *graph) blocked(id uid, revision uint64) (blocked, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[id]
	return n != nil && n.blockers > 0, g.seen >= revision
}

// circle reports whether a dependent of the object waits for its dependents in turn.
// dependents reports whether it has any.
func (g *graph) circle(id uid) (dependents, circle bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[id]
	if n == nil {
		return false, false
	}
	for d := range n.dependents {
		if d.waits {
			return true, true
		}
	}
	return len(n.dependents) > 0, false
}
