// Package balancer is a plain TCP balancer on loopback, for tests of several servers.
package balancer

import (
	"io"
	"net"
	"slices"
	"sync"
)

// Balancer passes connections on to one of the servers each, in turn. It is safe for concurrent use.
type Balancer struct {
	listener net.Listener
	mu       sync.Mutex
	servers  []string // addresses
	turn     int
}

// New starts a balancer without servers on a free port.
func New() (*Balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Balancer{listener: listener}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go b.serve(c)
		}
	}()
	return b, nil
}

// Address is where clients connect.
func (b *Balancer) Address() string { return b.listener.Addr().String() }

// Close ends the balancer for new connections. The others go on.
func (b *Balancer) Close() error { return b.listener.Close() }

// Use makes servers, by their addresses, those of further connections. The others go on.
func (b *Balancer) Use(servers ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = slices.Clone(servers)
}

// dial connects to the next server that listens; nil when none does.
func (b *Balancer) dial() net.Conn {
	b.mu.Lock()
	all, from := b.servers, b.turn
	b.turn++
	b.mu.Unlock()
	for i := range all {
		if c, err := net.Dial("tcp", all[(from+i)%len(all)]); err == nil {
			return c
		}
	}
	return nil
}

// serve passes bytes both ways until either end closes.
func (b *Balancer) serve(client net.Conn) {
	defer client.Close()
	server := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // an end with an error ends both, too
		ended <- struct{}{}
	}
	go pass(server, client)
	go pass(client, server)
	<-ended
}
