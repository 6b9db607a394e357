package conns

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// CorkedConn is a TCP connection that sends its writes while it is corked in as few
// system calls as its buffer allows. Net/http cuts an answer of more than 4 KiB in pieces
// and TLS makes records of them; without this each would be a system call and wake the
// reader: a twelfth of the cost of a GET of a pod, a tenth of a list.
//
// Only the handler of an answer corks and uncorks it. Reading may write as well (TLS
// answers some records), at any time.
//
// In HTTP/2 nobody corks, and net/http writes the head of an answer, its body and each
// event of a watch by themselves. So a connection gathers writes until another goroutine,
// which the first of them starts, sends them. Goroutines that were ready to run before it,
// as the handlers of watches when an object changes, write first.
type CorkedConn struct {
	net.Conn
	buffers *sync.Pool // of *[]byte, corkedBytes each
	gathers bool       // for HTTP/2

	mu   ranks.Mutex[ranks.Leaf]
	buf  *[]byte // while it is corked; nil otherwise
	lost error   // of a gathered write; the next one fails with it
}

// corkedBytes bounds the bytes of a system call: four full records.
const corkedBytes = 66 << 10

func (t *CorkedConn) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(p)
}

// write is Write while mu is held.
func (t *CorkedConn) write(p []byte) (int, error) {
	if t.lost != nil {
		return 0, t.lost
	}
	if t.buf == nil && t.gathers {
		t.buf = t.buffers.Get().(*[]byte)
		go t.sendGathered()
	}
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

// flush sends the gathered bytes. mu is held.
func (t *CorkedConn) flush() error {
	if len(*t.buf) == 0 {
		return nil
	}
	_, err := t.Conn.Write(*t.buf)
	*t.buf = (*t.buf)[:0]
	return err
}

// Cork delays writes until Uncork. The buffer is borrowed: between answers a connection
// has none. On nil it has no effect.
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

// Uncork sends the delayed writes.
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

func (t *CorkedConn) sendGathered() {
	if err := t.Uncork(); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lost = err
	}
}

// SetWriteDeadline sends gathered writes before a deadline that has passed: TLS sets one
// after its last record. A later deadline is for a write that is stuck too.
func (t *CorkedConn) SetWriteDeadline(at time.Time) error {
	if t.gathers && !at.IsZero() && !at.After(time.Now()) {
		_ = t.Uncork() // the next write fails too
	}
	return t.Conn.SetWriteDeadline(at)
}

// newBuffers is a pool of buffers for corked connections.
func newBuffers() *sync.Pool {
	return &sync.Pool{New: func() any {
		b := make([]byte, 0, corkedBytes)
		return &b
	}}
}

type connKey struct{}

// WithConn lets requests find their connection: the ConnContext of net/http.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := rawConn(c).(*CorkedConn); ok {
		return context.WithValue(ctx, connKey{}, t)
	}
	return ctx
}

// Of returns the connection of a request; nil in HTTP/2, where a connection carries the
// answers of many handlers, and in tests.
func Of(r *http.Request) *CorkedConn {
	if r.ProtoMajor != 1 {
		return nil
	}
	t, _ := r.Context().Value(connKey{}).(*CorkedConn)
	return t
}

// rawConn is the connection below TLS: closing that does not block.
func rawConn(c net.Conn) net.Conn {
	if c, ok := c.(interface{ NetConn() net.Conn }); ok { // *tls.Conn, *keptConn
		return c.NetConn()
	}
	return c
}

// GoneError reports an answer that could not be written because the client has gone.
type GoneError struct{ Cause error }

func (e *GoneError) Error() string { return "the client is gone: " + e.Cause.Error() }

func (e *GoneError) Unwrap() error { return e.Cause }
