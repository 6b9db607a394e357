package policy

import (
	"fmt"
	"net/netip"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// minHostBits is the least that a node gets of a range.
const minHostBits = 4

// ValidateClusterCIDR checks that there is a range, and that what a node gets fits
// into it.
func (Policy) ValidateClusterCIDR(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	bits := spec.Get("perNodeHostBits")
	if number(bits) < minHostBits {
		c.invalidAt("spec.perNodeHostBits", bits, fmt.Sprintf("must be greater than or equal to %d", minHostBits))
	}
	if isEmpty(spec.Get("ipv4")) && isEmpty(spec.Get("ipv6")) {
		c.required("spec", "one or both of `ipv4` and `ipv6` must be specified")
	}
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
			c.invalid(v, "must be a valid "+family.name+" CIDR")
		} else if most := family.length - prefix.Bits(); number(bits) > int64(most) {
			c.invalidAt("spec.perNodeHostBits", bits, fmt.Sprintf("must be less than or equal to %d", most))
		}
	}
	return c
}

// CellClusterCIDRPerNodeHostBits is the size of what a node gets.
func (Policy) CellClusterCIDRPerNodeHostBits(obj document.Value) any {
	return fmt.Sprint(number(obj.At("spec", "perNodeHostBits")))
}

// CellClusterCIDRNodeSelector is which nodes are served.
func (Policy) CellClusterCIDRNodeSelector(obj document.Value) any {
	if v := obj.At("spec", "nodeSelector"); isSet(v) {
		return string(v.AppendJSON(nil))
	}
	return "<none>"
}
