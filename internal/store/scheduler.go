package store

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// scheduler lets compactions run, as many at a time as the tree's options allow, but none
// before start is called. Pebble's own scheduler runs them while the tree opens and waits
// for their end, which takes seconds in a large store.
//
// The tree calls TrySchedule with its locks held; the scheduler calls the tree without
// holding its own, and only the goroutine in grant makes the tree start something. A poke
// follows every refusal: from start if the request came too early, from Done if too many
// were running.
type scheduler struct {
	tree pebble.DBForCompaction

	mu      ranks.Mutex[ranks.Leaf]
	started bool
	running int

	poke    chan struct{} // something may run now
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

var (
	_ pebble.CompactionScheduler   = (*scheduler)(nil)
	_ pebble.CompactionGrantHandle = (*scheduler)(nil)
)

// sampleEvery is the interval at which the allowance is checked without a poke.
const sampleEvery = time.Second

func newScheduler() *scheduler {
	return &scheduler{poke: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, tree pebble.DBForCompaction) {
	s.tree = tree
	go s.grant()
}

// Unregister implements pebble.CompactionScheduler. When it returns, the tree is no
// longer called.
func (s *scheduler) Unregister() {
	if s.tree == nil {
		return // the tree was never registered
	}
	s.once.Do(func() { close(s.stop) })
	<-s.stopped
}

// start lets compactions run; the tree is open.
func (s *scheduler) start() {
	s.mu.Lock()
	s.started = true
	s.mu.Unlock()
	s.UpdateGetAllowedWithoutPermission()
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started || s.running >= s.tree.GetAllowedWithoutPermission() {
		return false, nil
	}
	s.running++
	return true, s
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Done implements pebble.CompactionGrantHandle at the end of a compaction.
func (s *scheduler) Done() {
	s.add(-1)
	s.UpdateGetAllowedWithoutPermission()
}

// Started, MeasureCPU and CumulativeStats implement pebble.CompactionGrantHandle.
// Compactions are not throttled.
func (s *scheduler) Started()                                          {}
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind)         {}
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

func (s *scheduler) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
}

// mayRun reports whether another compaction may begin.
func (s *scheduler) mayRun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started && s.running < s.tree.GetAllowedWithoutPermission()
}

// grant starts waiting compactions.
func (s *scheduler) grant() {
	defer close(s.stopped)
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.poke:
		case <-ticker.C:
		}
		for s.mayRun() {
			if waiting, _ := s.tree.GetWaitingCompaction(); !waiting {
				break
			}
			s.add(1) // before the start: the compaction may end at once
			if !s.tree.Schedule(s) {
				s.Done() // a poke for compactions refused meanwhile
				break
			}
		}
	}
}
