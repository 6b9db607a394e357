package request

import (
	"cmp"
	"fmt"
	"time"
)

// Requests holds the bounds of requests that an operator sets.
type Requests struct {
	// RequestTimeout bounds every request that is not a watch, from the end of its
	// headers to the last byte of its answer. Default 60s.
	RequestTimeout time.Duration
	// MinRequestTimeout is the least time that a watch without timeoutSeconds
	// stays open; each picks a time between it and its double. Default 30m.
	MinRequestTimeout time.Duration
	// MaxRequestsInflight bounds the reading requests that run at once, watches and
	// those of administrators not counted. One user has a quarter at most. With
	// priority and fairness it is a part of the seats that the priority levels share.
	// Default 400; negative for no bound.
	MaxRequestsInflight int
	// MaxMutatingRequestsInflight bounds the writing requests that run at once.
	// Default 200; negative for no bound.
	MaxMutatingRequestsInflight int
	// MaxStreamsPerConnection bounds the requests that a client may have under way on
	// one HTTP/2 connection. Default 250.
	MaxStreamsPerConnection int
	// MaxRequestBytes bounds the body of a request. Default 3 MiB.
	MaxRequestBytes int64
	// ListMemoryBytes bounds the memory of all lists that have to be gathered before they
	// are sent (binary, YAML, indented); larger ones are read twice, or not indented.
	// Default 64 MiB.
	ListMemoryBytes int64
	// BinaryCacheBytes bounds the memory of objects in the binary form, and of cells of
	// tables, that are kept for further answers. Default 32 MiB.
	BinaryCacheBytes int64
	// GoawayChance is the part of the HTTP/2 requests after which the client has to
	// connect again, perhaps to another server: at most a fiftieth. Default 0.
	GoawayChance float64
	// SlowRequests is the number of the last slow requests that /debug/slow_requests shows, of
	// about a kilobyte each; negative for none. Default 200.
	SlowRequests int
	// SlowRequestThreshold is the time from which a request is slow. Default 500ms.
	SlowRequestThreshold time.Duration
	// ShutdownSendRetryAfter refuses requests of a server that stops with 429, which more
	// clients repeat than 503.
	ShutdownSendRetryAfter bool
}

// Validate reports the first mistake that no bound of a number finds, or nil.
func (c *Requests) Validate() error {
	if !(c.GoawayChance >= 0 && c.GoawayChance <= 0.02) {
		return fmt.Errorf("--goaway-chance: %v is out of range; use 0 to 0.02", c.GoawayChance)
	}
	if c.SlowRequests > mostSlow {
		return fmt.Errorf("--slow-requests: %d is out of range; use 0 to %d", c.SlowRequests, mostSlow)
	}
	return nil
}

// SetDefaults fills in every field that is not set.
func (c *Requests) SetDefaults() {
	c.RequestTimeout = cmp.Or(c.RequestTimeout, time.Minute)
	c.MinRequestTimeout = cmp.Or(c.MinRequestTimeout, 30*time.Minute)
	c.MaxRequestsInflight = cmp.Or(c.MaxRequestsInflight, 400)
	c.MaxMutatingRequestsInflight = cmp.Or(c.MaxMutatingRequestsInflight, 200)
	c.MaxStreamsPerConnection = cmp.Or(c.MaxStreamsPerConnection, 250)
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, 3<<20)
	c.ListMemoryBytes = cmp.Or(c.ListMemoryBytes, 64<<20)
	c.BinaryCacheBytes = cmp.Or(c.BinaryCacheBytes, 32<<20)
	c.SlowRequests = cmp.Or(c.SlowRequests, 200)
	c.SlowRequestThreshold = cmp.Or(c.SlowRequestThreshold, 500*time.Millisecond)
}
