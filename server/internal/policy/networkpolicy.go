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

// ValidateNetworkPolicy checks the ranges of all rules, and the number of directions.
func (Policy) ValidateNetworkPolicy(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	for _, side := range [...][2]string{{"ingress", "from"}, {"egress", "to"}} {
		for _, rule := range spec.Get(side[0]).Elements() {
			for _, peer := range rule.Get(side[1]).Elements() {
				c.ipBlock(peer.Get("ipBlock"))
			}
		}
	}
	if types := spec.Get("policyTypes"); types.Len() > 2 {
		c.Invalid(types, "may not specify more than two policyTypes")
		c.Hide(types.Path())
	}
	return c.Causes
}

// ipBlock checks that the exceptions of a range are in it.
func (c *causes) ipBlock(block document.Value) {
	whole, err := netip.ParsePrefix(block.Get("cidr").Text())
	if err != nil {
		return // reported by the schema
	}
	for _, v := range block.Get("except").Elements() {
		hole, err := netip.ParsePrefix(v.Text())
		if err != nil {
			c.Invalid(v, "not a valid CIDR")
			return
		}
		if hole.Bits() <= whole.Bits() || !whole.Contains(hole.Addr()) {
			c.Invalid(v, "must be a strict subset of `cidr`")
		}
	}
}
