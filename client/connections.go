package client

import (
	"io"
	"net/http"
	"sync"

	"github.com/capstan-dev/capstan/internal/dialed"
)

// connections are the connections of a client, with the transport that keeps them and the
// number of requests that use them. A connection of HTTP/2 is busy for some time after its
// last request, so requests are counted, not busy connections.
//
// Invariant: a transport whose connections were closed gets no further request, which might
// be sent on one of them before the transport has noticed.
type connections struct {
	dialed.Conns
	mu        sync.Mutex
	transport *http.Transport // nil when the requests go another way
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
	old := cs.transport
	if old != nil {
		cs.transport = old.Clone()
	}
	cs.mu.Unlock()
	cs.CloseAll()
	if old != nil {
		old.CloseIdleConnections()
	}
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
