package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/conns"
)

// leastBodyRate is how fast a body must arrive on average, in bytes a second.
const leastBodyRate = 16 << 10

// receive reads the whole body of a request, up to the limit of bytes that it may
// have. Nothing has been done for the request yet, and it has no place among
// those in flight: a body that comes slowly, or never, is in nobody's way. It is
// given up when it is too slow, or when the server stops.
func (s *Server) receive(r *request, room *place) error {
	r.owed = false
	limit, length := s.cfg.MaxRequestBytes, r.http.ContentLength
	if length > limit {
		r.owed = true
		return api.TooLarge(limit)
	}
	control := http.NewResponseController(r.w)
	guard := s.sweeper.GuardEarly(func() { _ = control.SetReadDeadline(conns.Past()) })
	defer guard.Release()
	if s.intake.closed.Load() { // since it was taken on
		return shuttingDown()
	}
	begun := s.sweeper.Now()
	src := io.LimitReader(r.http.Body, limit+1)
	if length < 0 {
		length = 512
	}
	body := make([]byte, 0, min(length+1, small))
	for {
		if len(body) == cap(body) {
			grown := min(max(length, int64(2*cap(body))), limit) + 1
			if grown > small {
				if err := s.limits.bodies.take(room, r.user, grown); err != nil {
					r.owed = true
					return err
				}
			}
			body = append(make([]byte, 0, grown), body...)
		}
		guard.Due(begun, s.bodyTime(len(body)))
		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			r.owed = true
			return api.TooLarge(limit)
		case err == io.EOF:
			if !guard.Release() { // the context of the request ends, as if the client had gone
				return s.notReceived(os.ErrDeadlineExceeded)
			}
			r.body = body
			return nil
		case err != nil:
			return s.notReceived(err)
		}
	}
}

// bodyTime is how long a body may take of which so many bytes have arrived.
func (s *Server) bodyTime(bytes int) time.Duration {
	return min(s.cfg.durations.Body+time.Duration(bytes)*(time.Second/leastBodyRate), s.cfg.RequestTimeout)
}

// notReceived says why a body has not arrived.
func (s *Server) notReceived(err error) error {
	switch {
	case s.intake.closed.Load():
		return shuttingDown()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &api.Error{Code: http.StatusRequestTimeout, Reason: api.ReasonTimeout, HasDetails: true, Message: "the body of the request did not arrive in time; nothing was done, send it again"}
	}
	return api.BadRequest("the body could not be read: %v", err)
}

func shuttingDown() *api.Error {
	return &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: "the server is shutting down", RetryAfter: 1}
}

// dismiss prepares the answer to a request whose body is not read. In HTTP/1
// net/http waits for it, to use the connection again: not for long, and for
// somebody unknown it is not used again.
func (s *Server) dismiss(r *request) {
	if !r.owed || r.http.ProtoMajor != 1 {
		return
	}
	r.owed = false
	wait := s.cfg.durations.Body
	if r.user == nil || r.user.Name == authn.UserAnonymous {
		r.w.Header().Set("Connection", "close")
		wait = s.cfg.durations.Owed
	}
	_ = http.NewResponseController(r.w).SetReadDeadline(time.Now().Add(wait))
}
