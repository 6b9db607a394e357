package conns

import (
	"net"
	"testing"
	"time"
)

// TestSleep: a connection wakes up for all that ends a read, once, and is forgotten, with
// and without epoll.
func TestSleep(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for name, end := range map[string]func(here *timedConn, there net.Conn){
		"bytes":            func(_ *timedConn, there net.Conn) { _, _ = there.Write([]byte("x")) },
		"the other side":   func(_ *timedConn, there net.Conn) { _ = there.Close() },
		"this side":        func(here *timedConn, _ net.Conn) { _ = here.Close() },
		"broken off":       func(here *timedConn, _ net.Conn) { here.breakOff() },
		"a deadline":       func(here *timedConn, _ net.Conn) { _ = here.SetReadDeadline(time.Now().Add(time.Millisecond)) },
		"one that is over": func(here *timedConn, _ net.Conn) { _ = here.SetReadDeadline(Past()) },
	} {
		for _, epoll := range []bool{true, false} {
			for _, early := range []bool{false, true} {
				there, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				accepted, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				s, done, woken := NewSweeper(time.Minute, time.Millisecond), make(chan struct{}), make(chan struct{})
				go s.Run(done)
				if !epoll {
					s.sleepers.close()
				}
				here := newTimedConn(accepted, s)
				sleep := func() { Sleep(&CorkedConn{Conn: here}, func() { close(woken) }) } // a second close panics
				if early {
					end(here, there)
					sleep()
				} else {
					sleep()
					end(here, there)
				}
				select {
				case <-woken:
				case <-time.After(time.Minute):
					t.Errorf("%s: no end of the sleep, epoll %v, early %v", name, epoll, early)
				}
				s.sleepers.mu.Lock()
				if n := len(s.sleepers.all); n > 0 {
					t.Errorf("%s: %d connections are kept, epoll %v, early %v", name, n, epoll, early)
				}
				s.sleepers.mu.Unlock()
				_, _ = here.Close(), there.Close()
				close(done)
			}
		}
	}
}
