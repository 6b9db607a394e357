package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// crashes takes copies of a file system as crashes would leave it, just before
// operations that write, and has every copy opened and examined.
type crashes struct {
	t      *testing.T
	mem    *vfs.MemFS
	rng    *rand.Rand
	chance int // of a crash before an operation, in percent

	mu     sync.Mutex
	on     bool
	acked  []Change // acknowledged so far
	seen   uint64   // newest revision announced so far
	oldest uint64   // newest trim that has returned
	copies chan crash
	done   sync.WaitGroup
	count  int
}

// crash is a copy and what was promised before it was taken.
type crash struct {
	fs     *vfs.MemFS
	lost   int // percent of unsynced data that is there
	acked  []Change
	seen   uint64
	oldest uint64
}

func newCrashes(t *testing.T, chance int) *crashes {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &crashes{t: t, mem: vfs.NewCrashableMem(), rng: rand.New(rand.NewPCG(seed, 0)), chance: chance, copies: make(chan crash, 4)}
	c.done.Go(func() {
		for copy := range c.copies {
			c.examine(copy)
		}
	})
	return c
}

// open opens the store whose file system crashes.
func (c *crashes) open() *Engine {
	fs := errorfs.Wrap(c.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			c.maybe()
		}
		return nil
	}))
	e, err := Open(Config{Dir: "data", FS: fs, MemTableBytes: minMemTable})
	if err != nil {
		c.t.Fatal(err)
	}
	e.Subscribe(func(changes []*Change) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = changes[len(changes)-1].Entry.Revision
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = true
	return e
}

// maybe takes a copy. What was promised is read first: the copy may hold more.
func (c *crashes) maybe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on || c.rng.IntN(100) >= c.chance {
		return
	}
	lost := []int{0, 0, 20, 50, 80, 100}[c.rng.IntN(6)]
	copy := crash{lost: lost, acked: slices.Clip(c.acked), seen: c.seen, oldest: c.oldest}
	copy.fs = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: lost, RNG: c.rng})
	c.count++
	c.copies <- copy
}

func (c *crashes) write(e *Engine, key string, op Op, v Value) {
	var change Change
	entry, err := e.Update(context.Background(), key, func(current *Entry) (Write, error) {
		change.Op = op
		switch {
		case current == nil:
			change.Op = OpCreate
		default:
			change.Prev = *current
			if op == OpCreate {
				change.Op = OpUpdate
			}
		}
		return Write{Op: change.Op, Value: v}, nil
	})
	if err != nil {
		c.t.Errorf("Update: %v", err)
		return
	}
	change.Entry = entry
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = append(c.acked, change)
}

// finish ends the crashes and waits until all copies are examined.
func (c *crashes) finish(e *Engine, atLeast int) {
	c.mu.Lock()
	c.on = false
	c.mu.Unlock()
	if err := e.Close(); err != nil {
		c.t.Error(err)
	}
	close(c.copies)
	c.done.Wait()
	c.t.Logf("%d crashes", c.count)
	if c.count < atLeast {
		c.t.Errorf("%d crashes are too few to tell", c.count)
	}
}

// examine opens a copy and checks what survived.
func (c *crashes) examine(copy crash) {
	t := c.t
	e, err := Open(Config{Dir: "data", FS: copy.fs})
	if err != nil {
		t.Errorf("after a crash with %d%% of the unsynced data: %v", copy.lost, err)
		return
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := e.Check(context.Background(), func(problem string) { t.Errorf("after a crash: %s", problem) }); err != nil {
		t.Error(err)
	}
	if e.Current() < copy.seen || e.Oldest() < copy.oldest {
		t.Errorf("after a crash: Current %d, Oldest %d; before it %d was announced and trimmed to %d", e.Current(), e.Oldest(), copy.seen, copy.oldest)
	}
	log := map[uint64]*Change{}
	if _, err := e.Changes(context.Background(), "", e.Oldest(), func(c *Change) bool { log[c.Entry.Revision] = c; return true }); err != nil {
		t.Error(err)
	}
	for _, want := range copy.acked {
		if want.Entry.Revision <= e.Oldest() {
			continue
		}
		got := log[want.Entry.Revision]
		if got == nil || !sameChange(*got, want) {
			t.Errorf("after a crash: the acknowledged change at %d is %+v, expected %+v", want.Entry.Revision, got, want)
		}
	}
	newest := map[string]Change{}
	for _, change := range copy.acked {
		if change.Entry.Revision > newest[change.Entry.Key].Entry.Revision {
			newest[change.Entry.Key] = change
		}
	}
	for _, change := range log { // also what was not acknowledged and is there
		if change.Entry.Revision > newest[change.Entry.Key].Entry.Revision {
			newest[change.Entry.Key] = *change
		}
	}
	for key, want := range newest {
		got, err := e.Get(context.Background(), key)
		if want.Op == OpDelete {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("after a crash: %q is %+v, %v; it was deleted", key, got, err)
			}
		} else if err != nil || !sameEntry(got, want.Entry) {
			t.Errorf("after a crash: %q is of %d, %v; expected %d", key, got.Revision, err, want.Entry.Revision)
		}
	}
	current := e.Current()
	entry, err := e.Update(context.Background(), "after the crash", func(*Entry) (Write, error) {
		return Write{Op: OpCreate, Value: object(100)}, nil
	})
	if err != nil || entry.Revision != current+1 || entry.Revision <= copy.seen {
		t.Errorf("after a crash: the next revision is %d, %v; Current was %d, announced %d", entry.Revision, err, current, copy.seen)
	}
}

