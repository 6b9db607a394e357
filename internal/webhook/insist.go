package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Caller calls a webhook (Client).
type Caller interface {
	Call(ctx context.Context, call Call) ([]byte, error)
}

// Tries bounds the calls of Insist.
const Tries = 5

// Insist calls a webhook until it answers, at most Tries times, since a connection may
// break and a server be busy. A call that timed out, or was refused, is not repeated. The
// pause grows by half each time.
func Insist(ctx context.Context, c Caller, call Call, pause time.Duration) (answer []byte, err error) {
	for try := 1; ; try++ {
		if answer, err = c.Call(ctx, call); err == nil || try == Tries || ctx.Err() != nil || !passing(err) {
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause += pause / 2
	}
}

// passing reports whether a failure may be over with the next call.
func passing(err error) bool {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Code >= http.StatusInternalServerError || refused.Code == http.StatusTooManyRequests
	}
	return !errors.Is(err, context.DeadlineExceeded)
}
