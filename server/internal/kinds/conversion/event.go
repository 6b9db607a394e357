package conversion

import "github.com/capstan-dev/capstan/internal/document"

// eventFields are the names of fields that differ between core/v1 and events/v1.
var eventFields = [...]struct{ core, events string }{
	{"involvedObject", "regarding"}, {"message", "note"}, {"reportingComponent", "reportingController"}, {"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"}, {"lastTimestamp", "deprecatedLastTimestamp"}, {"count", "deprecatedCount"},
}

// EventsV1EventToCoreV1 renames the fields of an event to those of core/v1.
func (Hooks) EventsV1EventToCoreV1(from, to document.Value) {
	for _, f := range eventFields {
		if v := from.Get(f.events); v.Exists() {
			to.Put(f.core, v)
		}
	}
	to.DropZeros()
}

// CoreV1EventToEventsV1 does the opposite.
func (Hooks) CoreV1EventToEventsV1(from, to document.Value) {
	for _, f := range eventFields {
		if v := from.Get(f.core); v.Exists() {
			to.Put(f.events, v)
		}
	}
	to.DropZeros()
}
