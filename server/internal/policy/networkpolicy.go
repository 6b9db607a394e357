package policy

import (
	"net/netip"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
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

// ValidateIPBlock checks that the exceptions of a range are in it.
func (Policy) ValidateIPBlock(block document.Value) []schema.Cause {
	var c causes
	whole, err := netip.ParsePrefix(block.Get("cidr").Text())
	if err != nil {
		return nil // reported by the schema
	}
	for _, v := range block.Get("except").Elements() {
		hole, err := netip.ParsePrefix(v.Text())
		if err != nil {
			c.Invalid(v, "not a valid CIDR")
			break
		}
		if hole.Bits() <= whole.Bits() || !whole.Contains(hole.Addr()) {
			c.Invalid(v, "must be a strict subset of `cidr`")
		}
	}
	return c.Causes
}
