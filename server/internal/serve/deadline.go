package serve

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// deadline is the context of a request with a limit of time. It differs from that of
// context.WithTimeout in its cost: the timer is made when somebody waits for the end,
// which few requests do.
type deadline struct {
	context.Context // of the connection
	at              time.Time

	mu     ranks.Mutex[ranks.Leaf]
	waited context.Context // with the timer, nil until Done
	cancel context.CancelFunc
	ended  bool
}

var _ context.Context = (*deadline)(nil)

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if earlier, ok := d.Context.Deadline(); ok && earlier.Before(d.at) {
		return earlier, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waited == nil {
		d.waited, d.cancel = context.WithDeadline(d.Context, d.at)
		if d.ended {
			d.cancel()
		}
	}
	return d.waited.Done()
}

// Err implements context.Context.
func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.waited != nil:
		return d.waited.Err()
	case d.ended:
		return context.Canceled
	case d.Context.Err() != nil:
		return d.Context.Err()
	case !time.Now().Before(d.at):
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context. Contexts made of this one find the one with the timer,
// and need no goroutine to follow it.
func (d *deadline) Value(key any) any {
	d.mu.Lock()
	from := d.Context
	if d.waited != nil {
		from = d.waited
	}
	d.mu.Unlock()
	return from.Value(key)
}

// end cancels the context.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	if d.cancel != nil {
		d.cancel()
	}
}
