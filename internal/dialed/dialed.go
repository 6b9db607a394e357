// Package dialed keeps account of the connections of an HTTP client, so that all of them can
// be closed.
package dialed

import (
	"context"
	"errors"
	"net"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Func makes a connection, like net.Dialer.DialContext.
type Func = func(ctx context.Context, network, address string) (net.Conn, error)

// Conns is the connections of a client that are open. http.Transport itself closes only
// those that are idle, and keeps one that becomes idle a moment later.
//
// Invariant: open has every connection that a function of Keep has returned and that is not
// closed.
type Conns struct {
	// Late reports whether the client needs no further connections: one that has just been
	// made is closed. It may be called at any time.
	Late func() bool

	mu   ranks.Mutex[ranks.Leaf]
	open map[*conn]bool
}

type conn struct {
	net.Conn
	of *Conns
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// ErrLate is the error of a connection that came too late.
var ErrLate = errors.New("the client of this connection has been closed")

// Keep is dial with its connections noted.
func (c *Conns) Keep(dial Func) Func {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		kept := &conn{made, c}
		c.mu.Lock()
		late := c.Late()
		if !late {
			if c.open == nil {
				c.open = map[*conn]bool{}
			}
			c.open[kept] = true
		}
		c.mu.Unlock()
		if late {
			_ = made.Close()
			return nil, ErrLate
		}
		return kept, nil
	}
}

// CloseAll closes all connections, also those in use.
func (c *Conns) CloseAll() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for kept := range open {
		_ = kept.Conn.Close()
	}
}
