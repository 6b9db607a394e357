package extensions

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/kinds"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Run checks the extension servers until ctx ends: each by itself, so that one that
// hangs delays no other.
func (x *Extensions) Run(ctx context.Context) {
	if x == nil || x.cfg.Times.Check == 0 {
		return
	}
	f := &follower{x: x, watchers: map[string]*watcher{}}
	defer f.running.Wait()
	var seen live.View[*service]
	for {
		view, err := x.services.Next(ctx, seen)
		if err != nil {
			return
		}
		for c := range view.Since(seen) {
			f.changed(ctx, c)
		}
		seen = view
	}
}

// follower starts and ends the watchers of extension servers.
type follower struct {
	x       *Extensions
	running sync.WaitGroup
	once    sync.Once // the services are followed

	mu       ranks.Mutex[ranks.Leaf]
	watchers map[string]*watcher // by the key of the API service
}

// watcher checks one extension server.
type watcher struct {
	x      *Extensions
	key    string
	wake   chan struct{} // room for one
	cancel context.CancelFunc
	found  atomic.Pointer[status] // by the last check
}

// changed follows a change of an API service.
func (f *follower) changed(ctx context.Context, c live.Change[*service]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.watchers[c.Key]
	if !c.After.remote() {
		if w != nil {
			w.cancel()
			delete(f.watchers, c.Key)
			f.x.cfg.Metrics.Gone(w.name())
		}
		if c.After != nil && c.After.available != local {
			f.running.Go(func() { f.x.write(ctx, c.Key, local) })
		}
		return
	}
	if w == nil {
		w = &watcher{x: f.x, key: c.Key, wake: make(chan struct{}, 1)}
		f.watchers[c.Key] = w
		var own context.Context
		own, w.cancel = context.WithCancel(ctx)
		f.running.Go(func() { w.run(own) })
		f.once.Do(func() { f.running.Go(func() { f.x.cfg.Backends.Follow(ctx, f.moved) }) })
		return
	}
	if found := w.found.Load(); found == nil || c.After.available != *found || !c.Before.remote() || !c.Before.at.equal(c.After.at) {
		w.look()
	}
}

// local is the condition of a group version of this server itself.
var local = status{kinds.LocalService.Status, kinds.LocalService.Reason, kinds.LocalService.Message}

// moved has the servers of a service of the cluster checked, since it has changed.
func (f *follower) moved(namespace, name string) {
	view := f.x.services.View()
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, w := range f.watchers {
		if s := view.Get(key); s.remote() && s.at.namespace == namespace && s.at.name == name {
			w.look()
		}
	}
}

// name is that of the API service.
func (w *watcher) name() string {
	_, name := w.x.row.SplitKey(w.key)
	return name
}

// look has the server checked at once.
func (w *watcher) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run checks the server periodically and when it is woken. After failures it does so more
// often: the network to it is not followed.
func (w *watcher) run(ctx context.Context) {
	times := &w.x.cfg.Times
	retry := times.Retry
	for ctx.Err() == nil {
		pause := times.Check
		if w.check(ctx) {
			retry = times.Retry
		} else {
			pause, retry = retry, min(2*retry, times.Check)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// check checks the server once, writes the condition, and reports whether nothing has to
// be repeated soon.
func (w *watcher) check(ctx context.Context) (fine bool) {
	x := w.x
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return true
	}
	s := x.services.View().Get(w.key)
	if !s.remote() {
		return true
	}
	of := x.find(s.APIVersion())
	if of == nil {
		return false
	}
	found := x.check(ctx, of)
	if ctx.Err() != nil {
		return true
	}
	x.cfg.Metrics.Checked(w.name(), found.status == "True")
	if found.status != "True" && s.available.status == "True" {
		x.cfg.Metrics.Lost(w.name(), found.reason)
	}
	w.found.Store(&found)
	written := x.write(ctx, w.key, found)
	fine = written && found.reason != failedCheck
	if found.status == "True" {
		fine = x.read(ctx, of) && fine
	} else {
		x.setStale(of.way, true)
	}
	return fine
}

// write writes the condition into the status of an API service, unless it is there.
func (x *Extensions) write(ctx context.Context, key string, now status) bool {
	_, name := x.row.SplitKey(key)
	of := objects.Ref{Row: x.row, Name: name, Sub: x.row.Subresource("status")}
	_, err := x.cfg.Objects.Write(ctx, &objects.Write{Ref: of, Change: objects.Editing(func(obj document.Value) error {
		conditions := obj.SetObject("status").SetArray("conditions")
		have := conditions.ElementBy("type", kinds.LocalService.Type)
		if have.Get("status").Equals(now.status) && have.Get("reason").Equals(now.reason) && have.Get("message").Equals(now.message) {
			return objects.ErrNothing
		}
		api.Condition{Type: kinds.LocalService.Type, Status: now.status, Reason: now.reason, Message: now.message}.Set(conditions, x.cfg.Objects.Now())
		return nil
	})})
	if err != nil && ctx.Err() == nil && !api.IsReason(err, api.ReasonNotFound) {
		x.cfg.Log.Error("the availability of an extension server cannot be noted; trying again", "apiservice", name, "error", err)
		return false
	}
	return true
}
