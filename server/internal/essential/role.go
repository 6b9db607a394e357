// Package essential has the rules of the kinds that every server has: namespaces and roles.
package essential

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

// Rules satisfies the Hooks of the essential kinds.
type Rules struct{}

// ValidateClusterRole checks the selectors of an aggregation rule.
func (Rules) ValidateClusterRole(obj, _ document.Value) []schema.Cause {
	var c document.Causes
	for _, s := range obj.At("aggregationRule", "clusterRoleSelectors").Elements() {
		if !selector.Suitable(s) {
			c.Invalid(s, "invalid label selector.")
		}
	}
	return c
}
