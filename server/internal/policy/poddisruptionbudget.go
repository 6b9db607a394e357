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
	return c
}

// CellPodDisruptionBudgetMinAvailable shows the limit, N/A when it is the other.
func (Policy) CellPodDisruptionBudgetMinAvailable(obj document.Value) any {
	return amountText(obj.At("spec", "minAvailable"))
}

// CellPodDisruptionBudgetMaxUnavailable shows the limit, N/A when it is the
// other.
func (Policy) CellPodDisruptionBudgetMaxUnavailable(obj document.Value) any {
	return amountText(obj.At("spec", "maxUnavailable"))
}
