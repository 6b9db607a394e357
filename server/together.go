package server

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// together is a TCP connection that sends what is written while it is held in as
// few system calls as its buffer allows. Net/http cuts an answer of more than 4 KiB
// in pieces and TLS makes records of them; without this each would be a system call
// and wake the reader: a twelfth of what a GET of a pod costs, a tenth of a list.
//
// Only the handler of an answer holds and releases it. Reading may write as well
// (TLS answers some records), at any time.
type together struct {
	net.Conn
	buffers *sync.Pool // of *[]byte, togetherBytes each

	mu  sync.Mutex
	buf *[]byte // while it is held; nil otherwise
}

// togetherBytes is what a system call takes at most: four full records.
const togetherBytes = 66 << 10

func (t *together) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf == nil {
		return t.Conn.Write(p)
	}
	if len(*t.buf)+len(p) > togetherBytes {
		if err := t.flush(); err != nil {
			return 0, err
		}
		if len(p) > togetherBytes {
			return t.Conn.Write(p)
		}
	}
	*t.buf = append(*t.buf, p...)
	return len(p), nil
}

// flush sends what was gathered. mu is held.
func (t *together) flush() error {
	if len(*t.buf) == 0 {
		return nil
	}
	_, err := t.Conn.Write(*t.buf)
	*t.buf = (*t.buf)[:0]
	return err
}

// hold lets writes wait for release. The buffer is borrowed: between answers a
// connection has none. It does nothing for nil.
func (t *together) hold() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf == nil {
		t.buf = t.buffers.Get().(*[]byte)
	}
}

// release sends what has waited.
func (t *together) release() error {
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

// togetherListener makes the connections that it accepts such ones, and watches
// over their deadlines.
type togetherListener struct {
	net.Listener
	sweeper *sweeper
	buffers *sync.Pool
}

func newTogetherListener(l net.Listener, s *sweeper) togetherListener {
	return togetherListener{l, s, &sync.Pool{New: func() any {
		b := make([]byte, 0, togetherBytes)
		return &b
	}}}
}

func (l togetherListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &together{Conn: newTimedConn(c, l.sweeper), buffers: l.buffers}, nil
}

type togetherKey struct{}

// withTogether lets requests find their connection.
func withTogether(ctx context.Context, c net.Conn) context.Context {
	if t, ok := rawConn(c).(*together); ok {
		return context.WithValue(ctx, togetherKey{}, t)
	}
	return ctx
}

// togetherOf is the connection of a request; nil in HTTP/2, which writes the
// answers of many handlers, and in tests.
func togetherOf(r *http.Request) *together {
	if r.ProtoMajor != 1 {
		return nil
	}
	t, _ := r.Context().Value(togetherKey{}).(*together)
	return t
}
