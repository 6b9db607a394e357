package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// recorder is a handler that records its observations, and can be blocked.
type recorder struct {
	mu        sync.Mutex
	shown     []uint64 // revisions of changes
	initial   []string // keys of objects at the start
	resets    int
	hold      chan struct{} // not nil: observe waits until it is closed
	cond      *sync.Cond
	panicOnce bool
}

func newRecorder() *recorder {
	r := &recorder{}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) wants(*Type) bool { return true }
func (r *recorder) close()           {}
func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown, r.initial = nil, nil
	r.resets++
	r.cond.Broadcast()
}

func (r *recorder) observe(ctx context.Context, o *observation) {
	r.mu.Lock()
	hold := r.hold
	if o.op == 0 {
		r.initial = append(r.initial, string([]byte(o.key)))
	} else {
		r.shown = append(r.shown, o.revision)
	}
	fail := r.panicOnce
	r.panicOnce = false
	r.cond.Broadcast()
	r.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	if fail {
		panic("a handler's mistake")
	}
}

// until waits until the recorder has the wanted state.
func (r *recorder) until(t *testing.T, wanted func() bool) {
	t.Helper()
	stop := time.AfterFunc(20*time.Second, func() { t.Error("not as wanted after 20 s"); r.cond.Broadcast() })
	defer stop.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !wanted() && !t.Failed() {
		r.cond.Wait()
	}
}

// testStore is a store in memory and a feed of it.
type testStore struct {
	t *testing.T
	store.Store
}

func newTestStore(t *testing.T, history time.Duration) *testStore {
	t.Helper()
	s, err := store.Open(store.Config{Dir: "store", FS: vfs.NewMem(), History: history})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &testStore{t, s}
}

func (s *testStore) put(key string) uint64 {
	s.t.Helper()
	e, err := s.Update(s.t.Context(), key, func(current *store.Entry) (store.Write, error) {
		op := store.OpCreate
		if current != nil {
			op = store.OpUpdate
		}
		return store.Write{Op: op, Value: store.Value{Body: []byte(`{"metadata":{"resourceVersion":""}}`), RevisionAt: 32}}, nil
	})
	if err != nil {
		s.t.Error(err)
	}
	return e.Revision
}

