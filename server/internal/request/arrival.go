package request

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/conns"
)

// leastBodyRate is the least average speed of a body, in bytes a second.
const leastBodyRate = 16 << 10

// Receive reads the whole body of a request, up to its limit of bytes. The request has
// had no effect yet, and no slot among those in flight: a body that comes slowly, or
// never, delays no other request. It is given up when it is too slow, or when the server
// stops.
func (env *Env) Receive(r *Request, room *BodyRoom) error {
	r.owed = false
	limit, length := env.cfg.MaxRequestBytes, r.HTTP.ContentLength
	if length > limit {
		r.owed = true
		return api.TooLarge(limit)
	}
	if length == 0 && !env.Intake.closed.Load() {
		r.Span.Sized("limitedReadBody succeeded", 0)
		return nil
	}
	control := http.NewResponseController(r.Writer)
	guard := env.sweeper.GuardEarly(func() { _ = control.SetReadDeadline(conns.Past()) })
	defer guard.Release()
	if env.Intake.closed.Load() { // since the request began
		return env.ShuttingDown()
	}
	begun := env.sweeper.Now()
	if length < 0 {
		length = 512
	}
	body := make([]byte, 0, min(length+1, small))
	for {
		if len(body) == cap(body) {
			grown := min(max(length, int64(2*cap(body))), limit) + 1
			if grown > small {
				if err := env.limits.bodies.Take(&room.bytes, r.User, grown); err != nil {
					r.owed = true
					return err
				}
			}
			body = append(make([]byte, 0, grown), body...)
		}
		guard.Due(begun, env.bodyTime(len(body)))
		n, err := r.HTTP.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			r.owed = true
			return api.TooLarge(limit)
		case err == io.EOF:
			if !guard.Release() { // the context of the request ends, as if the client had gone
				return env.notReceived(os.ErrDeadlineExceeded)
			}
			r.Body = body
			r.Span.Sized("limitedReadBody succeeded", len(body))
			return env.price(r, room)
		case err != nil:
			return env.notReceived(err)
		}
	}
}

// price takes the room of the values in a large body, before they are read. In the binary
// form they are bounded as they are read.
func (env *Env) price(r *Request, room *BodyRoom) error {
	if len(r.Body) <= small {
		return nil
	}
	values := bytes.Count(r.Body, []byte{','}) + bytes.Count(r.Body, []byte{'\n'})
	return env.limits.values.Take(&room.values, r.User, int64(min(values, len(r.Body)/2)))
}

// bodyTime is the time that a body with so many bytes may take.
func (env *Env) bodyTime(bytes int) time.Duration {
	return min(env.cfg.Body+time.Duration(bytes)*(time.Second/leastBodyRate), env.cfg.RequestTimeout)
}

// notReceived explains why a body has not arrived.
func (env *Env) notReceived(err error) error {
	switch {
	case env.Intake.closed.Load():
		return env.ShuttingDown()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &api.Error{Code: http.StatusRequestTimeout, Reason: api.ReasonTimeout, HasDetails: true,
			Message: "the body of the request did not arrive in time; nothing was done, send it again"}
	}
	return api.BadRequest("the body could not be read: %v", err)
}

// ShuttingDown refuses a request of a server that stops.
func (env *Env) ShuttingDown() *api.Error {
	if env.cfg.ShutdownSendRetryAfter {
		e := api.TooManyRequests(5)
		e.Message = "The apiserver is shutting down, please try again later."
		return e
	}
	return &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: "apiserver is shutting down", RetryAfter: 1}
}

// Dismiss prepares the answer to a request whose body is not read. In HTTP/1 net/http
// waits for it, to reuse the connection: not for long, and the connection of an
// unauthenticated client is not reused.
func (env *Env) Dismiss(r *Request) {
	if !r.owed || r.HTTP.ProtoMajor != 1 {
		return
	}
	r.owed = false
	wait := env.cfg.Body
	if r.User == nil || r.User.Name == authn.UserAnonymous {
		r.Writer.Header().Set("Connection", "close")
		wait = env.cfg.Owed
	}
	_ = http.NewResponseController(r.Writer).SetReadDeadline(time.Now().Add(wait))
}
