package policy

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// firstSeen is the time when an event happened first.
func firstSeen(obj document.Value) string {
	if first := obj.Get("firstTimestamp").Text(); first != "" {
		return first
	}
	return obj.Get("eventTime").Text()
}

// CellEventFirstSeen is the time since the event happened first.
func (Policy) CellEventFirstSeen(obj document.Value) any {
	return api.Ago{Since: firstSeen(obj)}
}

// CellEventLastSeen is the time since the event happened last.
func (Policy) CellEventLastSeen(obj document.Value) any {
	last := obj.Get("lastTimestamp").Text()
	if series := obj.Get("series"); isSet(series) {
		last = series.Get("lastObservedTime").Text()
	} else if last == "" {
		last = firstSeen(obj)
	}
	return api.Ago{Since: last}
}