func sameEntry(a, b Entry) bool {
	return a.Key == b.Key && a.Revision == b.Revision && string(a.Meta) == string(b.Meta) && string(a.Body) == string(b.Body)
}

func sameChange(a, b Change) bool {
	return a.Op == b.Op && sameEntry(a.Entry, b.Entry) && sameEntry(a.Prev, b.Prev)
}

// One writer that also flushes, compacts and trims: crashes fall between any
// two operations on files that this needs.
func TestCrashesOfOneWriter(t *testing.T) {
	c := newCrashes(t, 60)
	e := c.open()
	for i := range 240 {
		key := fmt.Sprintf("key/%d", i*i%11)
		op := OpCreate
		if _, err := e.Get(context.Background(), key); err == nil && i%5 == 0 {
			op = OpDelete
		}
		c.write(e, key, op, object(3000+i))
		switch {
		case i%40 == 39:
			if err := e.db.Flush(); err != nil {
				t.Fatal(err)
			}
		case i%40 == 19:
			upTo := e.Current() - 10
			if err := e.Trim(context.Background(), upTo); err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			c.oldest = upTo
			c.mu.Unlock()
		case i == 150:
			if err := e.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.finish(e, 100)
}

// Many writers at once: crashes fall between commits that share a sync.
func TestCrashesOfManyWriters(t *testing.T) {
	c := newCrashes(t, 25)
	e := c.open()
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 30 {
				c.write(e, fmt.Sprintf("key/%d", (w+i)%5), OpCreate, object(500+i))
			}
		})
	}
	writers.Wait()
	c.finish(e, 20)
}

// logFault fails operations on the write-ahead log while it is on.
type logFault struct {
	on    atomic.Bool
	kinds []errorfs.OpKind
}

var errDisk = errors.New("the disk is broken")

func (f *logFault) MaybeError(op errorfs.Op) error {
	if f.on.Load() && slices.Contains(f.kinds, op.Kind) && len(op.Path) > 4 && op.Path[len(op.Path)-4:] == ".log" {
		return errDisk
	}
	return nil
}

func (f *logFault) String() string { return "logFault" }

func TestFailedLogWrites(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"sync":  {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"write": {errorfs.OpFileWrite},
	} {
		t.Run(name, func(t *testing.T) { testFailedLogWrites(t, &logFault{kinds: kinds}) })
	}
}

func testFailedLogWrites(t *testing.T, fault *logFault) {
	ctx, mem := context.Background(), vfs.NewCrashableMem()
	e, err := Open(Config{Dir: "data", FS: errorfs.Wrap(mem, fault)})
	if err != nil {
		t.Fatal(err)
	}
	var announced atomic.Uint64
	e.Subscribe(func(changes []*Change) { announced.Store(changes[len(changes)-1].Entry.Revision) })
	const keys = 8
	for i := range keys {
		put(t, e, podKey(i), object(1000))
	}
	fault.on.Store(true)
	var writers sync.WaitGroup
	for i := range keys {
		writers.Go(func() {
			entry, err := e.Update(ctx, podKey(i), func(*Entry) (Write, error) { return Write{Op: OpUpdate, Value: object(2000)}, nil })
			if !errors.Is(err, errDisk) {
				t.Errorf("a write that could not be synced was acknowledged: %+v, %v", entry.Revision, err)
			}
		})
	}
	writers.Wait()
	fault.on.Store(false)
	if !errors.Is(e.Healthy(), errDisk) {
		t.Errorf("Healthy: %v", e.Healthy())
	}
	_, err = e.Update(ctx, "new", func(*Entry) (Write, error) { t.Error("the function ran"); return Write{}, nil })
	if !errors.Is(err, errDisk) {
		t.Errorf("a later write: %v, expected the first failure", err)
	}
	if err := e.Trim(ctx, 5); !errors.Is(err, errDisk) {
		t.Errorf("a later trim: %v, expected the first failure", err)
	}
	if e.Current() != keys || announced.Load() != keys {
		t.Errorf("Current %d, announced %d; expected %d", e.Current(), announced.Load(), keys)
	}
	for i := range keys {
		if entry, err := e.Get(ctx, podKey(i)); err != nil || entry.Revision != uint64(i+1) {
			t.Errorf("%s is of revision %d, %v; expected %d", podKey(i), entry.Revision, err, i+1)
		}
	}
	n := 0
	if _, err := e.Changes(ctx, "", 0, func(*Change) bool { n++; return true }); err != nil || n != keys {
		t.Errorf("the feed has %d changes, %v; expected %d", n, err, keys)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	_ = e.Close() // its log cannot be closed cleanly
	again, err := Open(Config{Dir: "data", FS: crashed})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Current() < keys {
		t.Errorf("after the crash Current is %d, %d was acknowledged", again.Current(), keys)
	}
	if err := again.Check(ctx, func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
	put(t, again, podKey(0), object(100))
}
