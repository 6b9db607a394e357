// Package conns keeps the connections of clients quick and honest: an answer leaves in
// few system calls, and nothing waits for a client longer than it may.
package conns

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// CorkedConn is a TCP connection that sends what is written while it is corked in as
// few system calls as its buffer allows. Net/http cuts an answer of more than 4 KiB
// in pieces and TLS makes records of them; without this each would be a system call
// and wake the reader: a twelfth of what a GET of a pod costs, a tenth of a list.
//
// Only the handler of an answer corks and uncorks it. Reading may write as well
// (TLS answers some records), at any time.
type CorkedConn struct {
	net.Conn
	buffers *sync.Pool // of *[]byte, corkedBytes each

	mu  sync.Mutex
	buf *[]byte // while it is corked; nil otherwise
}

// corkedBytes is what a system call takes at most: four full records.
const corkedBytes = 66 << 10

func (t *CorkedConn) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf == nil {
		return t.Conn.Write(p)
	}
	if len(*t.buf)+len(p) > corkedBytes {
		if err := t.flush(); err != nil {
			return 0, err
		}
		if len(p) > corkedBytes {
			return t.Conn.Write(p)
		}
	}
	*t.buf = append(*t.buf, p...)
	return len(p), nil
}

// flush sends what was gathered. mu is held.
func (t *CorkedConn) flush() error {
	if len(*t.buf) == 0 {
		return nil
	}
	_, err := t.Conn.Write(*t.buf)
	*t.buf = (*t.buf)[:0]
	return err
}

// Cork lets writes wait for Uncork. The buffer is borrowed: between answers a
// connection has none. It does nothing for nil.
func (t *CorkedConn) Cork() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf == nil {
		t.buf = t.buffers.Get().(*[]byte)
	}
}

// Uncork sends what has waited.
func (t *CorkedConn) Uncork() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf == nil {
		return nil
	}
	err := t.flush()
	t.buffers.Put(t.buf)
	t.buf = nil
	return err
}

// listener makes the connections that it accepts corked ones, and watches over their
// deadlines.
type listener struct {
	net.Listener
	sweeper *Sweeper
	buffers *sync.Pool
}

// NewListener accepts connections from l that Of finds, and that end when the sweeper
// finds them late.
func NewListener(l net.Listener, s *Sweeper) net.Listener {
	return listener{l, s, newBuffers()}
}

// newBuffers are those of corked connections.
func newBuffers() *sync.Pool {
	return &sync.Pool{New: func() any {
		b := make([]byte, 0, corkedBytes)
		return &b
	}}
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &CorkedConn{Conn: newTimedConn(c, l.sweeper), buffers: l.buffers}, nil
}

type connKey struct{}

// WithConn lets requests find their connection: the ConnContext of net/http.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := rawConn(c).(*CorkedConn); ok {
		return context.WithValue(ctx, connKey{}, t)
	}
	return ctx
}

// Of is the connection of a request; nil in HTTP/2, which writes the answers of many
// handlers, and in tests.
func Of(r *http.Request) *CorkedConn {
	if r.ProtoMajor != 1 {
		return nil
	}
	t, _ := r.Context().Value(connKey{}).(*CorkedConn)
	return t
}

// rawConn is the connection below TLS: closing that waits for nothing.
func rawConn(c net.Conn) net.Conn {
	if c, ok := c.(*tls.Conn); ok {
		return c.NetConn()
	}
	return c
}

// GoneError reports an answer that cannot be written because the client went away.
type GoneError struct{ Cause error }

func (e *GoneError) Error() string { return "the client is gone: " + e.Cause.Error() }

func (e *GoneError) Unwrap() error { return e.Cause }
