package watch

import (
	"sync/atomic"
	"time"
)

// How long a ring waits between two waves. A wave is a wake-up of all who wait
// for a ring, each of whom encrypts and sends: eight microseconds whatever is
// sent, and two more for each event of 2 KiB. Waves that follow each other more
// quickly than they can be served cut the same bytes into more writes.
const (
	perWatcher = 25 * time.Microsecond
	leastPause = 200 * time.Microsecond
	mostPause  = 50 * time.Millisecond

	enough      = 6                     // changes that make up a wave for which the pause need not be prolonged
	mostProlong = 3                     // times
	longest     = 10 * time.Millisecond // of a pause that was prolonged
)

// pace shows the events of a ring to its cursors in waves. It is guarded by
// Hub.mu, except for waiting.
//
// A change after a quiet time is shown at once. One that comes soon after a wave
// is held until a pause is over, which grows with the number of watchers that
// the wave woke; all changes until then go out together. If those are few and
// several clients are writing, more will come soon, and the pause is prolonged:
// by as much again, some times. A lone writer's watchers are not kept waiting.
// With less than leastPause to gain nothing is held: a few watchers see every
// change at once.
//
// Invariant: while changes are held, cursors inside the ring see nothing after
// shown, and the timer will end that.
//
// Example with 100 watchers, so a pause of 2.5 ms: changes by one writer at 0.0,
// 0.4, 0.9 and 3.0 ms make waves at 0.0 with one change, at 2.5 with two, at 5.0
// with one. With four writers, who write more quickly as a rule, the second wave
// comes at 10.0 with three.
type pace struct {
	wake      chan struct{} // closed and replaced by a wave
	waiting   atomic.Int64  // how often wake was given out
	last      time.Time     // of the last wave
	pause     time.Duration // after it; 0 for none
	held      int           // changes
	prolonged int           // times
	shown     uint64
	timer     *time.Timer
}

// announce begins a wave for some changes after a revision, or holds them; due
// is called when the pause is over.
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

// due is what happens when the pause is over.
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

// wave shows everything and wakes all who wait.
func (p *pace) wave() {
	p.held = 0
	p.last = time.Now()
	if p.pause = min(time.Duration(p.waiting.Swap(0))*perWatcher, mostPause); p.pause < leastPause {
		p.pause = 0
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
	if p.held > 0 {
		return p.shown
	}
	return latest
}
