package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are the open ones of a client, with the transport that keeps them and the
// number of requests that use them. A connection of HTTP/2 is busy for some time after its
// last request, so requests are counted, not busy connections.
//
// Invariant: a transport whose connections were closed gets no further request, which might
// be sent on one of them before the transport has noticed.
type connections struct {
	mu        sync.Mutex
	transport *http.Transport // nil when the requests go another way
	open      map[*connection]bool
	requests  int
	leaving   bool // they are closed when no request uses them
}

type connection struct {
	net.Conn
	of *connections
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// dial is a dialer whose connections are known.
func (cs *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 30 * time.Second}
	return cs.dialBy(ctx, dialer.DialContext, network, address)
}

func (cs *connections) dialBy(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error),
	network, address string) (net.Conn, error) {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &connection{conn, cs}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open == nil {
		cs.open = map[*connection]bool{}
	}
	cs.open[c] = true
	return c, nil
}

func (cs *connections) current() *http.Transport {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.transport
}

// RoundTrip implements http.RoundTripper.
func (cs *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	return cs.current().RoundTrip(r)
}

// CloseIdleConnections is that of the transport.
func (cs *connections) CloseIdleConnections() { cs.current().CloseIdleConnections() }

// close closes all connections. Later requests open others.
func (cs *connections) close() {
	cs.mu.Lock()
	open, old := cs.open, cs.transport
	cs.open = nil
	if old != nil {
		cs.transport = old.Clone()
	}
	cs.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close()
	}
	if old != nil {
		old.CloseIdleConnections()
	}
}

// used counts the requests up (1) and down (-1).
func (cs *connections) used(by int) {
	cs.mu.Lock()
	cs.requests += by
	done := cs.leaving && cs.requests == 0
	cs.mu.Unlock()
	if done {
		cs.close()
	}
}

// leave closes the connections as soon as no request uses them.
func (cs *connections) leave() {
	cs.mu.Lock()
	cs.leaving = true
	cs.mu.Unlock()
	cs.used(0)
}

// usedBody is the body of an answer, whose request ends when the body is closed.
type usedBody struct {
	io.ReadCloser
	closed func()
}

func (b *usedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}
