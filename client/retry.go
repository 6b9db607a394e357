package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// mostRetries is how often a request is repeated that the server puts off.
const mostRetries = 10

// RetryAfter is the time after which the server wants to see the request again, by its
// answer; false when it does not say.
func RetryAfter(err error) (time.Duration, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return 0, false
	}
	if e.retryAfter > 0 {
		return e.retryAfter, true
	}
	if e.Details != nil && e.Details.RetryAfterSeconds > 0 {
		return time.Duration(e.Details.RetryAfterSeconds) * time.Second, true
	}
	return 0, false
}

// repeats reports whether a request is sent again, and after which time: if the server has a
// header that says so, and has done nothing, as reads never do.
func repeats(method string, err error) (time.Duration, bool) {
	var e *Error
	if !errors.As(err, &e) || e.retryAfter == 0 {
		return 0, false
	}
	refused := e.Code == http.StatusTooManyRequests || e.Code == http.StatusServiceUnavailable
	return e.retryAfter, refused || method == http.MethodGet && e.Code >= 500
}

// parseRetryAfter reads a Retry-After header: seconds or a time; 0 for none.
func parseRetryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return max(time.Duration(seconds)*time.Second, time.Millisecond)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(time.Until(at), time.Millisecond)
	}
	return 0
}

// backoff waits longer each time, up to a bound.
type backoff struct{ least, most, next time.Duration }

func (b *backoff) sleep(ctx context.Context) error {
	b.next = min(max(2*b.next, b.least), b.most)
	return sleep(ctx, b.next/2+rand.N(b.next/2+1))
}

// sleep waits, or returns the reason why ctx has ended before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
