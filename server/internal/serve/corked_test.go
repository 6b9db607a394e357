package serve_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// countingListener counts the writes of all its connections.
type countingListener struct {
	net.Listener
	writes *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.writes}, err
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func TestAnswerIsOneWrite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	h := harness.Start(t, func(c *server.Config) { c.Listener = countingListener{l, &writes} })
	text := strings.Repeat("0123456789", 900)
	h.Post(harness.ConfigMaps, `{"metadata":{"name":"large"},"data":{"text":"`+text+`"}}`).Expect(t, http.StatusCreated, "")
	for range 200 { // until TLS makes records of full size
		h.Get(harness.ConfigMaps+"/large").Expect(t, http.StatusOK, "")
	}
	before := writes.Load()
	for range 10 {
		h.Get(harness.ConfigMaps+"/large").Expect(t, http.StatusOK, "")
	}
	if n := writes.Load() - before; n != 10 {
		t.Errorf("10 answers of 9 KB left in %d writes", n)
	}
}
