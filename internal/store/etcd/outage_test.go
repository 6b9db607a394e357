package etcd_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store/etcd"
)

// TestOutage: while etcd cannot be reached a server goes on to try, in pauses that do not grow beyond a second, so that it
// follows soon after etcd is back, however long that took.
func TestOutage(t *testing.T) {
	url := etcdtest.Start(t)
	way, through := newProxy(t, url)
	e := openWith(t, through, func(*etcd.Config) {})
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nobody.Close() }()
	var tries atomic.Int64
	go func() {
		for {
			c, err := nobody.Accept()
			if err != nil {
				return
			}
			tries.Add(1)
			_ = c.Close()
		}
	}()
	way.turn("http://" + nobody.Addr().String())
	eventually(t, "nine tries to connect", func() bool { return tries.Load() >= 9 })
	if e.Healthy() == nil {
		t.Error("a server without etcd is healthy")
	}
	way.turn(url)
	eventually(t, "the server follows again", func() bool { return e.Healthy() == nil })
	if _, err := e.Newest(t.Context()); err != nil {
		t.Error(err)
	}
}
