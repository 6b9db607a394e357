package background

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/capstan-dev/capstan/internal/controller"
)

// Settings holds what an operator sets of the server's own activities.
type Settings struct {
	// Controllers selects the controllers: "*" is all of them but those that sign and clean
	// up bootstrap tokens, "name" this one, "-name" not this one, "-*" none. Default "*". See
	// controller.Names.
	Controllers []string
	// EventTTL is the time after its last write when an event is deleted, give or take a
	// minute. A start gives existing events their whole time again. Default 1h; negative
	// for never.
	EventTTL time.Duration
	// DisablePriorityAndFairness turns off flow schemas and priority levels: requests do
	// not wait by them, none are created, and their status is not written.
	DisablePriorityAndFairness bool
	// ClusterSigningDuration is the life of a certificate whose request asks for nothing
	// shorter. Default a year.
	ClusterSigningDuration time.Duration
	// AdvertiseAddress is the IP address by which clients inside the cluster reach the
	// server. Default: the address that it listens on, or one of the machine's if that is
	// unspecified or loopback.
	AdvertiseAddress string
	// OwnControllers are controllers of other modules, which the server starts and stops. Default: none.
	OwnControllers []OwnController
}

// SetDefaults fills in every field that is not set.
func (c *Settings) SetDefaults() {
	if len(c.Controllers) == 0 {
		c.Controllers = []string{"*"}
	}
	c.EventTTL = cmp.Or(c.EventTTL, time.Hour)
	c.ClusterSigningDuration = cmp.Or(c.ClusterSigningDuration, 365*24*time.Hour)
}

// Validate reports the first mistake, or nil.
func (c *Settings) Validate() error {
	if a, err := netip.ParseAddr(c.AdvertiseAddress); c.AdvertiseAddress != "" && (err != nil || a.IsUnspecified() || a.IsLoopback()) {
		return fmt.Errorf("advertised address: %q is no IP address that others reach the server at", c.AdvertiseAddress)
	}
	return cmp.Or(checkOwn(c.OwnControllers), controller.Check(c.Controllers))
}
