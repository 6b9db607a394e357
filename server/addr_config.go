package server

import (
	"cmp"
	"errors"
)

// Addresses says where the addresses and ports of services come from.
type Addresses struct {
	// ServiceClusterIPRange is the CIDR that service addresses are taken from,
	// or two of them with a comma between. Default 10.0.0.0/24.
	ServiceClusterIPRange string
	// ServiceNodePortRange is where node ports are taken from: the first and the
	// last one, "30000-32767", which is the default.
	ServiceNodePortRange string
}

const (
	defaultServiceCIDR = "10.0.0.0/24"
	defaultNodePorts   = "30000-32767"
)

// SetDefaults fills in every field that is not set.
func (c *Addresses) SetDefaults() {
	c.ServiceClusterIPRange = cmp.Or(c.ServiceClusterIPRange, defaultServiceCIDR)
	c.ServiceNodePortRange = cmp.Or(c.ServiceNodePortRange, defaultNodePorts)
}

// Validate reports everything that is wrong, joined into one error, or nil.
func (c *Addresses) Validate() error {
	_, addresses := serviceRanges(c.ServiceClusterIPRange)
	_, _, ports := nodePortRange(c.ServiceNodePortRange)
	return errors.Join(addresses, ports)
}
