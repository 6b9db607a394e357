package conns

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// writes is a connection that records its writes, call by call.
type writes struct {
	net.Conn
	calls [][]byte
	err   error
}

func (w *writes) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.calls = append(w.calls, bytes.Clone(p))
	return len(p), nil
}

func (w *writes) sizes() (sizes []int) {
	for _, c := range w.calls {
		sizes = append(sizes, len(c))
	}
	return sizes
}

func TestCorked(t *testing.T) {
	part := func(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }
	for _, c := range []struct {
		name   string
		parts  []int
		corked bool
		calls  int
	}{
		{"not corked", []int{10, 20}, false, 2},
		{"one answer", []int{4096, 3600, 1}, true, 1},
		{"nothing", nil, true, 0},
		{"more than the buffer", []int{40 << 10, 40 << 10, 40 << 10}, true, 3},
		{"one that is larger than the buffer", []int{5, corkedBytes + 1, 5}, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &writes{}
			conn := newCorked(w)
			if c.corked {
				conn.Cork()
			}
			var sent []byte
			for i, n := range c.parts {
				p := part(byte('a'+i), n)
				sent = append(sent, p...)
				if k, err := conn.Write(p); k != n || err != nil {
					t.Fatalf("write of %d: %d, %v", n, k, err)
				}
			}
			if err := conn.Uncork(); err != nil {
				t.Fatal(err)
			}
			if got := bytes.Join(w.calls, nil); !bytes.Equal(got, sent) {
				t.Errorf("%d bytes arrived, not the %d that were written, in their order", len(got), len(sent))
			}
			if len(w.calls) != c.calls {
				t.Errorf("writes of %v bytes, want %d writes", w.sizes(), c.calls)
			}
			if conn.buf != nil {
				t.Error("the buffer was not given back")
			}
		})
	}
}

func TestCorkedFails(t *testing.T) {
	broken := errors.New("broken")
	conn := newCorked(&writes{err: broken})
	conn.Cork()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Errorf("a corked write says %v before it is tried", err)
	}
	if err := conn.Uncork(); !errors.Is(err, broken) {
		t.Errorf("uncorking says %v", err)
	}
	conn.Cork()
	for i := 0; ; i++ {
		if _, err := conn.Write(make([]byte, 32<<10)); err != nil {
			break
		} else if i > 2 {
			t.Fatal("the buffer grew without an error")
		}
	}
	_ = conn.Uncork()
}

func newCorked(c net.Conn) *CorkedConn {
	return &CorkedConn{Conn: c, buffers: newBuffers()}
}
