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
type InformerConfig[T any] struct {
	// Select selects the objects.
	Select ListOptions
	// Resync is the time after which handlers see all objects again, as Changed from themselves
	// to themselves; 0 for never.
	Resync time.Duration
	// Indexers compute from an object the values under which Indexed finds it, by the name of
	// the index.
	Indexers map[string]func(*T) []string
	// Failed receives the errors of attempts to list and watch, which are repeated.
	Failed func(error)
}

// Handler receives the changes of the objects of an informer. Its functions may be nil.
type Handler[T any] struct {
	Added   func(obj *T)
	Changed func(old, now *T)
	Deleted func(last *T) // the last state that the informer saw
}

// Informer keeps the selected objects of a resource in memory, and tells handlers of changes.
// Make one with Reader.Informer. It is safe for concurrent use.
//
// The objects are shared: they must not be changed. Copy makes a copy that may be.
type Informer[T any, P Pointer[T]] struct {
	reader  Reader[T, P]
	config  InformerConfig[T]
	running atomic.Bool
	synced  chan struct{}

	calls    sync.Mutex // held while handlers run; before mu
	handlers map[*Handler[T]]bool

	mu      sync.RWMutex
	objects map[objectKey]*T
	indexes map[string]map[string]map[objectKey]*T // by index and value
}

// Informer returns an informer of the resource, which begins with Run.
func (r Reader[T, P]) Informer(c InformerConfig[T]) *Informer[T, P] {
	i := &Informer[T, P]{reader: r, config: c, synced: make(chan struct{}),
		handlers: map[*Handler[T]]bool{}, objects: map[objectKey]*T{}, indexes: map[string]map[string]map[objectKey]*T{}}
	for name := range c.Indexers {
		i.indexes[name] = map[string]map[objectKey]*T{}
	}
	return i
}

// Run lists and watches until ctx ends; then it returns nil. It can be called once.
func (i *Informer[T, P]) Run(ctx context.Context) error {
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
				i.repeat()
			}
		})
	}
	listed := false
	for event, err := range i.reader.Follow(ctx, i.config.Select) {
		switch {
		case err != nil && i.config.Failed != nil:
			i.config.Failed(err)
		case event.Type == Synced && !listed:
			listed = true
			close(i.synced)
		case event.Object != nil:
			i.change(event)
		}
	}
	return nil
}

// Synced is closed when all objects of the first list are there, and were handled.
func (i *Informer[T, P]) Synced() <-chan struct{} { return i.synced }

// Handle adds a handler: it sees all objects as Added, then every change, until the returned
// function is called. Handlers are called one after another, and hold up the informer; the
// work that they find belongs into a queue. They must not call Handle, nor that function.
func (i *Informer[T, P]) Handle(h Handler[T]) (remove func()) {
	i.calls.Lock()
	defer i.calls.Unlock()
	i.handlers[&h] = true
	for _, obj := range i.List() {
		h.see(nil, obj)
	}
	return func() {
		i.calls.Lock()
		defer i.calls.Unlock()
		delete(i.handlers, &h)
	}
}

func (h *Handler[T]) see(old, now *T) {
	switch {
	case old == nil && h.Added != nil:
		h.Added(now)
	case now == nil && h.Deleted != nil:
		h.Deleted(old)
	case old != nil && now != nil && h.Changed != nil:
		h.Changed(old, now)
	}
}

// repeat shows all objects to the handlers again.
func (i *Informer[T, P]) repeat() {
	i.calls.Lock()
	defer i.calls.Unlock()
	for _, obj := range i.List() {
		for h := range i.handlers {
			h.see(obj, obj)
		}
	}
}

// change takes over an event, then tells the handlers.
func (i *Informer[T, P]) change(event Event[T]) {
	i.calls.Lock()
	defer i.calls.Unlock()
	key, now := keyOf[T, P](event.Object), event.Object
	if event.Type == Deleted {
		now = nil
	}
	i.mu.Lock()
	old := i.objects[key]
	if delete(i.objects, key); now != nil {
		i.objects[key] = now
	}
	for name, values := range i.config.Indexers {
		index := i.indexes[name]
		if old != nil {
			for _, v := range values(old) {
				if delete(index[v], key); len(index[v]) == 0 {
					delete(index, v)
				}
			}
		}
		if now != nil {
			for _, v := range values(now) {
				if index[v] == nil {
					index[v] = map[objectKey]*T{}
				}
				index[v][key] = now
			}
		}
	}
	i.mu.Unlock()
	if now == nil {
		old = event.Object // its last state has the version of the delete
	}
	for h := range i.handlers {
		h.see(old, now)
	}
}

// Get returns an object; namespace is "" for objects outside of namespaces.
func (i *Informer[T, P]) Get(namespace, name string) (*T, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	obj, ok := i.objects[objectKey{namespace, name}]
	return obj, ok
}

// List returns all objects, in no order.
func (i *Informer[T, P]) List() []*T {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return slices.Collect(maps.Values(i.objects))
}

// Indexed returns the objects with that value in an index, in no order.
func (i *Informer[T, P]) Indexed(index, value string) ([]*T, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	values, ok := i.indexes[index]
	if !ok {
		return nil, fmt.Errorf("informer: there is no index %q; add it to Indexers", index)
	}
	return slices.Collect(maps.Values(values[value])), nil
}