func (s *testStore) run(h handler) (stop func()) {
	gv := &api.GroupVersion{Version: "v1"}
	c := newCluster(Config{Store: s, Logger: silent(), Types: []Type{
		{Resource: &api.Resource{GV: gv, Plural: "configmaps", Namespaced: true}, Prefix: "core/configmaps/"},
		{Resource: &api.Resource{GV: gv, Plural: "namespaces"}, Prefix: "core/namespaces/"},
	}})
	f := newFeed(c)
	f.handlers = []handler{h}
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() { f.run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func TestFeedShowsWhatIsThereAndThenChanges(t *testing.T) {
	s, r := newTestStore(t, 0), newRecorder()
	s.put("core/configmaps/a/x")
	s.put("core/namespaces/a")
	s.put("capstan/secret") // not an object
	s.put("apps/unknown/x") // of no type
	r.panicOnce = true
	defer s.run(r)()
	r.until(t, func() bool { return len(r.initial) == 2 })
	if got := fmt.Sprint(r.initial); got != "[core/namespaces/a core/configmaps/a/x]" {
		t.Errorf("shown first: %s", got)
	}
	// The scan may or may not have this one; it is shown once.
	var want []uint64
	for i := range 10 {
		want = append(want, s.put(fmt.Sprint("core/configmaps/a/", i)))
	}
	r.until(t, func() bool { return len(r.initial)+len(r.shown) == 12 })
	if n := len(r.shown); n > 0 && fmt.Sprint(r.shown) != fmt.Sprint(want[10-n:]) {
		t.Errorf("changes %v, want the last of %v", r.shown, want)
	}
}

// A slow handler does not slow writers: changes that the buffer cannot hold come from the
// log.
func TestFeedReadsTheLogWhenItIsBehind(t *testing.T) {
	s, r := newTestStore(t, time.Hour), newRecorder()
	defer s.run(r)()
	first := s.put("core/configmaps/a/x")
	r.until(t, func() bool { return len(r.shown) == 1 || len(r.initial) == 1 })
	r.mu.Lock()
	r.hold = make(chan struct{})
	before := len(r.shown) + len(r.initial)
	r.mu.Unlock()
	var wg sync.WaitGroup
	const writes = bufferChanges + 500
	for w := range 20 {
		wg.Go(func() {
			for i := range writes / 20 {
				s.put(fmt.Sprint("core/configmaps/a/", w, "-", i))
			}
		})
	}
	wg.Wait()
	r.mu.Lock()
	close(r.hold)
	r.hold = nil
	r.mu.Unlock()
	last := s.put("core/configmaps/a/last")
	r.until(t, func() bool { return len(r.shown) > 0 && r.shown[len(r.shown)-1] == last })
	r.mu.Lock()
	defer r.mu.Unlock()
	if got, want := len(r.shown)+len(r.initial)-before, writes/20*20+1; got != want {
		t.Errorf("%d changes were shown, want %d", got, want)
	}
	for i := 1; i < len(r.shown); i++ {
		if r.shown[i] != r.shown[i-1]+1 {
			t.Fatalf("after %d came %d", r.shown[i-1], r.shown[i])
		}
	}
	if r.resets != 1 {
		t.Errorf("%d scans, want one", r.resets)
	}
	_ = first
}

// trimmed is a store whose log is gone, once.
type trimmed struct {
	store.Store
	once sync.Once
}

func (s *trimmed) Changes(ctx context.Context, prefix string, after uint64, visit func(*store.Change) bool) (uint64, error) {
	var err error
	s.once.Do(func() { err = &store.TrimmedError{Asked: after, Oldest: after + 1} })
	if err != nil {
		return 0, err
	}
	return s.Store.Changes(ctx, prefix, after, visit)
}

func TestFeedBeginsAnewWhenTheLogIsTrimmed(t *testing.T) {
	s, r := newTestStore(t, time.Hour), newRecorder()
	s.Store = &trimmed{Store: s.Store}
	f := newFeed(newCluster(Config{Store: s, Logger: silent(), Types: []Type{
		{Resource: &api.Resource{GV: &api.GroupVersion{Version: "v1"}, Plural: "namespaces"}, Prefix: "core/namespaces/"}}}))
	f.handlers = []handler{r}
	for i := range 3 {
		s.put(fmt.Sprint("core/namespaces/", i))
	}
	// As after an overflow: the changes between done and floor must come from the log.
	f.done, f.floor = 1, 3
	var gone *store.TrimmedError
	if err := f.follow(t.Context()); !errors.As(err, &gone) {
		t.Fatalf("the feed goes on with %v", err)
	}
	if err := f.scan(t.Context()); err != nil || len(r.initial) != 3 || r.resets != 1 || f.done != 3 {
		t.Errorf("scanned %v with %v, %d resets, at %d", r.initial, err, r.resets, f.done)
	}
}

// TestFeedShowsAllChangesOfARevision follows a replica, in which several changes have one revision:
// as announced, and from the log after the buffer was full.
func TestFeedShowsAllChangesOfARevision(t *testing.T) {
	engine, err := store.Open(store.Config{Dir: "store", FS: vfs.NewMem(), Replica: true})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if err := engine.Load("source", func(*store.Loading) (uint64, error) { return 1, nil }); err != nil {
		t.Fatal(err)
	}
	follow := func(revision uint64, n int) {
		var all []store.Followed
		for i := range n {
			all = append(all, store.Followed{Key: fmt.Sprintf("core/configmaps/a/%d", i), Revision: revision,
				Value: store.Value{Body: []byte(`{"metadata":{"resourceVersion":""}}`), RevisionAt: 32}})
		}
		if err := engine.Replicate(all, false); err != nil {
			t.Fatal(err)
		}
	}
	s, r := &testStore{t, engine}, newRecorder()
	defer s.run(r)()
	r.until(t, func() bool { return r.resets == 1 })
	follow(2, 3)
	r.until(t, func() bool { return len(r.initial)+len(r.shown) == 3 })
	hold := make(chan struct{})
	r.mu.Lock()
	r.hold = hold
	r.mu.Unlock()
	const groups, each = 50, 100 // more than the buffer
	for i := range groups {
		follow(uint64(3+i), each)
	}
	r.mu.Lock()
	r.hold = nil
	r.mu.Unlock()
	close(hold)
	r.until(t, func() bool { return len(r.initial)+len(r.shown) >= 3+groups*each })
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.initial) + len(r.shown); n != 3+groups*each {
		t.Errorf("%d observations, expected %d", n, 3+groups*each)
	}
}
