package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateReplicaSet checks a replica set.
func (Policy) ValidateReplicaSet(obj, _ document.Value) []schema.Cause {
	var c causes
	c.replicated(obj.Get("spec"), "replica set")
	return c.Causes
}
