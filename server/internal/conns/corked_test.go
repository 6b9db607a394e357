package conns

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
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

// TestGathered: the writes of several goroutines in HTTP/2 leave in one write, in time for a deadline that is set later, and an error is that of the next write.
func TestGathered(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []int
		calls int
	}{
		{"a head and a body", []int{100, 2000}, 1},
		{"more than the buffer", []int{40 << 10, 40 << 10, 40 << 10}, 3},
		{"one that is larger than the buffer", []int{5, corkedBytes + 1, 5}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &writes{}
				conn := newCorked(w)
				conn.gathers = true
				for round := range 2 {
					var sent []byte
					w.calls = nil
					conn.mu.Lock() // so that no other goroutine sends meanwhile
					for i, n := range c.parts {
						p := bytes.Repeat([]byte{byte('a' + i + round)}, n)
						sent = append(sent, p...)
						if k, err := conn.write(p); k != n || err != nil {
							t.Fatalf("write of %d: %d, %v", n, k, err)
						}
					}
					conn.mu.Unlock()
					synctest.Wait()
					if got := bytes.Join(w.calls, nil); !bytes.Equal(got, sent) {
						t.Errorf("%d bytes arrived, not the %d that were written, in their order", len(got), len(sent))
					}
					if len(w.calls) != c.calls {
						t.Errorf("writes of %v bytes, want %d writes", w.sizes(), c.calls)
					}
					if conn.buf != nil {
						t.Error("the buffer was not given back")
					}
				}
			})
		})
	}
	t.Run("a deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			timed, there := timedPair(t)
			conn := newCorked(timed)
			conn.gathers = true
			arrived := make(chan string)
			go func() {
				text, _ := io.ReadAll(there)
				arrived <- string(text)
			}()
			if _, err := conn.Write([]byte("the last record")); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetWriteDeadline(Past())
			_ = conn.Close()
			if text := <-arrived; text != "the last record" {
				t.Errorf("%q arrived", text)
			}
		})
	})
	t.Run("a deadline for a stuck write", func(t *testing.T) {
		stuck := &stuckConn{writing: make(chan struct{}), deadline: make(chan struct{})}
		conn := newCorked(stuck)
		conn.gathers = true
		if _, err := conn.Write([]byte("nobody reads this")); err != nil {
			t.Fatal(err)
		}
		<-stuck.writing
		set := make(chan struct{})
		go func() {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Hour)) // as TLS before its last record
			close(set)
		}()
		select {
		case <-set:
		case <-time.After(20 * time.Second):
			t.Error("the deadline waits for the write that it is to end")
		}
	})
	t.Run("an error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			broken := errors.New("broken")
			conn := newCorked(&writes{err: broken})
			conn.gathers = true
			_, _ = conn.Write([]byte("x")) // fails or not
			synctest.Wait()
			if _, err := conn.Write([]byte("y")); !errors.Is(err, broken) {
				t.Errorf("the next write says %v", err)
			}
		})
	})
}

// stuckConn is a connection whose writes wait for a deadline.
type stuckConn struct {
	net.Conn
	writing, deadline chan struct{}
}

func (c *stuckConn) Write([]byte) (int, error) {
	close(c.writing)
	<-c.deadline
	return 0, errors.New("late")
}

func (c *stuckConn) SetWriteDeadline(time.Time) error {
	close(c.deadline)
	return nil
}

func newCorked(c net.Conn) *CorkedConn {
	return &CorkedConn{Conn: c, buffers: newBuffers()}
}
