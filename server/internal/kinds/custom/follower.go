package custom

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
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
	Hub     *watch.Hub // of the watches, which end with their resource
	Logger  *slog.Logger
	Retry   time.Duration // between attempts after a failure
	Idle    time.Duration // after which compiled types are dropped that nothing uses
}

// Follower follows custom resource definitions: it accepts their names, serves the
// resources of established ones, and removes the objects and finalizers of deleted ones.
// It knows all of them, so that a change costs no read.
type Follower struct {
	Config
	all    *live.Collection[*definition]
	groups live.Index[*definition, groups]

	serving map[string]*definition // by key, the definitions in the catalog
	served  live.View[*definition] // serving is up to date with it
	arrived arrivals
	pending map[string]*decision         // by key, while they are written
	forms   map[string]stored.CustomForm // the records of the store, by the names of definitions

	finalizing sync.Map       // keys of definitions whose objects are being removed
	running    sync.WaitGroup // of those, and of the pending decisions
	places     chan struct{}  // of the writes of decisions
}

// Open reads all definitions, and serves the established ones.
func Open(ctx context.Context, cfg Config) (*Follower, error) {
	f := &Follower{Config: cfg, serving: map[string]*definition{}, pending: map[string]*decision{}, places: make(chan struct{}, atOnce)}
	var err error
	if f.forms, err = cfg.Store.Forms(ctx); err != nil {
		return nil, err
	}
	f.all, err = live.Open(ctx, live.Config[*definition]{Store: cfg.Store, Prefixes: []string{cfg.Row.Prefix("")},
		Decode: live.Read(cfg.Row, readDefinition), Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	f.groups = live.Derive(f.all, groups.fold)
	f.serve(ctx, f.all.View())
	return f, nil
}

// Run follows the definitions until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	defer f.close()
	var done live.View[*definition] // its definitions are decided
	dropped := time.Now()
	for ctx.Err() == nil {
		now, err := f.next(ctx, done)
		if err != nil {
			return
		}
		f.serve(ctx, now)
		f.look(ctx, now, done)
		done = now
		if time.Since(dropped) >= f.Idle {
			f.dropUnused()
			dropped = time.Now()
		}
	}
}

// dropUnused drops the compiled parts of definitions that nothing has used for a while: of
// many most are used once.
func (f *Follower) dropUnused() {
	for t := range f.Catalog.Snapshot().Types() {
		for _, row := range t.Rows {
			if row.Definition != nil {
				row.Definition.Made.DropUnused()
			}
		}
	}
}

func (f *Follower) close() {
	f.running.Wait()
	f.all.Close()
	for t := range f.Catalog.Snapshot().Types() {
		closeConverter(t)
	}
}

// pause is the interval at which the objects of a deleted definition are counted while
// some wait for their finalizers, and after which a failed write is noticed.
const pause = 250 * time.Millisecond

// next waits for a view with changes. While definitions wait for their objects, or
// decisions to be written, it returns after a pause, otherwise after the idle time.
func (f *Follower) next(ctx context.Context, done live.View[*definition]) (now live.View[*definition], err error) {
	longest := f.Idle
	if f.groups.Of(done).wait() || len(f.pending) > 0 {
		longest = pause
	}
	soon, cancel := context.WithTimeout(ctx, longest)
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
	var changed []string
	for c := range now.Since(f.served) {
		changed = append(changed, c.Key)
	}
	f.served = now
	var all []served
	for _, key := range changed {
		d, before := now.Get(key), f.serving[key]
		if d == nil || !d.accepted() {
			continue
		}
		if before != nil && before.rows == d.rows {
			f.confirm(d)
			continue
		}
		_, name := f.Row.SplitKey(key)
		one := served{key: key, name: name, d: d, versions: f.Rows.Of(d.text, d.rows), since: d.revision}
		if known, ok := f.forms[name]; ok && known.Form == d.form() {
			one.since = known.Since
		}
		one.same = before != nil && before.uid == d.uid && before.schema == d.schema
		all = append(all, one)
	}
	f.noteForms(ctx, all)
	for _, one := range all {
		f.serving[one.key] = one.d
	}
	if len(all) > 0 {
		f.put(all...)
	}
	for _, key := range changed {
		if d, now := f.serving[key], now.Get(key); d != nil && (now == nil || now.uid != d.uid && !now.accepted()) {
			_, name := f.Row.SplitKey(key)
			f.withdraw(d.group, d.names.plural)
			f.forgetForm(ctx, name)
			delete(f.serving, key)
		}
	}
	f.arrived.move(now)
}

// confirm notes that the rows of a type are still made of what its definition says.
func (f *Follower) confirm(d *definition) {
	if row := f.Catalog.Snapshot().Stored(d.group, d.names.plural); row != nil && row.Definition != nil && row.Definition.UID == d.uid {
		for _, version := range row.Versions.Rows {
			version.Definition.Revision.Store(d.revision)
		}
	}
}
