package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateReplicaSet checks a replica set.
func (p Policy) ValidateReplicaSet(obj, old document.Value) []schema.Cause {
	var c causes
	p.replicated(&c, obj.Get("spec"), old.Get("spec"), "replica set")
	return c.Causes
}
