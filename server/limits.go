package server

import (
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
)

// limits bounds the requests in flight, reading and writing apart. Long-running
// requests (watches) are not counted: they hold next to nothing.
type limits struct {
	reading, mutating       atomic.Int64
	maxReading, maxMutating int64 // 0 for no limit
}

// enter takes a place, or answers 429 when there is none. leave gives it back.
func (l *limits) enter(r *request) (leave func(), err error) {
	if r.target.open || r.longRunning() {
		return func() {}, nil
	}
	count, limit := &l.reading, l.maxReading
	if r.mutating() {
		count, limit = &l.mutating, l.maxMutating
	}
	if n := count.Add(1); limit > 0 && n > limit {
		count.Add(-1)
		return nil, api.TooManyRequests(1)
	}
	return func() { count.Add(-1) }, nil
}
