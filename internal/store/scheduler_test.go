package store

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// fakeTree has waiting compactions; the test ends the running ones.
type fakeTree struct {
	mu      sync.Mutex
	waiting int
	handles []pebble.CompactionGrantHandle
	began   chan struct{}
}

func (f *fakeTree) GetAllowedWithoutPermission() int { return 2 }

func (f *fakeTree) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting > 0, pebble.WaitingCompaction{}
}

func (f *fakeTree) Schedule(h pebble.CompactionGrantHandle) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == 0 {
		return false
	}
	f.waiting--
	f.handles = append(f.handles, h)
	f.began <- struct{}{}
	return true
}

func TestSchedulerStartsWaitingCompactions(t *testing.T) {
	const n = 20
	s, tree := newScheduler(), &fakeTree{began: make(chan struct{}, n)}
	s.Register(1, tree)
	if ok, _ := s.TrySchedule(); ok {
		t.Fatal("a compaction was allowed before the tree was open")
	}
	tree.mu.Lock()
	tree.waiting = n
	tree.mu.Unlock()
	s.start()
	for range n {
		<-tree.began // each only after an earlier one has ended
		s.mu.Lock()
		running := s.running
		s.mu.Unlock()
		if running > 2 {
			t.Errorf("%d run at once, 2 are allowed", running)
		}
		tree.mu.Lock()
		h := tree.handles[0]
		tree.handles = tree.handles[1:]
		tree.mu.Unlock()
		h.Done()
	}
	s.Unregister()
	if s.running != 0 {
		t.Errorf("%d are counted as running at the end", s.running)
	}
}

func TestSchedulerLimits(t *testing.T) {
	s := newScheduler()
	s.Register(1, &fakeTree{})
	s.start()
	for i, want := range []bool{true, true, false} {
		if ok, _ := s.TrySchedule(); ok != want {
			t.Errorf("attempt %d: %v, expected %v", i, ok, want)
		}
	}
	s.Done()
	if ok, _ := s.TrySchedule(); !ok {
		t.Error("refused although one has ended")
	}
	s.Unregister()
	s.Unregister() // again, without harm
	newScheduler().Unregister()
}

// After writes of many times the memory table the tree has few runs.
func TestCompactionsKeepUp(t *testing.T) {
	e, err := Open(Config{Dir: "data", FS: vfs.NewMem(), MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		put(t, e, podKey(i%100), object(10<<10))
	}
	if s := e.Stats(); s.Compactions == 0 || s.ReadAmp > 30 {
		t.Errorf("after %d flushes: %d compactions, %d runs", s.Flushes, s.Compactions, s.ReadAmp)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
