package server

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/controllers"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// definitionFollower accepts the names of custom resource definitions, and removes the
// finalizers of deleted ones. It knows all of them, so that a change costs no read.
type definitionFollower struct {
	server   *Server
	resource *catalog.Row
	all      *live.Collection[*definition]
}

// followDefinitions follows all custom resource definitions until ctx ends.
func (s *Server) followDefinitions(ctx context.Context) {
	d := &definitionFollower{server: s, resource: s.catalog.Snapshot().Stored(objects.DefinitionGroup, "customresourcedefinitions")}
	again := func(problem string, err error) {
		if err != nil && ctx.Err() == nil {
			s.log.Error(problem+"; trying again", "error", err, "in", s.cfg.durations.Retry)
			controllers.Wait(ctx, s.cfg.durations.Retry)
		}
	}
	for d.all == nil && ctx.Err() == nil {
		var err error
		d.all, err = live.Open(ctx, live.Config[*definition]{Store: s.store, Prefixes: []string{d.resource.Prefix("")}, Decode: live.Read(d.resource, readDefinition), Logger: s.log})
		again("cannot read the custom resource definitions", err)
	}
	if d.all == nil {
		return
	}
	defer d.all.Close()
	s.controllers.DefinitionsKnown()
	var done live.View[*definition] // the view whose definitions are decided
	for {
		now, err := d.all.Next(ctx, done)
		if err != nil {
			return
		}
		if err = d.look(ctx, now, done); err == nil {
			done = now
		}
		again("cannot say whether the names of custom resource definitions are accepted", err)
	}
}

// look decides about all definitions of the groups with changed ones: another definition
// may wait for a name that one gives up.
func (d *definitionFollower) look(ctx context.Context, now, before live.View[*definition]) error {
	groups := map[string]bool{}
	for c := range now.Since(before) {
		for _, one := range [...]*definition{c.Before, c.After} {
			if one != nil {
				groups[one.group] = true
			}
		}
	}
	var all []error
	for key, one := range now.Under("") {
		if groups[one.group] {
			if err := d.settle(ctx, key); err != nil && !api.IsReason(err, api.ReasonNotFound) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}

// settle decides about one definition, and writes new results. Its view has the earlier
// decisions about others.
func (d *definitionFollower) settle(ctx context.Context, key string) error {
	view := d.all.View()
	one := view.Get(key)
	if one == nil {
		return nil
	}
	_, name := d.resource.SplitKey(key)
	if one.finalize {
		return d.edit(ctx, name, "", func(obj document.Value) bool {
			finalizers := obj.At("metadata", "finalizers")
			finalizers.RemoveFunc(func(v document.Value) bool { return v.Equals(objects.DefinitionFinalizer) })
			return true
		})
	}
	used := takenIn(view, one.group, key)
	if _, news := one.decided(used); !news {
		return nil
	}
	return d.edit(ctx, name, "status", func(obj document.Value) bool {
		now, news := readDefinition(obj).decided(used) // it may have changed again
		if news {
			d.write(obj, now)
		}
		return news
	})
}

// edit changes a definition, unless change reports that nothing is to be done.
func (d *definitionFollower) edit(ctx context.Context, name, sub string, change func(obj document.Value) bool) error {
	of := objects.Ref{Row: d.resource, Name: name}
	if sub != "" {
		of.Sub = d.resource.Subresource(sub)
	}
	_, err := d.server.objects.Write(ctx, &objects.Write{Ref: of, Opts: objects.Options{Manager: objects.DefinitionManager}, Change: objects.Editing(func(obj document.Value) error {
		if !change(obj) {
			return objects.ErrNothing
		}
		return nil
	})})
	return err
}
