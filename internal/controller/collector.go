package controller

import (
	"context"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
)

// collector is the garbage collector: it deletes objects whose owners are all gone, and
// performs the finalizers orphan and foregroundDeletion.
//
// The graph finds the objects to process; the newest state in the store decides. An
// object is processed when
//
//   - an owner that it names is absent, is being deleted, or waits for its dependents;
//   - it is being deleted and has one of the two finalizers;
//   - the last dependent that it has waited for is gone.
type collector struct {
	*cluster
	graph *graph
	queue *queue[string] // by key
	// distant is the queue of objects with owners that other servers keep, which may let it
	// wait.
	distant *queue[string]
}

func newCollector(ctx context.Context, c *cluster) handler {
	gc := &collector{cluster: c, graph: newGraph()}
	gc.queue = newQueue(ctx, GarbageCollector, parallel, c.Logger, func(ctx context.Context, key string) error { return gc.process(ctx, key, false) })
	gc.distant = newQueue(ctx, GarbageCollector, parallel, c.Logger, func(ctx context.Context, key string) error { return gc.process(ctx, key, true) })
	return gc
}

func (gc *collector) wants(*Type) bool { return true }
func (gc *collector) close() {
	gc.queue.close()
	gc.distant.close()
}

// reset keeps the queue: its keys are compared with the store anyway.
func (gc *collector) reset() {
	gc.graph.mu.Lock()
	defer gc.graph.mu.Unlock()
	gc.graph.nodes, gc.graph.seen = make(map[uid]*node), 0
}

// observe updates the graph and fills the queue.
func (gc *collector) observe(ctx context.Context, o *observation) {
	m := readMetadata(o.body)
	id := parseUID([]byte(m.uid))
	if o.op == store.OpDelete {
		gc.removed(id, o.revision)
		return
	}
	owners, doubtful := gc.verify(ctx, o, &m)
	g := gc.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = max(g.seen, o.revision)
	n := g.nodes[id]
	if n == nil && len(owners) > 0 {
		n = g.node(id, strings.Clone(o.key))
	}
	if n != nil {
		gc.update(n, &m, gc.owners(owners))
	}
	if doubtful || m.waits() || m.orphans() {
		gc.queue.add(strings.Clone(o.key))
	}
}

// update brings a node to the state of its object. The graph's lock is held.
func (gc *collector) update(n *node, m *metadata, owners []reference) {
	began := m.waits() && !n.waits
	n.waits = m.waits()
	if began {
		for d := range n.dependents {
			gc.queue.add(d.key)
		}
	}
	for _, r := range owners {
		if r.owner.waits {
			gc.queue.add(n.key)
		}
	}
	gc.release(gc.graph.setOwners(n, owners))
}

// removed removes a deleted object from the graph.
func (gc *collector) removed(id uid, revision uint64) {
	g := gc.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = max(g.seen, revision)
	dependents, free := g.remove(id)
	for _, d := range dependents {
		gc.queue.add(d.key)
	}
	gc.release(free)
}

// release queues owners that have waited for their dependents.
func (gc *collector) release(free []*node) {
	for _, owner := range free {
		if owner.waits {
			gc.queue.add(owner.key)
		}
	}
}

// verified is an owner that was found under its key.
type verified struct {
	id     uid
	key    string
	blocks bool
	waits  bool
	known  bool // by the graph, whose waits are newer
}

// verify looks for the owners of an object: in the graph, otherwise in the store.
// doubtful means that one was not found.
func (gc *collector) verify(ctx context.Context, o *observation, m *metadata) (owners []verified, doubtful bool) {
	namespace, _ := o.typ.split(o.key)
	for i := range m.owners {
		r := &m.owners[i]
		key, err := gc.ownerKey(namespace, r)
		if errors.Is(err, ErrUnknownKind) && !gc.Elsewhere.Keeps(r.kind.APIVersion) {
			continue
		}
		if err != nil {
			doubtful = true
			continue
		}
		v := verified{id: parseUID([]byte(r.uid)), key: key, blocks: r.blocks}
		if !gc.known(&v) {
			owner, err := gc.read(ctx, key)
			if err != nil || owner == nil || owner.uid != r.uid {
				doubtful = true
				continue
			}
			v.waits = owner.waits()
		}
		owners = append(owners, v)
	}
	return owners, doubtful
}

// known reports whether the graph has the owner at its key.
func (gc *collector) known(v *verified) bool {
	gc.graph.mu.Lock()
	defer gc.graph.mu.Unlock()
	n := gc.graph.nodes[v.id]
	v.known = n != nil && n.key == v.key
	return v.known
}

// owners turns verified owners into references. The graph's lock is held.
func (gc *collector) owners(found []verified) []reference {
	if len(found) == 0 {
		return nil
	}
	list := make([]reference, 0, len(found))
	for _, v := range found {
		n := gc.graph.node(v.id, v.key)
		if !v.known {
			n.waits = n.waits || v.waits
		}
		list = append(list, reference{owner: n, blocks: v.blocks})
	}
	return list
}

// read returns the present metadata of an object, or nil.
func (gc *collector) read(ctx context.Context, key string) (*metadata, error) {
	e, err := gc.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := readMetadata(e.Body)
	return &m, nil
}

// ErrUnknownKind is the error for an owner of a kind that nobody serves.
var ErrUnknownKind = errors.New("no such kind is served")

var errNamespaced = errors.New("the owner is in a namespace and the dependent is in none")

// ownerKey is the key of the owner of an object in a namespace.
func (gc *collector) ownerKey(namespace string, r *ownerReference) (string, error) {
	t := gc.ofKind(r.kind)
	switch {
	case t == nil:
		return "", ErrUnknownKind
	case t.Namespaced && namespace == "":
		return "", errNamespaced
	}
	return t.key(namespace, r.name), nil
}
