package addresses

import (
	"cmp"
	"errors"
)

// Config holds the ranges of services' addresses and ports.
type Config struct {
	// ServiceClusterIPRange is the CIDR of service addresses, or two of them with a comma
	// between. Default 10.0.0.0/24.
	ServiceClusterIPRange string
	// ServiceNodePortRange is the first and the last node port, "30000-32767", which is
	// the default.
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

// Validate reports all mistakes, joined into one error, or nil.
func (c *Config) Validate() error {
	_, addresses := Ranges(c.ServiceClusterIPRange)
	_, _, ports := PortRange(c.ServiceNodePortRange)
	return errors.Join(addresses, ports)
}
