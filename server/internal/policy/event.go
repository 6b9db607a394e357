package policy

import (
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Limits of an event's fields, in bytes.
const (
	maxEventField   = 128
	maxEventMessage = 1024
)

// ValidateEvent checks that an event is in the namespace of its object. An event with
// eventTime is of the newer kind, with a reporter.
func (Policy) ValidateEvent(obj, _ document.Value) []schema.Cause {
	var c causes
	own, about := obj.At("metadata", "namespace").Text(), obj.At("involvedObject", "namespace")
	newStyle := isSet(obj.Get("eventTime"))
	ok := about.Equals(own)
	if isEmpty(about) {
		ok = own == "" || own == "default" || newStyle && own == "kube-system"
	} else if newStyle {
		ok = true
	}
	if !ok {
		c.InvalidText("involvedObject.namespace", about.Text(), "does not match event.namespace")
	}
	if !newStyle {
		return c.Causes
	}
	c.reporter("reportingController", obj.Get("reportingComponent"))
	for _, name := range [...]string{"reportingInstance", "action", "reason"} {
		v := obj.Get(name)
		if isEmpty(v) {
			c.Required(name, "")
		} else if len(v.Text()) > maxEventField {
			c.InvalidText(name, "", "can have at most 128 characters")
		}
	}
	if len(obj.Get("message").Text()) > maxEventMessage {
		c.InvalidText("message", "", "can have at most 1024 characters")
	}
	return c.Causes
}

// reporter checks the reporter of an event, in a field that has another name in the group
// events.
func (c *causes) reporter(field string, v document.Value) {
	if isEmpty(v) {
		c.Required(field, "")
	}
	c.FormatText(field, v.Text(), "qualified-name")
}

// firstSeen is the time when an event happened first.
func firstSeen(obj document.Value) string {
	if first := obj.Get("firstTimestamp").Text(); first != "" {
		return first
	}
	return obj.Get("eventTime").Text()
}

// CellEventFirstSeen is the time since the event happened first.
func (p Policy) CellEventFirstSeen(obj document.Value) any {
	return codec.Age(firstSeen(obj), p.Now())
}

// CellEventLastSeen is the time since the event happened last.
func (p Policy) CellEventLastSeen(obj document.Value) any {
	last := obj.Get("lastTimestamp").Text()
	if series := obj.Get("series"); isSet(series) {
		last = series.Get("lastObservedTime").Text()
	} else if last == "" {
		last = firstSeen(obj)
	}
	return codec.Age(last, p.Now())
}
