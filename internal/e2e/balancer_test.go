package e2e

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// balancer passes connections on to one of its servers each, in turn. It is safe for concurrent use.
type balancer struct {
	listener net.Listener
	mu       sync.Mutex
	servers  []string // addresses
	next     int
}

// newBalancer starts a balancer without servers, which ends with the test.
func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
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
	return b
}

// url is where clients connect.
func (b *balancer) url() string { return "https://" + b.listener.Addr().String() }

// use makes servers those of further connections. The others go on.
func (b *balancer) use(servers ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = slices.Clone(servers)
}

// dial connects to the next server that listens; nil for none.
func (b *balancer) dial() net.Conn {
	b.mu.Lock()
	all, from := b.servers, b.next
	b.next++
	b.mu.Unlock()
	for i := range all {
		if c, err := net.Dial("tcp", all[(from+i)%len(all)]); err == nil {
			return c
		}
	}
	return nil
}

func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	server := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	both := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		both <- struct{}{}
	}
	go pass(server, client)
	go pass(client, server)
	<-both // either end closes both
}
