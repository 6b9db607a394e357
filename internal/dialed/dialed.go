// Package dialed keeps account of the connections of an HTTP client, so that all of them can
// be closed.
package dialed

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Func makes a connection, like net.Dialer.DialContext.
type Func = func(ctx context.Context, network, address string) (net.Conn, error)

// Conns is the open connections of a client, and the number of its requests. http.Transport
// itself closes only connections that are idle, and keeps one that becomes idle a moment
// later. A connection of HTTP/2 is busy for some time after its last request, so requests are
// counted, not busy connections. Conns is safe for concurrent use.
//
// Invariants: open has every connection that a function of Keep has returned and that is not
// closed. After Retire there is none while no request is under way. A carrying transport whose
// connections were closed gets no further request: it might send the request on one of them
// before it has noticed.
type Conns struct {
	mu        ranks.Mutex[ranks.Leaf]
	open      map[*conn]bool
	users     int // requests that have begun and not ended
	retired   bool
	transport *http.Transport // of Carry; nil when the requests go another way
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

// Carry makes a new transport the one of RoundTrip, and keeps its connections.
func (c *Conns) Carry(transport *http.Transport) {
	transport.DialContext = c.Keep(transport.DialContext)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport = transport
}

// RoundTrip implements http.RoundTripper with the transport of Carry.
func (c *Conns) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.carrier().RoundTrip(r)
}

// CloseIdleConnections closes those of the transport of Carry.
func (c *Conns) CloseIdleConnections() { c.carrier().CloseIdleConnections() }

func (c *Conns) carrier() *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transport
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
	c.unlockAndClose(c.retired && c.users == 0)
}

// Retire has the connections closed when no request uses them: now, or with the End of the
// last one. Further requests are possible, and their connections are closed in the same way.
func (c *Conns) Retire() {
	c.mu.Lock()
	c.retired = true
	c.unlockAndClose(c.users == 0)
}

// CloseAll closes all connections, those in use too. Further requests are possible, with
// other connections.
func (c *Conns) CloseAll() {
	c.mu.Lock()
	c.unlockAndClose(true)
}

// unlockAndClose unlocks mu, which is held, and then closes the connections, if that is to be.
func (c *Conns) unlockAndClose(now bool) {
	if !now {
		c.mu.Unlock()
		return
	}
	open, transport := c.open, c.transport
	c.open = nil
	if transport != nil {
		c.transport = transport.Clone()
	}
	c.mu.Unlock()
	for kept := range open {
		_ = kept.Conn.Close()
	}
	if transport != nil {
		transport.CloseIdleConnections()
	}
}
