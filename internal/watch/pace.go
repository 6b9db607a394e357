package watch

import (
	"sync/atomic"
	"time"
)

// How long a ring waits between two waves. A wave is a wake-up of all who wait
// for a ring, each of whom encrypts and sends; waves that follow each other more
// quickly than they can be served only cut the same bytes into more writes.
const (
	perWatcher = 25 * time.Microsecond // what serving one takes, roughly
	leastPause = 200 * time.Microsecond
	mostPause  = 3 * time.Millisecond
)

// pace shows the events of a ring to its cursors in waves. It is guarded by
// Hub.mu, except for waiting.
//
// A change after a quiet time is shown at once. One that comes soon after a wave
// is held until the pause for that wave is over, which grows with the number of
// watchers that it woke; all changes until then go out together. With less than
// leastPause to gain nothing is held: a few watchers see every change at once.
//
// Invariant: while held is set, cursors inside the ring see nothing after shown,
// and the timer will end that.
//
// Example with 100 watchers, so a pause of 2.5 ms: changes at 0.0, 0.4, 0.9 and
// 3.0 ms make waves at 0.0 with one change, at 2.5 with two, at 5.0 with one.
type pace struct {
	wake    chan struct{} // closed and replaced by a wave
	waiting atomic.Int64  // how often wake was given out
	last    time.Time     // of the last wave
	pause   time.Duration // after the last wave
	held    bool
	shown   uint64
	timer   *time.Timer
}

// announce begins a wave for changes after a revision, or holds them; release is
// called when the time has come.
func (p *pace) announce(after uint64, release func()) {
	if p.held {
		return
	}
	var left time.Duration
	if p.pause > 0 {
		left = p.pause - time.Since(p.last)
	}
	if left <= 0 {
		p.wave()
		return
	}
	p.held, p.shown = true, after
	if p.timer == nil {
		p.timer = time.AfterFunc(left, release)
	} else {
		p.timer.Reset(left)
	}
}

// wave shows everything and wakes all who wait.
func (p *pace) wave() {
	p.held = false
	p.pause = min(time.Duration(p.waiting.Swap(0))*perWatcher, mostPause)
	if p.pause < leastPause {
		p.pause = 0
	} else {
		p.last = time.Now()
	}
	close(p.wake)
	p.wake = make(chan struct{})
}

// wait gives out wake.
func (p *pace) wait() <-chan struct{} {
	p.waiting.Add(1)
	return p.wake
}

// limit is up to where cursors may see: latest, unless something is held.
func (p *pace) limit(latest uint64) uint64 {
	if p.held {
		return p.shown
	}
	return latest
}
