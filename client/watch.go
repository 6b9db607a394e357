package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"sync/atomic"
)

// EventType is the kind of a change.
type EventType string

// The event types. A server's ERROR event is the error of Next instead.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK" // the object carries only a resource version
	Synced   EventType = "SYNCED"   // of Follow: all objects of a list were reported
)

// Event is one change.
type Event[T any] struct {
	Type   EventType
	Object *T
}

// Watcher reads the events of one watch, in the order of the server. It is not
// safe for concurrent use, except for Close.
type Watcher[T any] struct {
	body    io.ReadCloser
	decoder *json.Decoder
	cancel  context.CancelFunc // of the request
	closed  atomic.Bool
}

func newWatcher[T any](body io.ReadCloser, cancel context.CancelFunc) *Watcher[T] {
	return &Watcher[T]{body: body, decoder: json.NewDecoder(body), cancel: cancel}
}

// Next waits for the next event. It returns io.EOF when the server ended the watch: watch
// again from the last resource version. An *Error is a failure of the server; when
// IsExpired, list and watch again. After Close it returns net.ErrClosed. Any other error is
// of the connection. After an error the watcher is closed.
func (w *Watcher[T]) Next() (Event[T], error) {
	event, err := w.next()
	if err != nil {
		if w.closed.Load() {
			err = fmt.Errorf("watch: %w", net.ErrClosed)
		}
		w.end()
	}
	return event, err
}

func (w *Watcher[T]) next() (Event[T], error) {
	var frame struct {
		Type   EventType       `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := w.decoder.Decode(&frame); err != nil {
		if errors.Is(err, io.EOF) {
			return Event[T]{}, io.EOF
		}
		return Event[T]{}, fmt.Errorf("watch: %w", err)
	}
	switch frame.Type {
	case Added, Modified, Deleted, Bookmark:
		event := Event[T]{Type: frame.Type, Object: new(T)}
		if err := json.Unmarshal(frame.Object, event.Object); err != nil {
			return Event[T]{}, fmt.Errorf("watch: event %s does not hold the expected object: %w", frame.Type, err)
		}
		return event, nil
	case "ERROR":
		e := &Error{}
		if err := json.Unmarshal(frame.Object, &e.Status); err != nil {
			return Event[T]{}, fmt.Errorf("watch: event ERROR does not hold a Status: %w", err)
		}
		return Event[T]{}, e
	}
	return Event[T]{}, fmt.Errorf("watch: unknown event type %.40q: update the client", frame.Type)
}

// Events are all events up to the end of the watch, which closes the watcher: without an
// error when the server ended it. Leaving the loop closes it too.
func (w *Watcher[T]) Events() iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		defer w.Close()
		for {
			event, err := w.Next()
			if err == io.EOF || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Close ends the watch, and frees its connection; a waiting Next returns net.ErrClosed. It
// may be called often, and always returns nil.
func (w *Watcher[T]) Close() error {
	w.closed.Store(true)
	w.end()
	return nil
}

// end ends the request. The connection is lost before its body ends, so errors mean nothing.
func (w *Watcher[T]) end() {
	w.cancel()
	_ = w.body.Close()
}
