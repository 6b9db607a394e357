package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

// ValidateClusterRole checks the selectors of an aggregation rule.
func (Policy) ValidateClusterRole(obj, _ document.Value) []schema.Cause {
	var c document.Causes
	for _, s := range obj.At("aggregationRule", "clusterRoleSelectors").Elements() {
		if !selector.Suitable(s) {
			c.Invalid(s, "invalid label selector.")
		}
	}
	return c
}
