package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

const (
	definitionGroup = "apiextensions." + profile.GroupSuffix
	// definitionFinalizer holds a definition until no object of it is left.
	definitionFinalizer = "customresourcecleanup." + definitionGroup
	// definitionManager is the manager of the status of definitions.
	definitionManager = "kube-apiserver"
)

// definitions gives custom resource definitions their names, and lets go of those
// that are deleted. It knows all of them, so that a change costs one read.
type definitions struct {
	server   *Server
	resource *catalog.Row
	known    map[string]*definition // by name; used by run alone

	mu      sync.Mutex
	changed map[string]bool // names that run has not looked at
	wake    chan struct{}   // has room for one
}

// followDefinitions looks after all custom resource definitions until ctx ends.
func (s *Server) followDefinitions(ctx context.Context) {
	d := &definitions{server: s, resource: s.catalog.Snapshot().Stored(definitionGroup, "customresourcedefinitions"), known: map[string]*definition{}, changed: map[string]bool{}, wake: make(chan struct{}, 1)}
	_, cancel := s.store.Subscribe(d.note)
	defer cancel()
	for err := d.begin(ctx); err != nil && ctx.Err() == nil; err = d.begin(ctx) {
		s.log.Error("cannot read the custom resource definitions; trying again", "error", err, "in", s.cfg.durations.Retry)
		wait(ctx, s.cfg.durations.Retry)
	}
	close(s.startup.definitions.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		}
		if err := d.look(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("cannot say whether the names of custom resource definitions are accepted; trying again", "error", err, "in", s.cfg.durations.Retry)
			wait(ctx, s.cfg.durations.Retry)
			d.signal()
		}
	}
}

// note remembers which definitions changed.
func (d *definitions) note(changes []*store.Change) {
	prefix := d.resource.Prefix("")
	for _, c := range changes {
		if name, ok := strings.CutPrefix(c.Entry.Key, prefix); ok {
			d.remember(strings.Clone(name))
		}
	}
}

func (d *definitions) remember(names ...string) {
	d.mu.Lock()
	for _, name := range names {
		d.changed[name] = true
	}
	d.mu.Unlock()
	d.signal()
}

func (d *definitions) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// begin learns of the definitions that are there.
func (d *definitions) begin(ctx context.Context) error {
	reader, err := d.server.store.At(ctx, 0)
	if err != nil {
		return err
	}
	var names []string
	err = reader.Scan(ctx, d.resource.Prefix(""), "", func(e *store.Entry) bool {
		_, name := d.resource.SplitKey(strings.Clone(e.Key))
		names = append(names, name)
		d.read(name, e)
		return true
	})
	d.remember(names...)
	return errors.Join(err, reader.Close())
}

func (d *definitions) read(name string, e *store.Entry) {
	doc, err := document.ReadStored(d.resource.GV.Table, d.resource.Type, e.Body)
	if err != nil {
		delete(d.known, name)
		return
	}
	d.known[name] = readDefinition(doc.Root())
	doc.Release()
}

// look reads what changed, and decides about all definitions of the groups that it
// belongs to: a name that one gives up may be what another waits for.
func (d *definitions) look(ctx context.Context) error {
	d.mu.Lock()
	changed := d.changed
	d.changed = map[string]bool{}
	d.mu.Unlock()
	groups := map[string]bool{}
	var all []error
	for name := range changed {
		if before := d.known[name]; before != nil {
			groups[before.group] = true
		}
		entry, err := d.server.store.Get(ctx, d.resource.Key("", name))
		switch {
		case err == nil:
			d.read(name, &entry)
		case errors.Is(err, store.ErrNotFound):
			delete(d.known, name)
		default:
			d.remember(name)
			all = append(all, err)
		}
		if now := d.known[name]; now != nil {
			groups[now.group] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.known)) {
		if one := d.known[name]; groups[one.group] {
			if err := d.settle(ctx, name, one); err != nil && !isReason(err, api.ReasonNotFound) {
				d.remember(name)
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}

// settle decides about one definition, and writes what is new. What was decided is
// known to the next one at once.
func (d *definitions) settle(ctx context.Context, name string, one *definition) error {
	if one.finalize {
		return d.edit(ctx, name, "", func(obj document.Value) bool {
			finalizers := obj.At("metadata", "finalizers")
			finalizers.RemoveFunc(func(v document.Value) bool { return v.Equals(definitionFinalizer) })
			return true
		})
	}
	used := takenIn(d.known, one.group, name)
	trial := *one
	trial.conditions = maps.Clone(one.conditions)
	if trial.decide(used); trial.accepted.equal(&one.accepted) && maps.Equal(trial.conditions, one.conditions) {
		return nil
	}
	return d.edit(ctx, name, "status", func(obj document.Value) bool {
		now := readDefinition(obj) // it may have changed again
		before := maps.Clone(now.conditions)
		accepted := now.accepted
		now.decide(used)
		d.known[name] = now
		if now.accepted.equal(&accepted) && maps.Equal(before, now.conditions) {
			return false
		}
		d.write(obj, now)
		return true
	})
}

// edit changes a definition, unless change says that there is nothing to do.
func (d *definitions) edit(ctx context.Context, name, sub string, change func(obj document.Value) bool) error {
	t := target{resource: d.resource, name: name}
	if sub != "" {
		t.sub = d.resource.Subresource(sub)
	}
	var doc *document.Document
	defer func() { doc.Release() }()
	_, err := d.server.transact(ctx, t, writeOptions{manager: definitionManager}, func(current *store.Entry, _ document.Value) (document.Value, error) {
		if current == nil {
			return document.Value{}, api.NotFound(d.resource.GroupResource(), name)
		}
		var err error
		if doc, err = document.ReadStored(d.resource.GV.Table, d.resource.Type, current.Body); err != nil {
			return document.Value{}, err
		}
		if !change(doc.Root()) {
			return document.Value{}, errNothing
		}
		return doc.Root(), nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}
