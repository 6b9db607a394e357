package policy

import (
	"fmt"
	"net/netip"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateClusterCIDR checks that a node's share fits into the ranges.
func (Policy) ValidateClusterCIDR(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	bits := spec.Get("perNodeHostBits")
	for _, family := range []struct {
		field, name string
		length      int
	}{{"ipv4", "IPv4", 32}, {"ipv6", "IPv6", 128}} {
		v := spec.Get(family.field)
		if isEmpty(v) {
			continue
		}
		prefix, err := netip.ParsePrefix(v.Text())
		if err != nil || prefix.Addr().BitLen() != family.length {
			c.Invalid(v, "must be a valid "+family.name+" CIDR")
		} else if most := family.length - prefix.Bits(); number(bits) > int64(most) {
			c.InvalidAt("spec.perNodeHostBits", bits, fmt.Sprintf("must be less than or equal to %d", most))
		}
	}
	return c.Causes
}

// CellClusterCIDRNodeSelector shows the selected nodes.
func (Policy) CellClusterCIDRNodeSelector(obj document.Value) any {
	if v := obj.At("spec", "nodeSelector"); isSet(v) {
		return string(v.AppendJSON(nil))
	}
	return "<none>"
}
