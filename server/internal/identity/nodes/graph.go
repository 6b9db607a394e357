package nodes

import (
	"cmp"
	"slices"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/kinds"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// kind is the kind of a target.
type kind uint8

// The kinds of targets: those of the names in pods, and some more.
const (
	secret     = kind(kinds.Secret)
	configMap  = kind(kinds.ConfigMap)
	claim      = kind(kinds.Claim)
	account    = kind(kinds.ServiceAccount)
	volume     = account + 1
	attachment = account + 2
	pod        = account + 3 // where agents read only their own
	device     = account + 4 // the claim of a pod on devices
	slice      = account + 5 // of devices
	certified  = account + 6 // a request for the certificate of a pod
)

// target is an object that some nodes may use.
type target struct {
	kind            kind
	namespace, name string // namespace is "" for cluster-scoped objects
}

// source is an object that lets a node use targets: a pod on the node, or a volume
// attachment, a slice of devices or a request for a certificate of it. A persistent volume
// does so for the nodes that may use its claim.
//
// Invariant: read is set until the graph has the source, the other fields afterwards.
type source struct {
	read  *names
	on    *node   // nil for a persistent volume
	claim *vertex // of a persistent volume
	gives []*vertex
}

// names are a source as it was read.
type names struct {
	node    string // "" for a persistent volume
	claim   target // of a persistent volume
	targets []target
}

// node is a node with sources. Its id is never used again.
type node struct {
	id      uint32
	sources int
}

// vertex is a target with the nodes that may use it.
type vertex struct {
	target
	uses []use // in the order of nodes
	refs int   // the sources that name it
}

// use is the number of ways in which a node may use a target.
type use struct{ node, ways uint32 }

// graph finds out whether a node may use a target, by one look-up and a binary search:
// the way over claim and volume is counted when one of them changes.
//
// Invariants:
//
//	N1. A vertex exists while a source names it, a node while it has sources.
//	N2. The ways of a node to a target are the pods and attachments on the node that name
//	    the target and, for each claim that a pod on it names, the volumes of the claim
//	    that are or name the target.
//	N3. mu is held for changes, which the collection makes one after the other, and for a
//	    few hundred nanoseconds for reads.
type graph struct {
	mu      ranks.RWMutex[ranks.Derived]
	targets map[target]*vertex
	nodes   map[string]*node
	names   map[*node]string
	lastID  uint32
	volumes map[*vertex][]*source // by claim
}

func newGraph() *graph {
	return &graph{targets: map[target]*vertex{}, nodes: map[string]*node{}, names: map[*node]string{}, volumes: map[*vertex][]*source{}}
}

// has reports whether a node may use a target.
func (g *graph) has(t target, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n, v := g.nodes[name], g.targets[t]
	if n == nil || v == nil {
		return false
	}
	_, found := v.find(n.id)
	return found
}

func (v *vertex) find(node uint32) (at int, found bool) {
	return slices.BinarySearchFunc(v.uses, node, func(u use, id uint32) int { return cmp.Compare(u.node, id) })
}

// apply makes changes of sources.
func (g *graph) apply(changes []live.Change[*source]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range changes {
		if c.After != nil { // first, so that vertices that both name stay
			g.add(c.After)
		}
		if c.Before != nil {
			g.remove(c.Before)
		}
	}
}

func (g *graph) add(s *source) {
	read := s.read
	s.read, s.gives = nil, make([]*vertex, len(read.targets))
	for i, t := range read.targets {
		s.gives[i] = g.vertex(t)
	}
	if read.node == "" {
		s.claim = g.vertex(read.claim)
		g.volumes[s.claim] = append(g.volumes[s.claim], s)
		g.lend(s, 1)
		return
	}
	if s.on = g.nodes[read.node]; s.on == nil {
		g.lastID++
		s.on = &node{id: g.lastID}
		g.nodes[read.node], g.names[s.on] = s.on, read.node
	}
	s.on.sources++
	g.grant(s, 1)
}

func (g *graph) remove(s *source) {
	if s.on == nil {
		g.lend(s, ^uint32(0))
		if of := slices.DeleteFunc(g.volumes[s.claim], func(v *source) bool { return v == s }); len(of) > 0 {
			g.volumes[s.claim] = of
		} else {
			delete(g.volumes, s.claim)
		}
		g.leave(s.claim)
	} else {
		g.grant(s, ^uint32(0))
		if s.on.sources--; s.on.sources == 0 {
			delete(g.nodes, g.names[s.on])
			delete(g.names, s.on)
		}
	}
	for _, v := range s.gives {
		g.leave(v)
	}
}

// vertex is the vertex of a target that one more source names.
func (g *graph) vertex(t target) *vertex {
	v := g.targets[t]
	if v == nil {
		v = &vertex{target: t}
		g.targets[t] = v
	}
	v.refs++
	return v
}

// leave removes a vertex that no source names any longer.
func (g *graph) leave(v *vertex) {
	if v.refs--; v.refs == 0 {
		delete(g.targets, v.target)
	}
}

// grant changes the ways of a node to the targets of a pod or an attachment by one, up or
// down.
func (g *graph) grant(s *source, by uint32) {
	for _, v := range s.gives {
		v.change(s.on.id, by)
		if v.kind != claim {
			continue
		}
		for _, bound := range g.volumes[v] {
			for _, w := range bound.gives {
				w.change(s.on.id, by)
			}
		}
	}
}

// lend changes the ways of the nodes that may use the claim of a volume to the targets of
// the volume: sign is 1 or -1.
func (g *graph) lend(s *source, sign uint32) {
	for _, u := range s.claim.uses {
		for _, v := range s.gives {
			v.change(u.node, u.ways*sign)
		}
	}
}

// change changes the number of ways of a node; by may stand for a negative number.
func (v *vertex) change(node, by uint32) {
	at, found := v.find(node)
	if !found {
		v.uses = slices.Insert(v.uses, at, use{node: node})
	}
	if v.uses[at].ways += by; v.uses[at].ways == 0 {
		v.uses = slices.Delete(v.uses, at, at+1)
	}
}
