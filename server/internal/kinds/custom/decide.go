package custom

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// decision is a new result for a definition, before and after.
type decision struct {
	before, now *definition
	failed      atomic.Bool // it could not be written
}

// current reports whether a decision is about the present state of a definition.
func (d *decision) current(one *definition) bool {
	return d != nil && one != nil && one.revision == d.before.revision && !d.failed.Load()
}

// look decides about all definitions of the groups with changed ones: another definition
// may wait for a name that one gives up. Decisions are written while the follower goes on:
// no definition waits for the writes of others. A type is served once its decision is
// stored.
func (f *Follower) look(ctx context.Context, now, before live.View[*definition]) {
	index := f.groups.Of(now)
	var keys []string
	for key, one := range f.pending {
		if !one.current(now.Get(key)) {
			delete(f.pending, key)
			if one.failed.Load() {
				keys = append(keys, key)
			}
		}
	}
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
	slices.Sort(keys)
	for _, key := range f.decide(index, slices.Compact(keys), now) {
		one := f.pending[key]
		f.running.Go(func() { f.record(ctx, key, one) })
	}
	for _, key := range index.waiting.Keys() {
		f.finalizeApart(ctx, key)
	}
}

// decide finds the new results for some definitions of a view, one after the other: later
// ones may not have the names that earlier ones get. It returns the keys.
func (f *Follower) decide(index groups, keys []string, view live.View[*definition]) (decided []string) {
	for _, key := range keys {
		one := view.Get(key)
		if one == nil || one.finalize || f.pending[key] != nil {
			continue
		}
		var used taken
		if !one.named() {
			used = index.takenIn(one.group, key, f.pending)
		}
		if now, news := one.decided(used); news {
			f.pending[key] = &decision{before: one, now: now}
			decided = append(decided, key)
		}
	}
	return decided
}

// record writes a decision, unless the definition has changed: it is decided again then.
func (f *Follower) record(ctx context.Context, key string, one *decision) {
	f.places <- struct{}{}
	_, name := f.Row.SplitKey(key)
	err := f.edit(ctx, name, "status", func(obj document.Value) bool {
		current := revisionOf(obj) == one.before.revision
		if current {
			one.now.write(obj, f.Objects.Now())
		}
		return current
	})
	<-f.places
	if err != nil && ctx.Err() == nil && !api.IsReason(err, api.ReasonNotFound) {
		f.Logger.Error("cannot decide about a custom resource definition; trying again", "definition", name, "error", err, "in", f.Retry)
		wait(ctx, f.Retry)
		one.failed.Store(true)
	}
}

// atOnce bounds the writes in flight: they share the disk's sync.
const atOnce = 16

// manyAtOnce calls do for the numbers below n.
func manyAtOnce(n int, do func(i int)) {
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range n {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	running.Wait()
}
