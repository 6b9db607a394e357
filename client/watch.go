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
type Event[P Object] struct {
	Type   EventType
	Object P // nil with Synced
}

// Watcher reads the events of one watch, in the order of the server. It is not
// safe for concurrent use, except for Close.
type Watcher[P Object] struct{ stream *stream }

// Next waits for the next event. It returns io.EOF when the server ended the watch: watch
// again from the last resource version. An *Error is a failure of the server; when
// IsExpired, list and watch again. After Close it returns net.ErrClosed. Any other error is
// of the connection. After an error the watcher is closed.
func (w *Watcher[P]) Next() (Event[P], error) {
	event := Event[P]{Object: newObject[P]()}
	var err error
	if event.Type, err = w.stream.next(event.Object); err != nil {
		return Event[P]{}, err
	}
	return event, nil
}

// Events are all events up to the end of the watch, which closes the watcher: without an
// error when the server ended it. Leaving the loop closes it too.
//
//go:noinline
func (w *Watcher[P]) Events() iter.Seq2[Event[P], error] {
	return func(yield func(Event[P], error) bool) {
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
func (w *Watcher[P]) Close() error {
	w.stream.closed.Store(true)
	w.stream.end()
	return nil
}

// stream is the answer to a watch.
type stream struct {
	body    io.ReadCloser
	decoder *json.Decoder
	cancel  context.CancelFunc // of the request
	closed  atomic.Bool
}

func newStream(body io.ReadCloser, cancel context.CancelFunc) *stream {
	return &stream{body: body, decoder: json.NewDecoder(body), cancel: cancel}
}

// next reads the object of the next event into obj. After an error the stream is closed.
func (s *stream) next(obj Object) (EventType, error) {
	event, err := s.read(obj)
	if err != nil {
		if s.closed.Load() {
			err = fmt.Errorf("watch: %w", net.ErrClosed)
		}
		s.end()
	}
	return event, err
}

func (s *stream) read(obj Object) (EventType, error) {
	var frame struct {
		Type   EventType       `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := s.decoder.Decode(&frame); err != nil {
		if errors.Is(err, io.EOF) {
			return "", io.EOF
		}
		return "", fmt.Errorf("watch: %w", err)
	}
	switch frame.Type {
	case Added, Modified, Deleted, Bookmark:
		if err := json.Unmarshal(frame.Object, obj); err != nil {
			return "", fmt.Errorf("watch: event %s does not hold the expected object: %w", frame.Type, err)
		}
		return frame.Type, nil
	case "ERROR":
		e := &Error{}
		if err := json.Unmarshal(frame.Object, &e.Status); err != nil {
			return "", fmt.Errorf("watch: event ERROR does not hold a Status: %w", err)
		}
		return "", e
	}
	return "", fmt.Errorf("watch: unknown event type %.40q: update the client", frame.Type)
}

// end ends the request. The connection is lost before its body ends, so errors mean nothing.
func (s *stream) end() {
	s.cancel()
	_ = s.body.Close()
}
