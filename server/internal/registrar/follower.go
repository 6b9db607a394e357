// Package registrar accepts the names of custom resource definitions, serves the
// resources of established ones, and removes the objects and finalizers of deleted ones.
package registrar

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/definitions"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Config holds the dependencies of a follower.
type Config struct {
	Row     *catalog.Row // of definitions
	Store   *stored.CurrentStore
	Catalog *catalog.Catalog
	Objects *objects.Objects
	Rows    *definitions.Rows
	Logger  *slog.Logger
	Retry   time.Duration // between attempts after a failure
}

// Follower follows custom resource definitions: it accepts their names, serves the
// resources of established ones, and removes the objects and finalizers of deleted ones.
// It knows all of them, so that a change costs no read.
type Follower struct {
	Config
	hub    atomic.Pointer[watch.Hub] // nil before requests are answered
	all    *live.Collection[*definition]
	groups live.Index[*definition, groups]

	serving map[string]*definition       // by key, the definitions in the catalog
	served  live.View[*definition]       // serving is up to date with it, but for the early ones
	early   []string                     // keys of those served ahead of it
	forms   map[string]stored.CustomForm // the records of the store, by the names of definitions
}

// Open reads all definitions, and serves the established ones.
func Open(ctx context.Context, cfg Config) (*Follower, error) {
	f := &Follower{Config: cfg, serving: map[string]*definition{}}
	var err error
	if f.forms, err = cfg.Store.Forms(ctx); err != nil {
		return nil, err
	}
	f.all, err = live.Open(ctx, live.Config[*definition]{Store: cfg.Store, Prefixes: []string{cfg.Row.Prefix("")}, Decode: live.Read(cfg.Row, readDefinition), Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	f.groups = live.Derive(f.all, groups.fold)
	f.serveSince(ctx, f.all.View(), func(name string, d *definition) uint64 {
		if known, ok := f.forms[name]; ok {
			return known.Since
		}
		return d.revision
	})
	return f, nil
}

// Run follows the definitions until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	defer f.close()
	var done live.View[*definition] // its definitions are decided
	for ctx.Err() == nil {          // the writes of a failing look are changes that next returns
		now, err := f.next(ctx, done)
		if err != nil {
			return
		}
		f.serve(ctx, now)
		if err = f.look(ctx, now, done); err == nil {
			done = now
		} else if ctx.Err() == nil {
			f.Logger.Error("cannot decide about custom resource definitions; trying again", "error", err, "in", f.Retry)
			wait(ctx, f.Retry)
		}
	}
}

func (f *Follower) close() {
	f.all.Close()
	for t := range f.Catalog.Snapshot().Types() {
		closeConverter(t)
	}
}

// pause is the interval at which the objects of a deleted definition are counted while
// some wait for their finalizers.
const pause = 250 * time.Millisecond

// next waits for a view with changes. While definitions wait for their objects it returns
// after a pause.
func (f *Follower) next(ctx context.Context, done live.View[*definition]) (now live.View[*definition], err error) {
	if !f.groups.Of(done).wait() {
		return f.all.Next(ctx, done)
	}
	soon, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	if now, err = f.all.Next(soon, done); err != nil && ctx.Err() == nil {
		return f.all.View(), nil
	}
	return now, err
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// serve updates the catalog to the definitions.
func (f *Follower) serve(ctx context.Context, now live.View[*definition]) {
	f.serveSince(ctx, now, func(string, *definition) uint64 { return 0 })
}

// serveSince is serve; since is the revision up to which objects of a definition may be
// stored in an older form, 0 for the present one.
func (f *Follower) serveSince(ctx context.Context, now live.View[*definition], since func(name string, d *definition) uint64) {
	changed := f.early
	var older []string // the keys of those that were served before
	for c := range now.Since(f.served) {
		changed = append(changed, c.Key)
		if f.serving[c.Key] != nil && !slices.Contains(f.early, c.Key) {
			older = append(older, c.Key)
		}
	}
	f.served, f.early = now, nil
	var all []served
	for _, key := range changed {
		if d, before := now.Get(key), f.serving[key]; d != nil && d.accepted() && (before == nil || before.rows != d.rows) {
			_, name := f.Row.SplitKey(key)
			f.outdate(ctx, name, d)
			all = append(all, served{versions: f.Rows.Of(d.text, d.rows), since: since(name, d), same: before != nil && before.schema == d.schema})
			f.serving[key] = d
		}
	}
	if len(all) > 0 {
		f.put(all...)
	}
	for _, key := range changed {
		d, now := f.serving[key], now.Get(key)
		if d != nil && (now == nil || now.uid != d.uid && !now.accepted()) {
			f.withdraw(d.group, d.names.plural)
			delete(f.serving, key)
		}
	}
	for _, key := range older {
		f.noteForm(ctx, key)
	}
}

// look decides about all definitions of the groups with changed ones: another definition
// may wait for a name that one gives up.
func (f *Follower) look(ctx context.Context, now, before live.View[*definition]) error {
	index := f.groups.Of(now)
	keys := index.waiting.Keys()
	changed := map[string]bool{}
	for c := range now.Since(before) {
		for _, one := range [...]*definition{c.Before, c.After} {
			if one != nil && !changed[one.group] {
				changed[one.group] = true
				for key := range index.in(one.group) {
					keys = append(keys, key)
				}
			}
		}
	}
	var all []error
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if err := f.settle(ctx, key); err != nil && !api.IsReason(err, api.ReasonNotFound) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// settle decides about one definition, and writes new results. Its view has the earlier
// decisions about others.
func (f *Follower) settle(ctx context.Context, key string) error {
	view := f.all.View()
	one := view.Get(key)
	if one == nil {
		return nil
	}
	_, name := f.Row.SplitKey(key)
	if one.finalize {
		f.serve(ctx, view) // new objects are refused before the others are deleted
		return f.finalize(ctx, name, one)
	}
	used := f.groups.Of(view).takenIn(one.group, key)
	if _, news := one.decided(used); !news {
		return nil
	}
	return f.edit(ctx, name, "status", func(obj document.Value) bool {
		now, news := readDefinition(obj).decided(used) // it may have changed again
		if news {
			now.write(obj, f.Objects.Now())
			f.serveEarly(key, obj)
		}
		return news
	})
}

// serveEarly serves a definition before it is established, so that a client that reads
// the condition finds it served. If the write fails, the next view corrects it.
func (f *Follower) serveEarly(key string, obj document.Value) {
	if d := readDefinition(obj); d.accepted() && f.serving[key] == nil {
		f.serving[key], f.early = d, append(f.early, key)
		f.put(served{versions: f.Rows.Of(d.text, d.rows)})
	}
}

// finalize deletes the objects of a definition, and removes its finalizer when none is
// left.
func (f *Follower) finalize(ctx context.Context, name string, d *definition) error {
	left := 0
	if d.accepted() {
		if d.conditions["Terminating"].reason == "InstanceDeletionPending" {
			err := f.terminating(ctx, name, outcome{"True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"})
			if err != nil {
				return err
			}
		}
		var err error
		if left, err = f.deleteObjects(ctx, d.group, d.names.plural); err != nil {
			return errors.Join(err, f.terminating(ctx, name, outcome{"True", "InstanceDeletionFailed", "could not delete all objects"}))
		}
	}
	if left > 0 {
		return nil // it is processed again after a pause
	}
	if err := f.terminating(ctx, name, outcome{"False", "InstanceDeletionCompleted", "removed all instances"}); err != nil {
		return err
	}
	return f.edit(ctx, name, "", func(obj document.Value) bool {
		obj.At("metadata", "finalizers").RemoveFunc(func(v document.Value) bool { return v.Equals(objects.DefinitionFinalizer) })
		return true
	})
}

// terminating reports the progress of a definition's deletion in its conditions.
func (f *Follower) terminating(ctx context.Context, name string, o outcome) error {
	return f.edit(ctx, name, "status", func(obj document.Value) bool {
		o.set(obj, "Terminating", f.Objects.Now())
		return true
	})
}
