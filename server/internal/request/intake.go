package request

import (
	"context"
	"sync/atomic"
)

// Intake counts the requests under way, until it is closed: then it accepts none.
type Intake struct {
	count  atomic.Int64
	closed atomic.Bool
	idle   chan struct{} // room for one: gets a value when the last request has ended
}

// begin reports whether a request is accepted; then done must be called at its end.
func (i *Intake) begin() bool {
	i.count.Add(1)
	if i.closed.Load() {
		i.done()
		return false
	}
	return true
}

func (i *Intake) done() {
	if i.count.Add(-1) == 0 && i.closed.Load() {
		select {
		case i.idle <- struct{}{}:
		default:
		}
	}
}

// Close lets no further request begin.
func (i *Intake) Close() { i.closed.Store(true) }

// Drain returns when all requests have ended, or ctx has. The intake is closed.
func (i *Intake) Drain(ctx context.Context) {
	for i.count.Load() > 0 {
		select {
		case <-i.idle:
		case <-ctx.Done():
			return
		}
	}
}
