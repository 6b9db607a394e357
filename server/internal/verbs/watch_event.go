package verbs

import (
	"context"
	"errors"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
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

// initialEventsEnd marks the bookmark that closes the initial events
// (sendInitialEvents).
const initialEventsEnd = profile.GroupSuffix + "/initial-events-end"

// event writes a change as an event for this watcher: an object that begins to match its
// selectors is ADDED, one that ceases to is DELETED with the last state that matched.
func (w *watcher) event(e *watch.Event) error {
	var is, was bool
	var err error
	if e.Op != store.OpDelete {
		is, err = w.chooses(e, &e.Entry)
	}
	if e.Op != store.OpCreate && err == nil {
		was, err = w.chooses(e, &e.Prev)
	}
	if err != nil {
		return err
	}
	key := watch.FrameKey{Form: w.form.name}
	switch {
	case is && was:
		key.Type = modified
	case is:
		key.Type = added
	case was && e.Op == store.OpDelete:
		key.Type = deleted
	case was:
		key.Type, key.Form = deleted, w.form.lastName
	default:
		return nil
	}
	w.at = e.Entry.Revision
	frame, err := w.frame(e, key)
	if err != nil {
		return err
	}
	w.events.Written(len(frame))
	return w.sink.Add(frame)
}

func (w *watcher) frame(e *watch.Event, key watch.FrameKey) ([]byte, error) {
	make := func() ([]byte, error) {
		shown := &e.Entry
		switch {
		case key.Form == w.form.lastName:
			body, err := atRevision(e.Prev.Body, e.Entry.Revision)
			if err != nil {
				return nil, err
			}
			shown = unstored(body)
		case e.Op == store.OpDelete:
			shown = unstored(e.Entry.Body)
		}
		return w.form.frame(context.WithoutCancel(w.ctx), key.Type, shown)
	}
	if !w.form.shared() {
		return make()
	}
	return w.shared(e, key, make)
}

// shared makes bytes of an event once for all watches that need them.
func (w *watcher) shared(e *watch.Event, key watch.FrameKey, make func() ([]byte, error)) ([]byte, error) {
	if w.form.res.ConvertsRemotely() {
		return e.FrameApart(key, make)
	}
	return e.Frame(key, make)
}

// unstored is an object that is in no view of the store as it is shown.
func unstored(body []byte) *store.Entry {
	return &store.Entry{Value: store.Value{Body: body, RevisionAt: -1}}
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
	text := `{"kind":"` + w.res.Kind + `","apiVersion":"` + w.res.GV.APIVersion() + `","metadata":{"resourceVersion":"` + strconv.FormatUint(revision, 10) + `"`
	if !w.s.cfg.Since("1.34") {
		text += `,"creationTimestamp":null`
	}
	if initialEnd {
		text += `,"annotations":{"` + initialEventsEnd + `":"true"}`
	}
	frame, err := w.form.frame(w.ctx, bookmark, unstored([]byte(text+"}}")))
	if err != nil {
		return err
	}
	w.at = revision
	w.events.Written(len(frame))
	return w.sink.Add(frame)
}
