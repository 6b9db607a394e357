package conns

import (
	"sync"
	"sync/atomic"
	"time"
)

// Sweeper finds what takes too long: writes that a client does not take, and
// reads of what it does not send. A deadline of the network that is set and
// cleared around every write costs a good part of a small one, and one that is
// left standing fires while nobody writes. So whatever may take too long notes
// when it is due, which costs next to nothing, and the sweeper looks at all notes
// now and then.
//
// Time is counted in ticks, one for each look. So nothing is due that was in time
// when the whole process stood still for a while: it gets the ticks it has left.
type Sweeper struct {
	period time.Duration // of a tick
	ticks  atomic.Int64
	stall  int64 // ticks that a write may take

	mu     sync.Mutex
	all    map[swept]struct{}
	broken bool // see BreakOff
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

// NewSweeper watches over writes that may take as long as stall; no other time that it
// watches should be much shorter than shortest.
func NewSweeper(stall, shortest time.Duration) *Sweeper {
	period := max(min(stall, shortest)/sweepsPerStall, time.Millisecond)
	s := &Sweeper{period: period, stall: int64(stall / period), all: make(map[swept]struct{})}
	s.ticks.Store(2) // 0 is for what is never due
	return s
}

// Run sweeps until done is closed.
func (s *Sweeper) Run(done <-chan struct{}) {
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

// span is how many ticks a time has.
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

// CutEarly ends what waits for a client and has not been acted on.
func (s *Sweeper) CutEarly() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if g, ok := w.(*Guard); ok && g.early {
			g.breakOff()
		}
	}
}

// BreakWrites ends connections on which a write is under way.
func (s *Sweeper) BreakWrites() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		if c, ok := w.(*timedConn); ok && c.writing.Load() != 0 {
			c.breakOff()
		}
	}
}

// BreakOff ends everything, also what is to come: the server does not wait any
// longer.
func (s *Sweeper) BreakOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	for w := range s.all {
		w.breakOff()
	}
}

// Guard watches one thing that a client may keep from going on, on its way
// through HTTP: cut ends it. It is released when cut must not be called any more.
type Guard struct {
	sweeper *Sweeper
	at      atomic.Int64 // the tick after which it is due; 0 for never
	mu      sync.Mutex
	cut     func() // nil when it has been called or may not be any more
	early   bool   // nothing is lost by it: see CutEarly
}

// Guard makes a guard that calls cut, once, when what it watches is late.
func (s *Sweeper) Guard(cut func()) *Guard {
	g := &Guard{sweeper: s, cut: cut}
	s.add(g)
	return g
}

// GuardEarly is Guard for what nothing is lost by when the server stops.
func (s *Sweeper) GuardEarly(cut func()) *Guard {
	g := &Guard{sweeper: s, cut: cut, early: true}
	s.add(g)
	return g
}

// Begin notes that a write begins.
func (g *Guard) Begin() { g.at.Store(g.sweeper.Now() + g.sweeper.stall) }

// End notes that a write has ended.
func (g *Guard) End() { g.at.Store(0) }

// Due sets the time that is allowed from a tick of the sweeper on.
func (g *Guard) Due(from int64, d time.Duration) { g.at.Store(from + g.sweeper.span(d)) }

func (g *Guard) sweep(now int64) {
	if at := g.at.Load(); at != 0 && now > at && g.at.CompareAndSwap(at, 0) {
		go g.fire() // HTTP/2 may take its time
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

// Release reports whether it has come before cut was called.
func (g *Guard) Release() bool {
	g.sweeper.remove(g)
	g.mu.Lock()
	defer g.mu.Unlock()
	inTime := g.cut != nil
	g.cut = nil
	return inTime
}
