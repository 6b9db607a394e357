package conns

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// sleepers waits for the bytes of many connections in one goroutine. One for each takes
// 4 KiB of stack, a quarter of an idle connection.
//
// Invariant: a connection among them is open: timedConn wakes up before it is closed.
type sleepers struct {
	mu     ranks.Mutex[ranks.Leaf]
	poll   *os.File // epoll, made for the first connection
	fd     int      // of it
	closed bool
	last   int32
	all    map[int32]*timedConn // by number
}

// add reports whether a connection sleeps now. The connection's lock is held, so that
// nothing wakes it meanwhile.
func (s *sleepers) add(c *timedConn, raw syscall.RawConn) (added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.poll == nil && !s.open() {
		return false
	}
	s.last++
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: s.last}
	_ = raw.Control(func(fd uintptr) { added = unix.EpollCtl(s.fd, unix.EPOLL_CTL_ADD, int(fd), &event) == nil })
	if added {
		c.sleeper = s.last
		s.all[c.sleeper] = c
	}
	return added
}

// open makes the epoll. mu is held.
func (s *sleepers) open() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // so that Go waits for it as for a connection
	s.fd, s.poll, s.all = fd, os.NewFile(uintptr(fd), "epoll"), make(map[int32]*timedConn)
	go s.run(s.poll)
	return true
}

// run wakes connections until close.
func (s *sleepers) run(poll *os.File) {
	raw, err := poll.SyscallConn()
	events := make([]unix.EpollEvent, 128)
	for err == nil {
		n := 0
		err = raw.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events, 0)
			return n > 0
		})
		for _, e := range events[:max(n, 0)] {
			s.mu.Lock()
			c := s.all[e.Fd]
			s.mu.Unlock()
			if c != nil {
				c.awake()
			}
		}
	}
}

// remove forgets a connection, whose lock is held.
func (s *sleepers) remove(c *timedConn, raw syscall.RawConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[c.sleeper] != c {
		return
	}
	delete(s.all, c.sleeper)
	if !s.closed {
		_ = raw.Control(func(fd uintptr) { _ = unix.EpollCtl(s.fd, unix.EPOLL_CTL_DEL, int(fd), nil) })
	}
}

// close leaves connections asleep until they are closed.
func (s *sleepers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.poll != nil {
		_ = s.poll.Close()
	}
}
