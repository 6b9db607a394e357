package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// stream is a call on a connection. Its fields are guarded by the connection's mu.
type stream struct {
	m       *multiplex
	id      uint32
	begun   time.Time
	until   time.Time // zero for any
	window  int64
	wake    chan struct{}
	waiting bool // for its answer, or for becoming the reader
	forget  func() bool

	sent   bool // the whole body
	answer *http.Response
	body   []byte // received and not read
	read   int64
	unpaid int
	ended  bool // the server has sent everything
	err    error
}

// mayWrite is the time until which a call writes: until its end, but long enough for
// frames of others that the server reads. After it the connection is over.
func (s *stream) mayWrite() time.Time {
	now := time.Now()
	if least := now.Add(time.Second); s.until.Before(least) {
		return least
	}
	return s.until
}

// signal wakes a call, which looks for what has changed.
func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// end ends a call with an error, if it goes on.
func (s *stream) end(err error) {
	if s.err == nil && !s.ended {
		s.err = err
	}
	s.signal()
}

// cancel ends a call whose time is over.
func (s *stream) cancel(err error) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(err, context.DeadlineExceeded) && m.heard.Before(s.begun) {
		m.retired = true // the connection may be dead: further calls try another
	}
	s.end(err)
	if m.reader == s {
		m.cut = true
		_ = m.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// Read implements io.Reader: the body of the answer.
func (s *stream) Read(p []byte) (int, error) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.await(s, func() bool { return len(s.body) > 0 || s.ended })
	switch {
	case len(s.body) > 0:
		n := copy(p, s.body)
		s.body, s.read = s.body[n:], s.read+int64(n)
		if s.unpaid += n; s.unpaid >= streamWindow/2 && !s.ended {
			m.out = appendUpdate(m.out, s.id, s.unpaid)
			s.unpaid = 0
			m.flush(s)
		}
		return n, nil
	case s.err != nil:
		return 0, s.err
	case s.answer.ContentLength >= 0 && s.read != s.answer.ContentLength:
		return 0, io.ErrUnexpectedEOF
	}
	return 0, io.EOF
}

// Close implements io.Closer: the call is over, whether the answer has been read or not.
func (s *stream) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.leave(s)
	return nil
}
