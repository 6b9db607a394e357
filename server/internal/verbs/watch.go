package verbs

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stream"
)

// Watch is GET on a collection with watch=true.
func (v *Verbs) Watch(r *request.Request) error {
	opts, err := v.watchOptions(r)
	if err != nil {
		return err
	}
	form, err := v.streamForm(r)
	if err != nil {
		return err
	}
	if r.HTTP.Method == http.MethodHead {
		r.Head(http.StatusOK, r.Accept.ContentType())
		return nil
	}
	w := &watcher{s: v, part: v.part(r.Target.Row), request: r, path: r.HTTP.URL.Path, res: r.Target.Row, prefix: r.Target.Row.Prefix(r.Target.Namespace),
		opts: opts, form: form, at: opts.revision, events: v.metrics.EventsOf(r.Target.Row)}
	if opts.initial {
		if err := v.waitForRevision(r, opts.revision); err != nil {
			return err
		}
		if w.at, err = w.part.Store.Newest(readContext(r)); err != nil {
			return err
		}
	}
	w.open()
	err = v.stream(r, w)
	if r.Rest == nil { // the watch does not run
		w.cursor.Close()
	}
	return err
}

// watcher is one running watch. It holds a position in the changes and the events that it
// is writing, never a queue.
type watcher struct {
	s       *Verbs
	part    *Part
	request *request.Request // nil when it has no place among the requests any more
	path    string
	res     *catalog.Row
	prefix  string // of the keys
	opts    watchOptions
	form    *streamForm
	events  metrics.Events

	ctx    context.Context // ends when the client has gone
	sink   stream.Sink
	end    time.Time   // the end of the watch
	timer  *time.Timer // for the end, or the next bookmark before it
	cursor *watch.Cursor
	over   bool   // the resource had ended before the cursor was there
	at     uint64 // the client has seen everything up to here, as far as it can know

	following bool // the initial events have been sent: bookmarks are allowed
}

// errOver ends a watch at its time.
var errOver = errors.New("the watch is over")

// run is the watch from its first event to its last. Its last event, if any, shows the
// client how it ended.
func (w *watcher) run() {
	now := time.Now()
	w.end = now.Add(w.opts.timeout)
	w.timer = time.NewTimer(w.next(now))
	defer w.timer.Stop()
	defer w.begin()
	w.stop(w.stream())
	w.sink.End()
}

// begin ends the initialization of the watch: the first page of the present objects, if it
// begins with them, has been read. A slow client delays no other request.
func (w *watcher) begin() {
	if w.request != nil {
		w.request.Leave()
		w.request = nil
	}
}

// head sends the head of the answer.
func (w *watcher) head() error {
	if w.request != nil {
		return w.request.Sending(w.sink.Flush)
	}
	return w.sink.Flush()
}

// open places the cursor. The head of the answer is sent later: a client that has seen it sees all
// that happens then, also the end of the resource.
func (w *watcher) open() {
	// A cursor may be at a revision that does not exist yet; it returns nothing until
	// there are later ones.
	begin := w.part.Hub.Resume
	if w.opts.initial {
		begin = w.part.Hub.Watch
	}
	w.cursor = begin(w.prefix, w.at)
	w.over = w.s.env.Row(w.res) == nil // the hub may have ended the resource before the cursor was there
}

func (w *watcher) stream() error {
	defer w.cursor.Close()
	if w.over {
		return errOver
	}
	if !w.opts.initial {
		w.begin()
	}
	if err := w.head(); err != nil {
		return err
	}
	if w.opts.initial {
		if err := w.initial(); err != nil {
			return err
		}
	}
	w.following = true
	return w.follow()
}

// follow writes changes as they come, until the watch is over.
func (w *watcher) follow() error {
	for {
		events, wake, err := w.cursor.Poll(w.ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := w.event(e); err != nil {
				return err
			}
		}
		if w.opts.bookmarks && len(events) == 0 && w.aged() {
			if err := w.bookmark(w.cursor.Revision(), false); err != nil {
				return err
			}
		}
		if err := w.sink.Flush(); err != nil {
			return err
		}
		if err := w.wait(wake); err != nil {
			return err
		}
	}
}

// wait returns nil when wake is closed, errOver when the watch is over, and
// sends bookmarks until then.
func (w *watcher) wait(wake <-chan struct{}) error {
	for {
		select {
		case <-wake:
			return nil
		case <-w.ctx.Done():
			return errOver
		case <-w.s.Stopping:
			return w.last()
		case <-w.timer.C:
			now := time.Now()
			if !now.Before(w.end) {
				return w.last()
			}
			w.timer.Reset(w.next(now))
			if err := w.mark(); err != nil {
				return err
			}
		}
	}
}

// last ends the watch, with a bookmark if the client wants them, so that it continues
// from the newest revision.
func (w *watcher) last() error {
	if err := w.mark(); err != nil {
		return err
	}
	return errOver
}

// mark sends a bookmark if the client wants them and its revision is new.
func (w *watcher) mark() error {
	revision := w.cursor.Revision()
	if !w.opts.bookmarks || !w.following || revision > w.part.Store.Current() {
		return nil
	}
	if err := w.bookmark(revision, false); err != nil {
		return err
	}
	return w.sink.Flush()
}

// next is the time until the next bookmark, or until the end of the watch.
func (w *watcher) next(now time.Time) time.Duration {
	left := w.end.Sub(now)
	if w.opts.bookmarks {
		left = min(left, w.s.cfg.Bookmark, max(w.s.cfg.History/4, 100*time.Millisecond))
	}
	return left
}

// aged reports whether the client's revision is in the older half of the kept history, so
// that it may soon be trimmed: the client of a watch that began at an old revision, or
// was behind, and has caught up.
func (w *watcher) aged() bool {
	oldest, current := w.part.Store.Oldest(), w.part.Store.Current()
	return oldest > 0 && w.at < oldest+(current-oldest)/2
}

// stop sends the reason of the end as the last event.
func (w *watcher) stop(err error) {
	var trimmed *store.TrimmedError
	var known *api.Error
	var gone *conns.GoneError
	switch {
	case errors.Is(err, errOver), errors.Is(err, watch.ErrClosed), errors.As(err, &gone), w.ctx.Err() != nil:
		return
	case errors.As(err, &trimmed):
		known = api.Expired("too old resource version: %d (%d)", trimmed.Asked, trimmed.Oldest)
	case errors.As(err, &known):
	default:
		w.s.log.Error("watch ended", "path", w.path, "error", err)
		known = api.Internal("the watch ended; watch again from the last resourceVersion")
	}
	frame, err := w.form.failure(codec.Status(known))
	if err == nil && w.sink.Add(frame) == nil {
		_ = w.sink.Flush() // the client has gone if this fails
	}
}
