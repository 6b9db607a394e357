package addresses

import (
	"cmp"
	"errors"
)

// Config says where the addresses and ports of services come from.
type Config struct {
	// ServiceClusterIPRange is the CIDR that service addresses are taken from,
	// or two of them with a comma between. Default 10.0.0.0/24.
	ServiceClusterIPRange string
	// ServiceNodePortRange is where node ports are taken from: the first and the
	// last one, "30000-32767", which is the default.
	ServiceNodePortRange string
}

const (
	DefaultServiceCIDR = "10.0.0.0/24"
	defaultNodePorts   = "30000-32767"
)

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	c.ServiceClusterIPRange = cmp.Or(c.ServiceClusterIPRange, DefaultServiceCIDR)
	c.ServiceNodePortRange = cmp.Or(c.ServiceNodePortRange, defaultNodePorts)
}

// Validate reports everything that is wrong, joined into one error, or nil.
func (c *Config) Validate() error {
	_, addresses := Ranges(c.ServiceClusterIPRange)
	_, _, ports := PortRange(c.ServiceNodePortRange)
	return errors.Join(addresses, ports)
}
