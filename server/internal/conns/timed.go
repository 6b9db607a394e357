package conns

import (
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// timedConn is an accepted connection, below TLS. Its deadlines cost little and are
// coarse: the sweeper keeps them.
//
// Invariants: a write ends within the sweeper's time for it, with or without a deadline.
// After a failed write nothing is written any more: TLS has counted the record, so the
// next ones would be unreadable.
type timedConn struct {
	net.Conn
	sweeper *Sweeper
	writing atomic.Int64 // the tick after which the present write takes too long; 0 for none
	writeBy atomic.Int64 // the ticks after which writes and reads fail; 0 for none
	readBy  atomic.Int64
	failed  atomic.Bool // a write has failed

	mu      ranks.Mutex[ranks.Inner]
	expired bool   // reads fail: the real connection has a deadline in the past
	wake    func() // see Sleep; nil while it is awake
	sleeper int32  // the number of the last sleep
}

func newTimedConn(c net.Conn, s *Sweeper) *timedConn {
	t := &timedConn{Conn: c, sweeper: s}
	s.add(t)
	return t
}

func (c *timedConn) Write(p []byte) (int, error) {
	if c.failed.Load() {
		return 0, net.ErrClosed
	}
	now := c.sweeper.Now()
	if by := c.writeBy.Load(); by != 0 && now > by {
		c.failed.Store(true)
		return 0, os.ErrDeadlineExceeded
	}
	c.writing.Store(now + c.sweeper.stall)
	n, err := c.Conn.Write(p)
	c.writing.Store(0)
	if err != nil {
		c.failed.Store(true)
	}
	return n, err
}

func (c *timedConn) Close() error {
	c.sweeper.remove(c)
	c.awake()
	return c.Conn.Close()
}

// sweep implements swept.
func (c *timedConn) sweep(now int64) {
	if w := c.writing.Load(); w != 0 {
		if by := c.writeBy.Load(); now > w || by != 0 && now > by {
			c.breakOff()
		}
	}
	if by := c.readBy.Load(); by != 0 && now > by {
		c.expire(now)
	}
}

// breakOff implements swept: a write or read under way fails. Unsent data is discarded.
func (c *timedConn) breakOff() {
	c.failed.Store(true)
	c.awake()
	if tcp, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}

// expire makes reads fail if they are still due.
func (c *timedConn) expire(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if by := c.readBy.Load(); by != 0 && now > by && !c.expired {
		c.expired = true
		_ = c.Conn.SetReadDeadline(Past())
		c.wakeUp()
	}
}

// Past is a deadline in the past.
func Past() time.Time { return time.Unix(1, 0) }

func (c *timedConn) SetDeadline(t time.Time) error {
	_ = c.SetWriteDeadline(t)
	return c.SetReadDeadline(t)
}

func (c *timedConn) SetWriteDeadline(t time.Time) error {
	c.writeBy.Store(c.tick(t))
	return nil
}

func (c *timedConn) SetReadDeadline(t time.Time) error {
	by := c.tick(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy.Store(by)
	if by != 0 && by < c.sweeper.Now() { // net/http ends a read of its own so
		c.expired = true
		c.wakeUp()
		return c.Conn.SetReadDeadline(Past())
	}
	if c.expired {
		c.expired = false
		return c.Conn.SetReadDeadline(time.Time{})
	}
	return nil
}

func (c *timedConn) tick(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return c.sweeper.due(time.Until(t))
}
