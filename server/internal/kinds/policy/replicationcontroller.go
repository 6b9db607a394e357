package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

// DefaultReplicationController takes its selector and its labels from its template if it
// has none.
func (Policy) DefaultReplicationController(obj document.Value) {
	spec := obj.Get("spec")
	labels := spec.At("template", "metadata", "labels")
	if isEmpty(labels) {
		return
	}
	if isEmpty(spec.Get("selector")) {
		spec.Put("selector", labels)
	}
	if meta := obj.SetObject("metadata"); isEmpty(meta.Get("labels")) {
		meta.Put("labels", labels)
	}
}

// StatusReplicationController labels a controller from the stored template.
func (Policy) StatusReplicationController(obj, _ document.Value) { inheritLabels(obj) }

// ValidateReplicationController checks a replication controller.
func (p Policy) ValidateReplicationController(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	template := spec.Get("template")
	if !isSet(template) {
		return c.Causes // required by the schema
	}
	if labels := template.At("metadata", "labels"); !selector.ReadPlain(spec.Get("selector")).Match(selector.ReadLabels(labels)) {
		c.notSelected(template, labels)
	}
	if number(spec.Get("replicas")) > 1 {
		p.sharedDisks(&c, template, old.At("spec", "template"))
	}
	c.alwaysRestarts(template, "ReplicationController")
	return c.Causes
}
