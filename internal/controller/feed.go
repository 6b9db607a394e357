package controller

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
)

// Bounds of the changes buffered for the handlers. Later ones are read from the store's
// log.
const (
	bufferChanges = 4096
	bufferBytes   = 8 << 20
)

// The scan of a large store must not delay the start and the first requests: it pauses
// after its first chunk, and shortly after each of the others.
const (
	scanChunk = 1000
	scanPause = 250 * time.Millisecond
	scanRest  = 2 * time.Millisecond
)

// feedRetry is the pause after a failed read of the store.
const feedRetry = time.Second

// observation is an object that existed at the start (op is 0), or a change of one. Its
// fields are valid until observe returns; clone key to keep it.
type observation struct {
	op       store.Op
	typ      *Type
	key      string
	revision uint64
	body     []byte // for a deletion the last state
}

// feed shows handlers every object of the types they want, as of one revision, and then
// every change after it, in revision order.
//
// Invariants:
//
//	F1. buffer holds every change with a revision above floor, in order. It is
//	    bounded: when it would be longer it is dropped, floor rises, and the
//	    store's log is read.
//	F2. Every change up to done, and none above it, was shown.
//	F3. Announcements never wait for a handler.
type feed struct {
	cluster  *cluster
	handlers []handler
	log      *slog.Logger

	mu     ranks.Mutex[ranks.Follower]
	buffer []*store.Change
	bytes  int
	floor  uint64
	wake   chan struct{} // holds a token when there may be changes

	done    uint64 // used by run only
	showing uint64 // revision of the newest change shown; others at it may follow
}

func newFeed(c *cluster) *feed {
	return &feed{cluster: c, log: c.Logger, wake: make(chan struct{}, 1)}
}

// publish is called by the store, in revision order.
func (f *feed) publish(batch store.Batch) {
	f.mu.Lock()
	for _, c := range batch.Changes {
		f.bytes += len(c.Entry.Body)
		if len(f.buffer) >= bufferChanges || f.bytes > bufferBytes && len(f.buffer) > 0 {
			f.floor, f.buffer, f.bytes = c.Entry.Revision, nil, 0
			continue
		}
		f.buffer = append(f.buffer, c)
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run shows everything until ctx ends.
func (f *feed) run(ctx context.Context) {
	current, cancel := f.cluster.Store.Subscribe(store.Streams, f.publish)
	defer cancel()
	f.mu.Lock()
	f.floor = max(f.floor, current)
	f.mu.Unlock()
	scanned := false
	for ctx.Err() == nil {
		var err error
		if !scanned {
			err = f.scan(ctx)
			scanned = err == nil
		}
		if err == nil {
			err = f.follow(ctx)
		}
		var trimmed *store.TrimmedError
		if err == nil || ctx.Err() != nil {
			continue
		}
		if errors.As(err, &trimmed) {
			scanned = false
			continue
		}
		f.log.Warn("controllers cannot read the store, they try again", "error", err, "delay", feedRetry)
		Pause(ctx, feedRetry)
	}
}

// Pause returns after d, or when ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// scan shows all objects at the newest revision.
func (f *feed) scan(ctx context.Context) error {
	reader, err := f.cluster.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	for _, h := range f.handlers {
		h.reset()
	}
	seen := 0
	for _, t := range f.cluster.order() {
		var wanting []handler
		for _, h := range f.handlers {
			if h.wants(t) {
				wanting = append(wanting, h)
			}
		}
		if len(wanting) == 0 {
			continue
		}
		err := store.ScanReadable(ctx, reader, t.Prefix, func(e *store.Entry) bool {
			o := observation{typ: t, key: e.Key, revision: e.Revision, body: e.Body}
			for _, h := range wanting {
				f.show(ctx, h, &o)
			}
			switch seen++; {
			case seen == scanChunk:
				Pause(ctx, scanPause)
			case seen%scanChunk == 0:
				Pause(ctx, scanRest)
			}
			return ctx.Err() == nil
		}, func(u *store.UnreadableError) {
			f.log.Error("controllers go on without an object that cannot be read", "key", u.Key, "error", u.Cause)
		})
		if err != nil {
			return err
		}
	}
	f.done = reader.Revision()
	return ctx.Err()
}

// follow shows the changes after done, until ctx ends.
func (f *feed) follow(ctx context.Context) error {
	for {
		changes, lost := f.take()
		for _, c := range changes {
			f.change(ctx, c)
		}
		f.done = max(f.done, f.showing) // the changes at one revision are taken together
		if lost {
			if err := f.catchUp(ctx); err != nil {
				return err
			}
			continue
		}
		if len(changes) > 0 {
			continue
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take empties the buffer. lost means that changes between done and the buffer are
// missing; nothing is taken then.
func (f *feed) take() (changes []*store.Change, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done < f.floor {
		return nil, true
	}
	changes = f.buffer
	if n := len(changes); n > 0 {
		f.floor = changes[n-1].Entry.Revision
	}
	f.buffer, f.bytes = nil, 0
	return changes, false
}

// catchUp shows changes from the store's log.
func (f *feed) catchUp(ctx context.Context) error {
	read, err := f.cluster.Store.Changes(ctx, "", f.done, func(c *store.Change) bool {
		f.change(ctx, c)
		return ctx.Err() == nil
	})
	f.done = max(f.done, read)
	return err
}

// change shows one change, unless it was shown before. With the first change at a revision all
// those at the revisions before are done.
func (f *feed) change(ctx context.Context, c *store.Change) {
	if c.Entry.Revision <= f.done {
		return
	}
	if c.Entry.Revision > f.showing {
		f.done, f.showing = max(f.done, f.showing), c.Entry.Revision
	}
	t := f.cluster.typeOf(c.Entry.Key)
	if t == nil {
		return
	}
	o := observation{op: c.Op, typ: t, key: c.Entry.Key, revision: c.Entry.Revision, body: c.Entry.Body}
	for _, h := range f.handlers {
		f.show(ctx, h, &o)
	}
}

// show calls a handler. A panic in one must not end the others, nor the server.
func (f *feed) show(ctx context.Context, h handler, o *observation) {
	defer func() {
		if v := recover(); v != nil {
			f.log.Error("controller panicked", "key", o.key, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	h.observe(ctx, o)
}
