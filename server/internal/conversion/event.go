package conversion

import "github.com/capstan-dev/capstan/internal/document"

// eventFields are the names that fields of an event have in core/v1 and in
// events/v1, where they differ.
var eventFields = [...]struct{ core, events string }{
	{"involvedObject", "regarding"}, {"message", "note"}, {"reportingComponent", "reportingController"}, {"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"}, {"lastTimestamp", "deprecatedLastTimestamp"}, {"count", "deprecatedCount"},
}

// EventsV1EventToStorage gives the fields of an event the names that they have in
// core/v1.
func (Hooks) EventsV1EventToStorage(from, to document.Value) {
	for _, f := range eventFields {
		if v := from.Get(f.events); v.Exists() {
			to.Put(f.core, v)
		}
	}
	to.DropZeros()
}

// EventsV1EventFromStorage does the opposite.
func (Hooks) EventsV1EventFromStorage(from, to document.Value) {
	for _, f := range eventFields {
		if v := from.Get(f.core); v.Exists() {
			to.Put(f.events, v)
		}
	}
	to.DropZeros()
}
