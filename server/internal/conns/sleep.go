package conns

import (
	"errors"
	"net"
	"syscall"
)

// Sleep calls wake in a goroutine when a read of the connection would not wait: there
// are bytes, it is closed, or its deadline has passed. Where that cannot be known it does so at
// once. It may be called again then. Thousands of connections sleep without a goroutine
// for each.
func Sleep(c net.Conn, wake func()) {
	if t := timedOf(c); t != nil {
		t.sleep(wake)
	} else {
		go wake()
	}
}

// timedOf is the connection below TLS if it is one that can sleep, else nil.
func timedOf(c net.Conn) *timedConn {
	corked, ok := rawConn(c).(*CorkedConn)
	if !ok {
		return nil
	}
	timed, ok := corked.Conn.(*timedConn)
	if !ok {
		return nil
	}
	if _, ok = timed.Conn.(syscall.Conn); !ok {
		return nil
	}
	return timed
}

func (c *timedConn) sleep(wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, err := c.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		go wake() // it is closed
		return
	}
	c.wake = wake
	if c.expired || !c.sweeper.sleepers.add(c, raw) {
		go func() {
			_ = raw.Read(hasBytes) // the error is that of the next read
			c.awake()
		}()
	}
}

// awake ends a sleep.
func (c *timedConn) awake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakeUp()
}

// wakeUp is awake while mu is held.
func (c *timedConn) wakeUp() {
	if c.wake == nil {
		return
	}
	if raw, err := c.Conn.(syscall.Conn).SyscallConn(); err == nil {
		c.sweeper.sleepers.remove(c, raw)
	}
	go c.wake()
	c.wake = nil
}

// late reports whether the deadline of reads has passed.
func (c *timedConn) late() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expired
}

// hasBytes reports whether a read from a file would not wait.
func hasBytes(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return !errors.Is(err, syscall.EAGAIN)
}
