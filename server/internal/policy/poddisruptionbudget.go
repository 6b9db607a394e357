package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidatePodDisruptionBudget checks the limits, of which there is one at most,
// and the selector.
func (Policy) ValidatePodDisruptionBudget(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	least, most := spec.Get("minAvailable"), spec.Get("maxUnavailable")
	if isSet(least) && isSet(most) {
		c.invalid(spec, "minAvailable and maxUnavailable cannot be both set")
	}
	for _, amount := range []document.Value{least, most} {
		c.intOrPercent(amount)
		c.atMostAll(amount)
	}
	c.conditions(obj.At("status", "conditions"))
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
