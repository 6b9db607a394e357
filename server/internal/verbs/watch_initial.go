package verbs

import (
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
)

// pageSize is the number of bytes of initial events that are read before they are sent.
const pageSize = 128 << 10

// initial writes the state at w.at as synthetic ADDED events.
//
// The state is read in pages, each with a reader of its own at the same revision, and
// none is open while a page is sent: a client that does not read keeps no snapshot in the
// store, holds no more than a page, and gets 410 when it has taken longer than history is
// kept.
func (w *watcher) initial() error {
	ready := make(chan struct{})
	close(ready)
	for from, more := "", true; more; {
		frames, next, err := w.page(from)
		if err != nil {
			return err
		}
		w.begin()
		for _, f := range frames {
			w.events.Written(len(f))
			if err := w.sink.Add(f); err != nil {
				return err
			}
		}
		if from, more = next, next != ""; more {
			if err := w.sink.Flush(); err != nil {
				return err
			}
			if err := w.wait(ready); err != nil {
				return err
			}
		}
	}
	if w.opts.endMark {
		if err := w.bookmark(w.at, true); err != nil {
			return err
		}
	}
	return w.sink.Flush()
}

// page makes the frames of a page; next is the key after it, "" at the end.
func (w *watcher) page(from string) (frames [][]byte, next string, err error) {
	reader, err := w.part.Store.At(w.ctx, w.at)
	if err != nil {
		return nil, "", err
	}
	defer reader.Close()
	size := 0
	var failed error
	add := func(e *store.Entry) error {
		frame, err := w.form.frame(w.ctx, added, e)
		frames = append(frames, frame)
		size += len(frame)
		return err
	}
	waiting := &batch{res: w.res.Resource} // for a converter
	visit := func(e *store.Entry) bool {
		if !w.opts.selector.Matches(e.Key, e.Meta) {
			return true
		}
		if size >= pageSize || waiting.full() {
			next = strings.Clone(e.Key) // the entry is valid during the visit only
			return false
		}
		if w.res.ConvertsRemotely() || w.opts.selector.Reads() {
			waiting.add(e)
			return true
		}
		failed = add(e)
		return failed == nil
	}
	if name, ok := w.opts.selector.Name(); ok && w.single() {
		entry, err := reader.Get(w.prefix + name)
		if err == nil {
			visit(&entry)
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, "", err
		}
	} else if err := reader.Scan(w.ctx, w.prefix, from, visit); err != nil {
		return nil, "", err
	}
	if failed == nil {
		failed = waiting.serve(w.ctx, func(_ string, body []byte) error {
			if !w.opts.selector.Suits(body) {
				return nil
			}
			return add(unstored(body))
		})
	}
	return frames, next, failed
}

// single reports whether a name means one key: not for a namespaced resource in all
// namespaces.
func (w *watcher) single() bool { return !w.res.Namespaced || w.prefix != w.res.Prefix("") }
