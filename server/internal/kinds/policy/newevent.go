package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateEventInEventsV1 checks the rules for events of the group events only: a new one
// has all of the newer fields and none of the older, and an update changes nothing but
// the series. Fields are named as in core/v1, whose rules hold too.
func (Policy) ValidateEventInEventsV1(obj, old document.Value) []schema.Cause {
	var c causes
	if old.Exists() {
		c.changedEvent(obj, old)
		return c.Causes
	}
	if prefix := obj.At("metadata", "generateName").Text(); prefix != "" {
		for _, why := range document.CheckFormat("dns1123-subdomain", document.MaskDash(prefix)) {
			c.InvalidText("metadata.generateName", prefix, why)
		}
	}
	if name := obj.At("metadata", "name").Text(); name != "" {
		c.FormatText("metadata.name", name, "dns1123-subdomain")
	}
	c.eventSeries(obj.Get("series"))
	if !isSet(obj.Get("eventTime")) {
		c.Required("eventTime", "")
	}
	if t := obj.Get("type"); !t.Equals("Normal") && !t.Equals("Warning") {
		c.InvalidText("type", "", "has invalid value: "+t.Text())
	}
	for _, f := range []struct{ field, name string }{{"deprecatedFirstTimestamp", "firstTimestamp"}, {"deprecatedLastTimestamp", "lastTimestamp"},
		{"deprecatedCount", "count"}, {"deprecatedSource", "source"}} {
		if v := obj.Get(f.field); !isEmpty(v) && !(v.Kind() == document.Number && number(v) == 0) {
			c.InvalidText(f.name, "", "needs to be unset")
		}
	}
	return c.Causes
}

func (c *causes) eventSeries(series document.Value) {
	if !isSet(series) {
		return
	}
	if number(series.Get("count")) < 2 {
		c.InvalidText("series.count", "", "should be at least 2")
	}
	if !isSet(series.Get("lastObservedTime")) {
		c.Required("series.lastObservedTime", "")
	}
}

// fixedEventFields are the immutable fields, with their names in core/v1, which errors
// use. A text that is gone is shown as "". A changed reason is reported twice.
var fixedEventFields = []struct {
	field, name string
	text        bool
}{
	{"regarding", "involvedObject", false}, {"reason", "reason", true}, {"note", "message", true}, {"deprecatedSource", "source", false},
	{"deprecatedFirstTimestamp", "firstTimestamp", false}, {"deprecatedLastTimestamp", "lastTimestamp", false}, {"deprecatedCount", "count", false},
	{"reason", "reason", true}, {"type", "type", true}, {"eventTime", "eventTime", false}, {"action", "action", true}, {"related", "related", false},
	{"reportingController", "reportingController", true}, {"reportingInstance", "reportingInstance", true},
}

func (c *causes) changedEvent(obj, old document.Value) {
	if series := obj.Get("series"); !document.Equal(series, old.Get("series")) {
		c.eventSeries(series)
	}
	for _, f := range fixedEventFields {
		switch v := obj.Get(f.field); {
		case document.Equal(v, old.Get(f.field)):
		case f.text:
			c.InvalidText(f.name, v.Text(), "field is immutable")
		default:
			c.InvalidAt(f.name, v, "field is immutable")
		}
	}
}
