package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// EventType is the kind of a change.
type EventType string

// The event types. A server's ERROR event is the error of Next instead.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK" // the object carries only a resource version
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
}

func newWatcher[T any](body io.ReadCloser) *Watcher[T] {
	return &Watcher[T]{body: body, decoder: json.NewDecoder(body)}
}

// Next waits for the next event. It returns io.EOF when the server ended the watch: watch
// again from the last resource version. An *Error is a failure of the server; when
// IsExpired, list and watch again. Any other error is of the connection. After an error
// the watcher is of no further use.
func (w *Watcher[T]) Next() (Event[T], error) {
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

// Close ends the watch; a waiting Next returns an error.
func (w *Watcher[T]) Close() error { return w.body.Close() }
