package verbs

import (
	"context"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// search finds the page of a list whose selector reads the objects, as they are in the
// version of the request.
func (l *list) search(ctx context.Context, s *Verbs, row *catalog.Row) error {
	l.found = true
	waiting := &batch{res: row.Resource} // for a converter
	full := func() bool { return l.limit > 0 && int64(len(l.keys)) == l.limit }
	serve := func() error {
		return waiting.serve(ctx, func(key string, body []byte) error {
			if full() && l.next == "" {
				l.next = key
			} else if !full() && l.selector.Suits(body) {
				l.keys = append(l.keys, key)
			}
			return nil
		})
	}
	var failed error
	err := l.scan(ctx, func(e *store.Entry) bool {
		if full() {
			if l.next == "" {
				l.next = strings.Clone(e.Key) // the entry is valid during the visit only
			}
			return false
		}
		if waiting.add(e); waiting.full() {
			failed = serve()
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = serve()
	}
	if l.next != "" {
		l.token = s.pages.encode(l.prefix, place{revision: l.reader.Revision(), key: l.next})
	}
	return err
}

// chooses reports whether the watch shows an object of an event, in a state before or
// after it. An object in another version than that of the watch is converted once for all
// of its watches.
func (w *watcher) chooses(e *watch.Event, state *store.Entry) (bool, error) {
	sel := w.opts.selector
	if !sel.Matches(state.Key, state.Meta) || !sel.Reads() {
		return sel.Matches(state.Key, state.Meta), nil
	}
	key := watch.FrameKey{Form: "object " + w.form.res.GV.APIVersion()}
	if state == &e.Prev {
		key.Type = "before"
	}
	body, err := w.shared(e, key, func() ([]byte, error) {
		return stored.Served(context.WithoutCancel(w.ctx), w.form.res.Resource, state.Body)
	})
	return err == nil && sel.Suits(body), err
}
