package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/watch"
)

// The types of watch events.
const (
	added    = "ADDED"
	modified = "MODIFIED"
	deleted  = "DELETED"
	bookmark = "BOOKMARK"
	failure  = "ERROR"
)

// bookmarkInterval is how often a watcher that asked for bookmarks gets one.
const bookmarkInterval = time.Minute

// initialEventsEnd marks the bookmark that closes the initial events
// (sendInitialEvents).
const initialEventsEnd = "k8s.io/initial-events-end"

// watchOptions are the options of a watch, from the query.
type watchOptions struct {
	selector  *selector.Selector
	revision  uint64
	initial   bool // begin with the state as ADDED events
	endMark   bool // close the initial events with a marked bookmark
	bookmarks bool
	timeout   time.Duration
}

// watch is GET on a collection with watch=true.
func (s *Server) watch(r *request) error {
	opts, err := s.watchOptions(r)
	if err != nil {
		return err
	}
	form, err := s.streamForm(r)
	if err != nil {
		return err
	}
	if r.http.Method == http.MethodHead {
		r.startStream()
		return nil
	}
	w := &watcher{s: s, r: r, opts: opts, form: form}
	return w.run()
}

func (s *Server) watchOptions(r *request) (o watchOptions, err error) {
	q := &r.query
	fields := q.get("fieldSelector")
	if name := r.target.name; name != "" {
		if fields != "" {
			fields += ","
		}
		fields += "metadata.name=" + name
	}
	if o.selector, err = selector.New(q.get("labelSelector"), fields, r.target.resource); err != nil {
		return o, err
	}
	version := q.get("resourceVersion")
	match := q.get("resourceVersionMatch")
	sendInitial := q.has("sendInitialEvents")
	if causes := checkMatch(version, match, "", true); len(causes) > 0 && !(sendInitial && match == "NotOlderThan") {
		return o, invalidOptions("ListOptions", causes)
	}
	rev, set, err := parseRevision(version)
	if err != nil {
		return o, err
	}
	o.revision, o.initial = rev, !set || rev == 0
	o.bookmarks = q.flag("allowWatchBookmarks")
	if sendInitial {
		o.initial = q.flag("sendInitialEvents")
		if rev == 0 {
			o.revision = s.store.Current()
		}
		o.endMark = o.initial && o.bookmarks
	}
	seconds, err := q.integer("timeoutSeconds")
	if err != nil {
		return o, err
	}
	if seconds != nil && *seconds > 0 {
		o.timeout = time.Duration(*seconds) * time.Second
	} else {
		o.timeout = s.cfg.MinRequestTimeout + rand.N(s.cfg.MinRequestTimeout+1)
	}
	return o, nil
}

// watcher is one watch on its way. It holds a place in the changes and the
// events it is writing, never a queue.
type watcher struct {
	s    *Server
	r    *request
	opts watchOptions
	form *streamForm
	buf  []byte
}

func (w *watcher) run() error {
	ctx, cancel := context.WithTimeout(w.r.ctx, w.opts.timeout)
	defer cancel()
	var cursor *watch.Cursor
	prefix := prefixOf(w.r.target.resource, w.r.target.namespace)
	if w.opts.initial {
		if err := w.s.reach(w.r, w.opts.revision); err != nil {
			return err
		}
		reader, err := w.s.store.At(ctx, 0)
		if err != nil {
			return err
		}
		defer reader.Close()
		cursor = w.s.hub.Watch(prefix, reader.Revision())
		w.begin()
		if err := w.initial(ctx, reader, prefix); err != nil {
			return w.stop(err)
		}
		_ = reader.Close()
	} else {
		if w.opts.revision > w.s.store.Current() {
			return w.future(ctx)
		}
		cursor = w.s.hub.Watch(prefix, w.opts.revision)
		w.begin()
	}
	return w.stop(w.follow(ctx, cursor))
}

// future waits for a revision that does not exist yet, until the watch is over.
func (w *watcher) future(ctx context.Context) error {
	w.begin()
	if err := w.flush(); err != nil {
		return w.stop(err)
	}
	select {
	case <-w.reached(ctx):
		return w.stop(w.follow(ctx, w.s.hub.Watch(prefixOf(w.r.target.resource, w.r.target.namespace), w.opts.revision)))
	case <-ctx.Done():
	case <-w.s.stopping:
	}
	return nil
}

func (w *watcher) reached(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		if w.s.store.WaitFor(ctx, w.opts.revision) == nil {
			close(done)
		}
	}()
	return done
}

func (w *watcher) begin() { w.r.startStream() }

