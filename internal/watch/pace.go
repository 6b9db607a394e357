package watch

import (
	"sync/atomic"
	"time"
)

// The pauses between two waves of a ring. A wave wakes all watchers that wait for the
// ring, and each encrypts and sends: eight microseconds per watcher, and two more for
// each event of 2 KiB. Waves in quicker succession than they can be served cut the same
// bytes into more writes.
const (
	perWatcher = 25 * time.Microsecond
	leastPause = 200 * time.Microsecond
	mostPause  = 50 * time.Millisecond

	enough      = 6                     // changes that make a wave large enough, so that the pause is not prolonged
	mostProlong = 3                     // times
	longest     = 10 * time.Millisecond // bound of a prolonged pause
)

// pace shows the events of a ring to its cursors in waves. It is guarded by
// Hub.mu, except for waiting.
//
// A change after a quiet time is shown at once. One that follows a wave closely is held
// until a pause is over, which grows with the number of watchers that the wave woke; all
// changes until then go out together. If those are few and several clients are writing,
// more will come soon, and the pause is prolonged: by as much again, a few times. The
// watchers of a lone writer do not wait longer. A pause below leastPause is not made: a
// few watchers see every change at once.
//
// Invariant: while changes are held, cursors inside the ring see nothing after shown, and
// a timer will end that.
//
// Example with 100 watchers, so a pause of 2.5 ms: changes by one writer at 0.0,
// 0.4, 0.9 and 3.0 ms make waves at 0.0 with one change, at 2.5 with two, at 5.0
// with one. With four writers, who write more quickly as a rule, the second wave
// comes at 10.0 with three.
type pace struct {
	wake      chan struct{} // closed and replaced by a wave
	waiting   atomic.Int64  // number of waiting cursors
	last      time.Time     // of the last wave
	pause     time.Duration // after that wave; 0 for none
	held      int           // changes
	prolonged int           // times
	shown     uint64
	timer     *time.Timer
}

// announce begins a wave for some changes after a revision, or holds them; due is called
// at the end of the pause.
func (p *pace) announce(changes int, after uint64, due func()) {
	if p.held > 0 {
		p.held += changes
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
	p.held, p.prolonged, p.shown = changes, 0, after
	if p.timer == nil {
		p.timer = time.AfterFunc(left, due)
	} else {
		p.timer.Reset(left)
	}
}

// due prolongs the pause or ends it with a wave.
func (p *pace) due(severalWrite bool) {
	switch {
	case p.held == 0:
	case severalWrite && p.held < enough && p.prolonged < mostProlong && time.Duration(p.prolonged+2)*p.pause <= longest:
		p.prolonged++
		p.timer.Reset(p.pause)
	default:
		p.wave()
	}
}

// wave shows everything and wakes all waiting cursors.
func (p *pace) wave() {
	p.held = 0
	p.last = time.Now()
	if p.pause = min(time.Duration(p.waiting.Swap(0))*perWatcher, mostPause); p.pause < leastPause {
		p.pause = 0
	}
	close(p.wake)
	p.wake = make(chan struct{})
}

// wait returns wake and counts the caller as waiting.
func (p *pace) wait() <-chan struct{} {
	p.waiting.Add(1)
	return p.wake
}

// limit is the revision up to which cursors may see: latest, unless changes are held.
func (p *pace) limit(latest uint64) uint64 {
	if p.held > 0 {
		return p.shown
	}
	return latest
}
