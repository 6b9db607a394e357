package objects_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// eventStream reads events in the representations that tests request.
type eventStream struct {
	resource, form string
	body           *bufio.Reader
	json           *json.Decoder // of body
}

// next returns an event, or the status of an ERROR event.
func (s *eventStream) next() (history.Event, *metav1.Status, error) {
	if s.form == harness.BinaryMedia {
		return s.nextBinary()
	}
	var event struct {
		Type   string
		Object json.RawMessage
	}
	err := s.json.Decode(&event)
	if err != nil {
		return history.Event{}, nil, err
	}
	e := history.Event{Type: event.Type}
	switch {
	case event.Type == "ERROR":
		status := &metav1.Status{}
		return e, status, json.Unmarshal(event.Object, status)
	case s.form == asTable && event.Type != history.Bookmark:
		var table struct {
			Rows []struct {
				Object struct{ Metadata history.Meta }
			}
		}
		if err := json.Unmarshal(event.Object, &table); err != nil {
			return e, nil, err
		}
		if len(table.Rows) != 1 {
			return e, nil, fmt.Errorf("a table with %d rows", len(table.Rows))
		}
		e.State, err = table.Rows[0].Object.Metadata.State(s.resource)
		return e, nil, err
	case s.form == "application/json" && event.Type != history.Bookmark:
		e.State, err = history.ParseObject(s.resource, event.Object)
		return e, nil, err
	}
	var object struct{ Metadata history.Meta }
	if err := json.Unmarshal(event.Object, &object); err != nil {
		return e, nil, err
	}
	return s.finish(e, &object.Metadata)
}

func (s *eventStream) nextBinary() (history.Event, *metav1.Status, error) {
	var length uint32
	if err := binary.Read(s.body, binary.BigEndian, &length); err != nil {
		return history.Event{}, nil, err
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(s.body, message); err != nil {
		return history.Event{}, nil, err
	}
	var event metav1.WatchEvent
	var object runtime.Unknown
	err := event.Unmarshal(message)
	e := history.Event{Type: event.Type}
	if err == nil {
		err = object.Unmarshal(bytes.TrimPrefix(event.Object.Raw, []byte("k8s\x00")))
	}
	if err != nil {
		return e, nil, err
	}
	if event.Type == "ERROR" {
		status := &metav1.Status{}
		return e, status, status.Unmarshal(object.Raw)
	}
	var partial metav1.PartialObjectMetadata // every kind has its metadata in the same position
	if err := partial.Unmarshal(object.Raw); err != nil {
		return e, nil, err
	}
	return s.finish(e, &history.Meta{Name: partial.Name, Namespace: partial.Namespace, ResourceVersion: partial.ResourceVersion, Labels: partial.Labels, Annotations: partial.Annotations})
}

func (s *eventStream) finish(e history.Event, m *history.Meta) (history.Event, *metav1.Status, error) {
	var err error
	e.State, err = m.State(s.resource)
	if e.Type == history.Bookmark {
		e.InitialEnd = m.Annotations["k8s.io/initial-events-end"] == "true"
		e.State = history.State{Revision: e.Revision}
	}
	return e, nil, err
}
