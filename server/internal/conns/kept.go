package conns

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// restAfter is the time without a request after which a connection needs little memory.
// Resting and going on costs some 20 us. Memory is given back to the machine later after a burst.
const restAfter = time.Second

// keptConn is a connection over HTTP/1.1 that clients keep for their next request. While it
// waits for that, net/http has two buffers of 4 KiB and the stack of the last request for
// it. So after some time its read fails, and net/http lets it go: Close gives it
// back to the listener, with which it sleeps until its next byte, and which passes it to
// net/http again, as a new keptConn.
//
// Invariant: no byte that was read is lost. A connection is let go only while net/http is
// idle, and its buffer empty: then it reads with as much room as the first time.
//
// Net/http uses the connection in one goroutine at a time. Only Close is called at any
// time, when the server stops, and NoteState while a last read of a closed connection ends.
type keptConn struct {
	*tls.Conn
	listener *Listener
	room     int         // of the first read
	idle     atomic.Bool // until the first byte of the next request
	until    time.Time   // of an idle connection, when it is closed
	letGo    atomic.Int32
}

// The states of letGo.
const (
	inUse = iota
	leaving
	left
)

var errRests = errors.New("the connection waits for its next request")

// NoteState notes which connections are idle: the ConnState of net/http.
func NoteState(c net.Conn, s http.ConnState) {
	if c, ok := c.(*keptConn); ok {
		c.idle.Store(s == http.StateIdle)
	}
}

// SetReadDeadline sets the time at which reads fail. On an idle connection reads fail after
// the listener's resting time already, so that the connection is put to rest without its
// buffers; the sent deadline counts from then on.
func (c *keptConn) SetReadDeadline(t time.Time) error {
	if c.idle.Load() {
		c.until = t
		if soon := time.Now().Add(c.listener.resting); t.IsZero() || soon.Before(t) {
			t = soon
		}
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *keptConn) Read(p []byte) (int, error) {
	if c.room == 0 {
		c.room = len(p)
	}
	n, err := c.Conn.Read(p)
	if !c.idle.Load() {
		return n, err
	}
	late := n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
	if late && len(p) == c.room {
		c.letGo.CompareAndSwap(inUse, leaving)
		return 0, errRests
	}
	c.idle.Store(false)
	_ = c.Conn.SetReadDeadline(c.until)
	if late {
		return c.Conn.Read(p)
	}
	return n, err
}

// Close closes the connection, unless net/http closes it because it rests.
func (c *keptConn) Close() error {
	switch {
	case c.letGo.CompareAndSwap(leaving, left):
		c.listener.rest(c.Conn, c.until)
		return nil
	case c.letGo.Load() == left:
		return nil
	}
	return c.Conn.Close()
}

// rest waits for the next request of a connection.
func (l *Listener) rest(c *tls.Conn, until time.Time) {
	timed := timedOf(c)
	_ = c.SetReadDeadline(until)
	if !l.enter(timed) {
		_ = c.Close()
		return
	}
	timed.sleep(func() {
		if open := l.leave(timed); !open || timed.late() {
			_ = c.Close()
			return
		}
		l.pass(&keptConn{Conn: c, listener: l})
	})
}
