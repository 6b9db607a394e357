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

// Conns is the open connections of a client, and the number of its requests. http.Transport
// itself closes only connections that are idle, and keeps one that becomes idle a moment
// later. It is safe for concurrent use.
//
// Invariants: open has every connection that a function of Keep has returned and that is not
// closed. After Retire there is none while no request is under way.
type Conns struct {
	mu      ranks.Mutex[ranks.Leaf]
	open    map[*conn]bool
	users   int // requests that have begun and not ended
	retired bool
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

// ErrLate is the error of a connection that no request needs any more.
var ErrLate = errors.New("the client of this connection has been closed")

// Keep is dial with its connections noted.
func (c *Conns) Keep(dial Func) Func {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		kept := &conn{made, c}
		if !c.add(kept) {
			_ = made.Close()
			return nil, ErrLate
		}
		return kept, nil
	}
}

// add notes a connection, unless no request needs one any more.
func (c *Conns) add(kept *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired && c.users == 0 {
		return false
	}
	if c.open == nil {
		c.open = map[*conn]bool{}
	}
	c.open[kept] = true
	return true
}

// Begin notes a request, whose sender calls End.
func (c *Conns) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
}

// End notes that the answer to a request has been read, or given up.
func (c *Conns) End() {
	c.mu.Lock()
	c.users--
	unused := c.takeUnused()
	c.mu.Unlock()
	closeAll(unused)
}

// Retire has the connections closed when no request uses them: now, or with the End of the
// last one. Further requests are possible, and their connections are closed in the same way.
func (c *Conns) Retire() {
	c.mu.Lock()
	c.retired = true
	unused := c.takeUnused()
	c.mu.Unlock()
	closeAll(unused)
}

// CloseAll closes all connections, those in use too. Further requests are possible, with
// other connections.
func (c *Conns) CloseAll() {
	c.mu.Lock()
	all := c.open
	c.open = nil
	c.mu.Unlock()
	closeAll(all)
}

// takeUnused takes the retired connections that no request uses. mu is held.
func (c *Conns) takeUnused() (unused map[*conn]bool) {
	if c.retired && c.users == 0 {
		unused, c.open = c.open, nil
	}
	return unused
}

func closeAll(conns map[*conn]bool) {
	for kept := range conns {
		_ = kept.Conn.Close()
	}
}
