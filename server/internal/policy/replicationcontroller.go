package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultReplicationController selects, and labels itself, by the labels of its
// template when it does not say.
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

// ValidateReplicationController checks a replication controller.
func (Policy) ValidateReplicationController(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	if old.Exists() {
		c.replicationStatus(obj.Get("status"))
	}
	template := spec.Get("template")
	if !isSet(template) {
		return c // required by the schema
	}
	if labels := template.At("metadata", "labels"); !selectsAll(spec.Get("selector"), labels) {
		c.notSelected(template, labels)
	}
	if number(spec.Get("replicas")) > 1 {
		c.sharedDisks(template)
	}
	c.alwaysRestarts(template, "ReplicationController")
	return c
}

// replicationStatus checks that no more pods are counted as something than there
// are.
func (c *causes) replicationStatus(status document.Value) {
	count := func(name string) int64 { return number(status.Get(name)) }
	for _, name := range [...]string{"fullyLabeledReplicas", "readyReplicas", "availableReplicas"} {
		if count(name) > count("replicas") {
			c.invalid(status.Get(name), "cannot be greater than status.replicas")
		}
	}
	if count("availableReplicas") > count("readyReplicas") {
		c.invalid(status.Get("availableReplicas"), "cannot be greater than readyReplicas")
	}
}

// CellReplicationControllerContainers lists the containers of the template.
func (Policy) CellReplicationControllerContainers(obj document.Value) any {
	return containerNames(obj.At("spec", "template"))
}

// CellReplicationControllerImages lists the images of the template.
func (Policy) CellReplicationControllerImages(obj document.Value) any {
	return containerImages(obj.At("spec", "template"))
}

// CellReplicationControllerSelector is the selector as text.
func (Policy) CellReplicationControllerSelector(obj document.Value) any {
	return mapText(obj.At("spec", "selector"))
}
