package outbound

import (
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Lane is the connections to a server, or to servers of one kind, with credentials that may
// change. When they have changed, and when the lane is closed, the connections of before end
// with their last request. It is safe for concurrent use.
type Lane[C comparable] struct {
	connect func(credentials C) (*Transports, error)

	mu     ranks.Mutex[ranks.Inner]
	with   C      // the credentials of made
	made   *Lease // nil for none
	closed bool
}

// NewLane makes a lane. connect makes the transports for credentials, and does not dial.
func NewLane[C comparable](connect func(credentials C) (*Transports, error)) *Lane[C] {
	return &Lane[C]{connect: connect}
}

// Lease is the use of transports by requests. Whoever has begun calls End.
type Lease struct {
	*Transports              // nil with Err
	Err         error        // the reason why there are none
	users       atomic.Int64 // requests that have begun and not ended
	retired     atomic.Bool  // connections are closed with the last of them
}

// Begin begins a request with the present credentials. One that is late, after Close, has
// connections of its own.
func (l *Lane[C]) Begin(credentials C) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		own := l.lease(credentials)
		own.users.Store(1)
		own.retired.Store(true)
		return own
	}
	if l.made == nil || l.with != credentials {
		if l.made != nil {
			l.made.retire()
		}
		l.with, l.made = credentials, l.lease(credentials)
	}
	l.made.users.Add(1)
	return l.made
}

func (l *Lane[C]) lease(credentials C) *Lease {
	t, err := l.connect(credentials)
	return &Lease{Transports: t, Err: err}
}

// Close ends the connections, those in use when their requests end.
func (l *Lane[C]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.made != nil {
		l.made.retire()
	}
}

// retire lets nobody else begin.
func (l *Lease) retire() {
	l.retired.Store(true)
	l.closeUnused()
}

// End notes that the answer to a request has been read, or given up.
func (l *Lease) End() {
	l.users.Add(-1)
	l.closeUnused()
}

// closeUnused closes retired connections that nobody uses any more.
func (l *Lease) closeUnused() {
	if l.retired.Load() && l.users.Load() == 0 && l.Transports != nil {
		l.Close()
	}
}
