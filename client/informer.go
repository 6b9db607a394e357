package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// InformerConfig describes an informer. Everything may be left out.
type InformerConfig[P Object] struct {
	// Select selects the objects.
	Select ListOptions
	// Resync is the time after which handlers see all objects again, as Changed from themselves
	// to themselves; 0 for never.
	Resync time.Duration
	// Indexers compute from an object the values under which Indexed finds it, by the name of
	// the index.
	Indexers map[string]func(P) []string
	// Failed receives the errors of attempts to list and watch, which are repeated.
	Failed func(error)
}

// Handler receives the changes of the objects of an informer. Its functions may be nil.
type Handler[P Object] struct {
	Added   func(obj P)
	Changed func(old, now P)
	Deleted func(last P) // the last state that the informer saw
}

// Informer keeps the selected objects of a resource in memory, and tells handlers of changes.
// Make one with Resource.Informer. It is safe for concurrent use.
//
// The objects are shared: they must not be changed. Copy makes a copy that may be.
type Informer[P Object] struct {
	resource *Resource[P]
	config   InformerConfig[P]
	running  atomic.Bool
	synced   chan struct{}

	calls    sync.Mutex // held while handlers run; before mu
	handlers map[*Handler[P]]bool

	mu      sync.RWMutex
	objects map[objectKey]P
	indexes map[string]map[string]map[objectKey]P // by index and value
}

// Informer returns an informer of the resource, which begins with Run.
//
//go:noinline
func (r *Resource[P]) Informer(c InformerConfig[P]) *Informer[P] {
	i := &Informer[P]{resource: r, config: c, synced: make(chan struct{}),
		handlers: map[*Handler[P]]bool{}, objects: map[objectKey]P{}, indexes: map[string]map[string]map[objectKey]P{}}
	for name := range c.Indexers {
		i.indexes[name] = map[string]map[objectKey]P{}
	}
	return i
}

// Run lists and watches until ctx ends; then it returns nil. It can be called once.
func (i *Informer[P]) Run(ctx context.Context) error {
	if i.running.Swap(true) {
		return errors.New("informer: Run was called before; make another informer")
	}
	ctx, cancel := context.WithCancel(ctx)
	var resync sync.WaitGroup
	defer resync.Wait()
	defer cancel()
	if i.config.Resync > 0 {
		resync.Go(func() {
			for sleep(ctx, i.config.Resync) == nil {
				repeat(i)
			}
		})
	}
	listed := false
	for event, err := range i.resource.Follow(ctx, i.config.Select) {
		switch {
		case err != nil && i.config.Failed != nil:
			i.config.Failed(err)
		case err != nil || event.Type == Synced && listed:
		case event.Type == Synced:
			listed = true
			close(i.synced)
		default:
			change(i, event)
		}
	}
	return nil
}

// Synced is closed when all objects of the first list are there, and were handled.
func (i *Informer[P]) Synced() <-chan struct{} { return i.synced }

// Handle adds a handler: it sees all objects as Added, then every change, until the returned
// function is called. Handlers are called one after another, and hold up the informer; the
// work that they find belongs into a queue. They must not call Handle, nor that function.
func (i *Informer[P]) Handle(h Handler[P]) (remove func()) {
	i.calls.Lock()
	defer i.calls.Unlock()
	i.handlers[&h] = true
	for _, obj := range i.List() {
		see(&h, Added, obj, obj)
	}
	return func() {
		i.calls.Lock()
		defer i.calls.Unlock()
		delete(i.handlers, &h)
	}
}

// see calls the function for a change: Added, Modified from old, or Deleted.
func see[P Object](h *Handler[P], t EventType, old, obj P) {
	switch {
	case t == Added && h.Added != nil:
		h.Added(obj)
	case t == Modified && h.Changed != nil:
		h.Changed(old, obj)
	case t == Deleted && h.Deleted != nil:
		h.Deleted(obj)
	}
}

// repeat shows all objects to the handlers again.
func repeat[P Object](i *Informer[P]) {
	i.calls.Lock()
	defer i.calls.Unlock()
	for _, obj := range i.List() {
		for h := range i.handlers {
			see(h, Modified, obj, obj)
		}
	}
}

// change takes over an event, then tells the handlers.
func change[P Object](i *Informer[P], event Event[P]) {
	i.calls.Lock()
	defer i.calls.Unlock()
	key, obj, deleted := keyOf(event.Object), event.Object, event.Type == Deleted
	i.mu.Lock()
	old, known := i.objects[key]
	if delete(i.objects, key); !deleted {
		i.objects[key] = obj
	}
	for name, values := range i.config.Indexers {
		index := i.indexes[name]
		if known {
			for _, v := range values(old) {
				if delete(index[v], key); len(index[v]) == 0 {
					delete(index, v)
				}
			}
		}
		if !deleted {
			for _, v := range values(obj) {
				if index[v] == nil {
					index[v] = map[objectKey]P{}
				}
				index[v][key] = obj
			}
		}
	}
	i.mu.Unlock()
	seen := Added
	switch {
	case deleted:
		seen = Deleted
	case known:
		seen = Modified
	}
	for h := range i.handlers {
		see(h, seen, old, obj)
	}
}

// Get returns an object; namespace is "" for objects outside of namespaces.
func (i *Informer[P]) Get(namespace, name string) (P, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	obj, ok := i.objects[objectKey{namespace, name}]
	return obj, ok
}

// List returns all objects, in no order.
func (i *Informer[P]) List() []P {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return slices.Collect(maps.Values(i.objects))
}

// Indexed returns the objects with that value in an index, in no order.
func (i *Informer[P]) Indexed(index, value string) ([]P, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	values, ok := i.indexes[index]
	if !ok {
		return nil, fmt.Errorf("informer: there is no index %q; add it to Indexers", index)
	}
	return slices.Collect(maps.Values(values[value])), nil
}
