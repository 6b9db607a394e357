package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateReplicaSet checks a replica set.
func (Policy) ValidateReplicaSet(obj, _ document.Value) []schema.Cause {
	var c causes
	c.amongReplicas(obj.Get("status"), "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
	c.replicated(obj.Get("spec"), "replica set")
	return c
}

// CellReplicaSetContainers lists the containers of the template.
func (Policy) CellReplicaSetContainers(obj document.Value) any {
	return containerNames(obj.At("spec", "template"))
}

// CellReplicaSetImages lists the images of the template.
func (Policy) CellReplicaSetImages(obj document.Value) any {
	return containerImages(obj.At("spec", "template"))
}

// CellReplicaSetSelector is the selector as text.
func (Policy) CellReplicaSetSelector(obj document.Value) any {
	return selectorText(obj.At("spec", "selector"))
}
