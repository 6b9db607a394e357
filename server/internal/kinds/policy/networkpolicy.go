package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// DefaultNetworkPolicySpec sets the limited directions of a policy that does not name
// them.
func (Policy) DefaultNetworkPolicySpec(spec document.Value) {
	if !isEmpty(spec.Get("policyTypes")) {
		return
	}
	types := spec.SetArray("policyTypes")
	types.AppendString("Ingress")
	if !isEmpty(spec.Get("egress")) {
		types.AppendString("Egress")
	}
}
