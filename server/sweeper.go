package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// sweeper finds what takes too long: writes that a client does not take, and
// reads of what it does not send. A deadline of the network that is set and
// cleared around every write costs a good part of a small one, and one that is
// left standing fires while nobody writes. So whatever may take too long notes
// when it is due, which costs next to nothing, and the sweeper looks at all notes
// now and then.
//
// Time is counted in ticks, one for each look. So nothing is due that was in time
// when the whole process stood still for a while: it gets the ticks it has left.
type sweeper struct {
	period time.Duration // of a tick
	ticks  atomic.Int64
	stall  int64 // ticks that a write may take

	mu     sync.Mutex
	all    map[swept]struct{}
	broken bool // see breakOff
}

// swept is what the sweeper looks at.
type swept interface {
	// sweep ends what is due. It does not wait.
	sweep(now int64)
	// breakOff ends all there is. It does not wait.
	breakOff()
}

// sweepsPerStall is how many ticks the shortest of the watched times has.
const sweepsPerStall = 16

// newSweeper makes one for writes that may take as long as stall; no other time
// that it watches should be much shorter than shortest.
func newSweeper(stall, shortest time.Duration) *sweeper {
	period := max(min(stall, shortest)/sweepsPerStall, time.Millisecond)
	s := &sweeper{period: period, stall: int64(stall / period), all: make(map[swept]struct{})}
	s.ticks.Store(2) // 0 is for what is never due
	return s
}

// run sweeps until done is closed.
func (s *sweeper) run(done <-chan struct{}) {
	tick := time.NewTicker(s.period)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			s.sweep()
		}
	}
}

func (s *sweeper) sweep() {
	now := s.ticks.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		w.sweep(now)
	}
}

// now is the number of this tick.
func (s *sweeper) now() int64 { return s.ticks.Load() }

// due is the tick after which d has passed.
func (s *sweeper) due(d time.Duration) int64 {
	if d <= 0 {
		return s.now() - 1
	}
	return s.now() + s.span(d)
}

// span is how many ticks a time has.
func (s *sweeper) span(d time.Duration) int64 { return int64((d + s.period - 1) / s.period) }

func (s *sweeper) add(w swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[w] = struct{}{}
	if s.broken {
		w.breakOff()
	}
}

func (s *sweeper) remove(w swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, w)
}

// cutEarly ends what waits for a client and has not been acted on.
func (s *sweeper) cutEarly() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if g, ok := w.(*guard); ok && g.early {
			g.breakOff()
		}
	}
}

// breakWrites ends connections on which a write is under way.
func (s *sweeper) breakWrites() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if c, ok := w.(*timedConn); ok && c.writing.Load() != 0 {
			c.breakOff()
		}
	}
}

// breakOff ends everything, also what is to come: the server does not wait any
// longer.
func (s *sweeper) breakOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	for w := range s.all {
		w.breakOff()
	}
}

// guard watches one thing that a client may keep from going on, on its way
// through HTTP: cut ends it. It is made by guard, and released when cut must not
// be called any more.
type guard struct {
	sweeper *sweeper
	at      atomic.Int64 // the tick after which it is due; 0 for never
	mu      sync.Mutex
	cut     func() // nil when it has been called or may not be any more
	early   bool   // nothing is lost by it: see cutEarly
}

func (s *sweeper) guard(cut func()) *guard {
	g := &guard{sweeper: s, cut: cut}
	s.add(g)
	return g
}

// guardEarly is guard for what nothing is lost by when the server stops.
func (s *sweeper) guardEarly(cut func()) *guard {
	g := &guard{sweeper: s, cut: cut, early: true}
	s.add(g)
	return g
}

// begin notes that a write begins, end that it has ended.
func (g *guard) begin() { g.at.Store(g.sweeper.now() + g.sweeper.stall) }
func (g *guard) end()   { g.at.Store(0) }

func (g *guard) sweep(now int64) {
	if at := g.at.Load(); at != 0 && now > at && g.at.CompareAndSwap(at, 0) {
		go g.fire() // HTTP/2 may take its time
	}
}

func (g *guard) breakOff() { go g.fire() }

func (g *guard) fire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cut != nil {
		g.cut()
		g.cut = nil
	}
}

// release reports whether it has come before cut was called.
func (g *guard) release() bool {
	g.sweeper.remove(g)
	g.mu.Lock()
	defer g.mu.Unlock()
	inTime := g.cut != nil
	g.cut = nil
	return inTime
}
