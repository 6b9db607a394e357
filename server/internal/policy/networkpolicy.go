package policy

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultNetworkPolicySpec says which directions a policy limits that does not
// say so itself.
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

// ValidateNetworkPolicy checks the ports and the peers of all rules.
func (Policy) ValidateNetworkPolicy(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	for _, side := range [...][2]string{{"ingress", "from"}, {"egress", "to"}} {
		for _, rule := range spec.Get(side[0]).Elements() {
			for _, port := range rule.Get("ports").Elements() {
				c.policyPort(port)
			}
			for _, peer := range rule.Get(side[1]).Elements() {
				c.policyPeer(peer)
			}
		}
	}
	if types := spec.Get("policyTypes"); types.Len() > 2 {
		c.invalid(types, "may not specify more than two policyTypes")
	}
	c.conditions(obj.At("status", "conditions"))
	return c
}

// policyPort checks a port, or a range of them.
func (c *causes) policyPort(entry document.Value) {
	port, end := entry.Get("port"), entry.Get("endPort")
	switch port.Kind() {
	case document.Number:
		for _, problem := range validation.IsValidPortNum(int(number(port))) {
			c.invalid(port, problem)
		}
		if !isSet(end) {
			return
		}
		if number(end) < number(port) {
			c.invalid(end, "must be greater than or equal to `port`")
		}
		for _, problem := range validation.IsValidPortNum(int(number(end))) {
			c.invalid(end, problem)
		}
	case document.String:
		if isSet(end) {
			c.invalid(end, "may not be specified when `port` is non-numeric")
		}
		c.format(port, "port-name")
	default:
		if isSet(end) {
			c.invalid(end, "may not be specified when `port` is not specified")
		}
	}
}

// policyPeer checks that a peer is pods or addresses, and not both.
func (c *causes) policyPeer(peer document.Value) {
	pods, namespaces, block := peer.Get("podSelector"), peer.Get("namespaceSelector"), peer.Get("ipBlock")
	c.ipBlock(block)
	switch selects := isSet(pods) || isSet(namespaces); {
	case !selects && !isSet(block):
		c.required(peer.Path(), "must specify a peer")
	case selects && isSet(block):
		c.forbidden(peer.Path(), "may not specify both ipBlock and another peer")
	}
}

// ipBlock checks that the holes of a range are in it.
func (c *causes) ipBlock(block document.Value) {
	whole, err := netip.ParsePrefix(block.Get("cidr").Text())
	if err != nil {
		return // reported by the schema
	}
	for _, v := range block.Get("except").Elements() {
		hole, err := netip.ParsePrefix(v.Text())
		if err != nil {
			c.invalid(v, "not a valid CIDR")
			return
		}
		if hole.Bits() <= whole.Bits() || !whole.Contains(hole.Addr()) {
			c.invalid(v, "must be a strict subset of `cidr`")
		}
	}
}

// CellNetworkPolicyPodSelector is the selector as text.
func (Policy) CellNetworkPolicyPodSelector(obj document.Value) any {
	return selectorText(obj.At("spec", "podSelector"))
}
