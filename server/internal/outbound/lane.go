package outbound

import "github.com/capstan-dev/capstan/internal/ranks"

// Lane is the connections to a server, or to servers of one kind, with credentials that may
// change. When they have changed, and when the lane is closed, the connections of before end
// with their last request. It is safe for concurrent use.
type Lane[C comparable] struct {
	connect func(credentials C) *Transports

	mu     ranks.Mutex[ranks.Inner]
	with   C           // the credentials of made
	made   *Transports // nil for none
	closed bool
}

// NewLane makes a lane. connect makes the transports for credentials, and does not dial.
func NewLane[C comparable](connect func(credentials C) *Transports) *Lane[C] {
	return &Lane[C]{connect: connect}
}

// Begin begins a request with the present credentials. Its sender calls End. One that is
// late, after Close, has connections of its own.
func (l *Lane[C]) Begin(credentials C) *Transports {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		own := l.connect(credentials)
		own.conns.Begin()
		own.conns.Retire()
		return own
	}
	if l.made == nil || l.with != credentials {
		if l.made != nil {
			l.made.conns.Retire()
		}
		l.with, l.made = credentials, l.connect(credentials)
	}
	l.made.conns.Begin()
	return l.made
}

// Close ends the connections, those in use when their requests end.
func (l *Lane[C]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.made != nil {
		l.made.conns.Retire()
	}
}
