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

// place is one that a request takes; the zero place is not counted.
type place struct{ count *atomic.Int64 }

// leave gives the place back.
func (p place) leave() {
	if p.count != nil {
		p.count.Add(-1)
	}
}

// enter takes a place, or answers 429 when there is none.
func (l *limits) enter(r *request) (place, error) {
	if r.target.open || r.longRunning() {
		return place{}, nil
	}
	count, limit := &l.reading, l.maxReading
	if r.mutating() {
		count, limit = &l.mutating, l.maxMutating
	}
	if n := count.Add(1); limit > 0 && n > limit {
		count.Add(-1)
		return place{}, api.TooManyRequests(1)
	}
	return place{count}, nil
}
