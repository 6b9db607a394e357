package store

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler lets compactions run, as many at a time as the tree's options
// allow, but none before start is called. Pebble's own begins with them while
// it opens, and then waits for them to end, which takes seconds in a large
// store.
//
// It is called with the tree's locks held (TrySchedule) and calls the tree
// without holding its own; only the goroutine in grant calls the tree to start
// something. A refusal is always followed by a poke: by start when it came too
// early, by Done when too many were running.
type scheduler struct {
	tree pebble.DBForCompaction

	mu      sync.Mutex
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

// sampleEvery is how often the allowance is looked at without being asked to.
const sampleEvery = time.Second

func newScheduler() *scheduler {
	return &scheduler{poke: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, tree pebble.DBForCompaction) {
	s.tree = tree
	go s.grant()
}

// Unregister implements pebble.CompactionScheduler. It returns when the tree is
// no longer called.
func (s *scheduler) Unregister() {
	if s.tree == nil {
		return // the tree did not come to registering
	}
	s.once.Do(func() { close(s.stop) })
	<-s.stopped
}

// start is called when the tree is open.
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

// Done implements pebble.CompactionGrantHandle: a compaction has ended.
func (s *scheduler) Done() {
	s.add(-1)
	s.UpdateGetAllowedWithoutPermission()
}

// Started, MeasureCPU and CumulativeStats implement
// pebble.CompactionGrantHandle. Compactions are not slowed down.
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

// grant starts compactions that wait.
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
			s.add(1) // before it starts: it may end at once
			if !s.tree.Schedule(s) {
				s.Done() // a poke for whoever was refused meanwhile
				break
			}
		}
	}
}
