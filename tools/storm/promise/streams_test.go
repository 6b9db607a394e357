package promise

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// A bookmark with the revision of an ADDED event before it, which may be a change, does not
// hide that the stream has shown the change.
func TestBookmarkAtTheLastInitialEvent(t *testing.T) {
	stream := func(events ...history.Event) record.Stream {
		return record.Stream{Definition: "u", Resource: "d0s", Watch: &history.Watch{Name: "w", Events: events}}
	}
	event := func(kind, key string, revision uint64) history.Event {
		return history.Event{Type: kind, State: history.State{Key: key, Revision: revision}}
	}
	a, b, changed := event(history.Added, "a", 5), event(history.Added, "b", 7), event(history.Modified, "a", 9)
	mark := func(at uint64) history.Event { return event(history.Bookmark, "", at) }
	late, early := stream(a, b, mark(7), changed), stream(a, mark(5), b, changed)
	if wrong := streams(&record.Record{Streams: []record.Stream{late, early}}); wrong != nil {
		t.Errorf("two right streams: %v", wrong)
	}
	if wrong := streams(&record.Record{Streams: []record.Stream{early, stream(a, mark(5), changed)}}); wrong == nil {
		t.Error("a stream without a change is right")
	}
}