// initial writes the state as synthetic ADDED events.
func (w *watcher) initial(ctx context.Context, reader store.Reader, prefix string) error {
	var failed error
	err := reader.Scan(ctx, prefix, "", func(e *store.Entry) bool {
		if !w.opts.selector.Matches(e.Key, e.Meta) {
			return true
		}
		frame, err := w.form.frame(added, e.Body)
		if err != nil {
			failed = err
			return false
		}
		failed = w.write(frame)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	if w.opts.endMark {
		if err := w.bookmark(reader.Revision(), true); err != nil {
			return err
		}
	}
	return w.flush()
}

// follow writes changes as they come, until ctx ends or the server stops.
func (w *watcher) follow(ctx context.Context, cursor *watch.Cursor) error {
	var tick <-chan time.Time
	if w.opts.bookmarks {
		ticker := time.NewTicker(bookmarkInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	if err := w.flush(); err != nil {
		return err
	}
	for {
		events, wake, err := cursor.Poll(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := w.event(e); err != nil {
				return err
			}
		}
		if len(events) > 0 {
			if err := w.flush(); err != nil {
				return err
			}
			continue
		}
		select {
		case <-wake:
		case <-tick:
			if err := w.bookmark(cursor.Revision(), false); err != nil {
				return err
			}
			if err := w.flush(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		case <-w.s.stopping:
			if w.opts.bookmarks {
				if err := w.bookmark(cursor.Revision(), false); err == nil {
					return w.flush()
				}
			}
			return nil
		}
	}
}

// event writes what a change means to this watcher: an object that begins to
// match its selectors is ADDED, one that ceases to is DELETED with the last
// state that matched.
func (w *watcher) event(e *watch.Event) error {
	sel := w.opts.selector
	is := e.Op != store.OpDelete && sel.Matches(e.Entry.Key, e.Entry.Meta)
	was := e.Op != store.OpCreate && sel.Matches(e.Prev.Key, e.Prev.Meta)
	var key watch.FrameKey
	body := e.Entry.Body
	switch {
	case is && was:
		key.Type = modified
	case is:
		key.Type = added
	case was && e.Op == store.OpDelete:
		key.Type = deleted
	case was:
		key.Type, key.Form = deleted, "last "
		body = nil
	default:
		return nil
	}
	key.Form += w.form.name()
	make := func() ([]byte, error) {
		if body == nil {
			var err error
			if body, err = atRevision(e.Prev.Body, e.Entry.Revision); err != nil {
				return nil, err
			}
		}
		return w.form.frame(key.Type, body)
	}
	var frame []byte
	var err error
	if w.form.shared() {
		frame, err = e.Frame(key, make)
	} else {
		frame, err = make()
	}
	if err != nil {
		return err
	}
	return w.write(frame)
}

// atRevision gives a stored object another resourceVersion.
func atRevision(body []byte, revision uint64) ([]byte, error) {
	old, ok := document.Find(body, "metadata", "resourceVersion")
	if !ok {
		return nil, errors.New("a stored object has no resourceVersion")
	}
	at := cap(body) - cap(old)
	out := append(make([]byte, 0, len(body)+8), body[:at]...)
	out = append(out, '"')
	out = strconv.AppendUint(out, revision, 10)
	out = append(out, '"')
	return append(out, body[at+len(old):]...), nil
}

func revisionOf(body []byte) (string, error) {
	text, ok := document.Find(body, "metadata", "resourceVersion")
	if !ok || len(text) < 2 {
		return "", errors.New("a stored object has no resourceVersion")
	}
	return string(text[1 : len(text)-1]), nil
}

func (w *watcher) bookmark(revision uint64, initialEnd bool) error {
	res := w.r.target.resource
	text := `{"kind":"` + res.Kind + `","apiVersion":"` + res.GV.APIVersion() + `","metadata":{"resourceVersion":"` + strconv.FormatUint(revision, 10) + `","creationTimestamp":null`
	if initialEnd {
		text += `,"annotations":{"` + initialEventsEnd + `":"true"}`
	}
	frame, err := w.form.frame(bookmark, []byte(text+"}}"))
	if err != nil {
		return err
	}
	return w.write(frame)
}

// flushSize is how many bytes of events are gathered before they are written.
const flushSize = 32 << 10

func (w *watcher) write(frame []byte) error {
	if len(w.buf)+len(frame) > flushSize && len(w.buf) > 0 {
		if err := w.flushBuffer(); err != nil {
			return err
		}
	}
	if len(frame) >= flushSize {
		return w.r.write(frame)
	}
	w.buf = append(w.buf, frame...)
	return nil
}

func (w *watcher) flushBuffer() error {
	err := w.r.write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *watcher) flush() error {
	if len(w.buf) > 0 {
		if err := w.flushBuffer(); err != nil {
			return err
		}
		w.buf = nil // an idle watcher holds no buffer
	}
	return http.NewResponseController(w.r.w).Flush()
}

// stop ends the stream. What the client must know is its last event.
func (w *watcher) stop(err error) error {
	var trimmed *store.TrimmedError
	var known *api.Error
	switch {
	case err == nil, errors.Is(err, watch.ErrClosed), w.r.ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.As(err, &trimmed):
		known = api.Expired("too old resource version: %d (%d)", trimmed.Asked, trimmed.Oldest)
	case errors.As(err, &known):
	default:
		w.s.log.Error("watch ended", "path", w.r.http.URL.Path, "error", err)
		known = api.Internal("the watch ended; watch again from the last resourceVersion")
	}
	frame, err := w.form.failure(codec.Status(known))
	if err != nil {
		return err
	}
	if w.write(frame) == nil {
		_ = w.flush() // the client is gone if this fails
	}
	return nil
}
