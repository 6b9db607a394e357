package site

import (
	"io"
	"net"
	"slices"
	"sync"
)

// balancer passes connections on to one of the servers each, in turn. It is safe for concurrent use.
type balancer struct {
	listener net.Listener
	mu       sync.Mutex
	servers  []string // addresses
	turn     int
}

func newBalancer() (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener}
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

func (b *balancer) url() string { return "https://" + b.listener.Addr().String() }

func (b *balancer) close() { _ = b.listener.Close() }

// use makes servers those of further connections.
func (b *balancer) use(servers ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = slices.Clone(servers)
}

// dial connects to the next server that listens; nil for none.
func (b *balancer) dial() net.Conn {
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
func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	server := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // the end of a connection is no mistake
		ended <- struct{}{}
	}
	go pass(server, client)
	go pass(client, server)
	<-ended
}
