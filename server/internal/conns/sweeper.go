package conns

import (
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Sweeper ends operations that take too long: writes that a client does not read, and
// reads of bytes that it does not send. A deadline of the network that is set and cleared
// around every write costs a good part of a small one, and one that is left in place
// fires while nothing is written. So an operation that may take too long notes when it is
// due, which costs next to nothing, and the sweeper checks all notes periodically.
//
// Time is counted in ticks, one for each check. So after the whole process stood still
// for a while, an operation that was in time still has the ticks it had left.
type Sweeper struct {
	period time.Duration // of a tick
	ticks  atomic.Int64
	stall  int64 // ticks that a write may take

	sleepers sleepers

	mu     ranks.Mutex[ranks.Derived]
	all    map[swept]struct{}
	broken bool // see BreakOff
}

// swept is an operation that the sweeper checks.
type swept interface {
	// sweep ends the operation if it is due. It does not block.
	sweep(now int64)
	// breakOff ends the operation. It does not block.
	breakOff()
}

// sweepsPerStall is the number of ticks in the shortest watched time.
const sweepsPerStall = 16

// NewSweeper makes a sweeper for writes that may take as long as stall; no other watched
// time should be much shorter than shortest.
func NewSweeper(stall, shortest time.Duration) *Sweeper {
	period := max(min(stall, shortest)/sweepsPerStall, time.Millisecond)
	s := &Sweeper{period: period, stall: int64(stall / period), all: make(map[swept]struct{})}
	s.ticks.Store(2) // 0 means never due
	return s
}

// Run sweeps until done is closed.
func (s *Sweeper) Run(done <-chan struct{}) {
	tick := time.NewTicker(s.period)
	defer tick.Stop()
	defer s.sleepers.close()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			s.sweep()
		}
	}
}

func (s *Sweeper) sweep() {
	now := s.ticks.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		w.sweep(now)
	}
}

// Now is the number of the current tick.
func (s *Sweeper) Now() int64 { return s.ticks.Load() }

// due is the tick after which d has passed.
func (s *Sweeper) due(d time.Duration) int64 {
	if d <= 0 {
		return s.Now() - 1
	}
	return s.Now() + s.span(d)
}

// span is the number of ticks of a time.
func (s *Sweeper) span(d time.Duration) int64 { return int64((d + s.period - 1) / s.period) }

func (s *Sweeper) add(w swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[w] = struct{}{}
	if s.broken {
		w.breakOff()
	}
}

func (s *Sweeper) remove(w swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, w)
}

// CutEarly ends operations that wait for a client before having any effect.
func (s *Sweeper) CutEarly() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if g, ok := w.(*Guard); ok && g.early {
			g.breakOff()
		}
	}
}

// BreakWrites ends connections with a write under way.
func (s *Sweeper) BreakWrites() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if c, ok := w.(*timedConn); ok && c.writing.Load() != 0 {
			c.breakOff()
		}
	}
}

// BreakOff ends everything, future operations included: the server does not wait any
// longer.
func (s *Sweeper) BreakOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	for w := range s.all {
		w.breakOff()
	}
}

// Guard watches one operation that a client may block, on its way through HTTP: cut ends
// it. Release it when cut must not be called any more.
type Guard struct {
	sweeper *Sweeper
	at      atomic.Int64               // the tick after which it is due; 0 for never
	mu      ranks.Mutex[ranks.Request] // held during cut
	cut     func()                     // nil when it has been called or may not be any more
	early   bool                       // cut loses nothing: see CutEarly
}

// Guard makes a guard that calls cut, once, when its operation is late.
func (s *Sweeper) Guard(cut func()) *Guard {
	g := &Guard{sweeper: s, cut: cut}
	s.add(g)
	return g
}

// GuardEarly is Guard for an operation that may be cut when the server stops.
func (s *Sweeper) GuardEarly(cut func()) *Guard {
	g := &Guard{sweeper: s, cut: cut, early: true}
	s.add(g)
	return g
}

// Begin notes that a write begins.
func (g *Guard) Begin() { g.at.Store(g.sweeper.Now() + g.sweeper.stall) }

// End notes that a write has ended.
func (g *Guard) End() { g.at.Store(0) }

// Due sets the time allowed from a tick of the sweeper on.
func (g *Guard) Due(from int64, d time.Duration) { g.at.Store(from + g.sweeper.span(d)) }

func (g *Guard) sweep(now int64) {
	if at := g.at.Load(); at != 0 && now > at && g.at.CompareAndSwap(at, 0) {
		go g.fire() // HTTP/2 may block
	}
}

func (g *Guard) breakOff() { go g.fire() }

func (g *Guard) fire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cut != nil {
		g.cut()
		g.cut = nil
	}
}

// Release reports whether it was called before cut.
func (g *Guard) Release() bool {
	g.sweeper.remove(g)
	g.mu.Lock()
	defer g.mu.Unlock()
	inTime := g.cut != nil
	g.cut = nil
	return inTime
}
