package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidatePodDisruptionBudget checks the limits.
func (Policy) ValidatePodDisruptionBudget(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	for _, amount := range []document.Value{spec.Get("minAvailable"), spec.Get("maxUnavailable")} {
		c.intOrPercent(amount)
		c.atMostAll(amount)
	}
	return c.Causes
}
