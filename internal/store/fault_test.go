package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// stress asks for the long form of a test (make stress).
var stress = os.Getenv("CAPSTAN_STRESS") != ""

// fault fails file operations from the nth on: that one only, or all later ones too.
type fault struct {
	from    int64
	forever bool
	count   atomic.Int64 // operations so far
	hit     atomic.Bool
}

func (f *fault) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpLock {
		return nil
	}
	n := f.count.Add(1) - 1
	if n == f.from || f.forever && n > f.from {
		f.hit.Store(true)
		return fmt.Errorf("%v of %s: %w", op.Kind, op.Path, errDisk)
	}
	return nil
}

func (f *fault) String() string { return "fault" }

// work writes, deletes, trims, flushes and compacts. It returns the acknowledged changes
// and the number of refused writes.
func work(e *Engine) (acked []Change, refused int) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i := range 60 {
		var change Change
		entry, err := e.Update(ctx, fmt.Sprintf("key/%d", i%7), func(current *Entry) (Write, error) {
			change.Op = OpCreate
			if current != nil {
				change.Op, change.Prev = OpUpdate, *current
				if i%9 == 8 {
					change.Op = OpDelete
				}
			}
			return Write{Op: change.Op, Value: object(2000 + i)}, nil
		})
		if err == nil {
			change.Entry = entry
			acked = append(acked, change)
		} else {
			refused++
		}
		switch i {
		case 15, 30, 45:
			_ = e.tryFlush() // may be refused
		case 20, 50:
			_ = e.Trim(ctx, e.Current()-min(e.Current(), 8)) // the same
		case 47:
			if e.broken() != nil {
				continue
			}
			compacting, done := context.WithTimeout(ctx, 100*time.Millisecond)
			_ = e.db.Compact(compacting, []byte{0}, []byte{0xff}, false) // the same
			done()
		}
	}
	return acked, refused
}

// Any file operation fails, once or from then on: the process does not end, nothing
// hangs, reads go on, and all acknowledged changes are there after Close and after a
// crash.
func TestEveryFault(t *testing.T) {
	step := int64(3)
	if stress {
		step = 1
	}
	var runs int
	for _, forever := range []bool{false, true} {
		for from := int64(0); ; from += step {
			f := &fault{from: from, forever: forever}
			testFault(t, f)
			runs++
			if !f.hit.Load() || t.Failed() {
				break // no operation is left to fail
			}
		}
	}
	t.Logf("%d runs", runs)
	if runs < 40 {
		t.Errorf("%d runs are too few to tell", runs)
	}
}

func testFault(t *testing.T, f *fault) {
	mem := vfs.NewCrashableMem()
	off := &fault{from: 1 << 60}
	var injector atomic.Pointer[fault]
	injector.Store(off)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error { return injector.Load().MaybeError(op) }))
	e, err := Open(Config{Dir: "data", FS: fs, MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	e.disk.pause = time.Millisecond
	injector.Store(f)
	acked, refused := work(e)
	name := fmt.Sprintf("operation %d (and all after it: %v)", f.from, f.forever)
	if refused > 0 && e.Healthy() == nil {
		t.Errorf("%s: %d writes were refused, and the store says it is healthy", name, refused)
	}
	checkAcked(t, name+", before Close", e, acked)
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	closed := make(chan struct{})
	go func() {
		_ = e.Close() // may report the fault
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatalf("%s: Close does not return", name)
	}
	injector.Store(off)
	for after, fs := range map[string]vfs.FS{"after Close": mem, "after a crash": crashed} {
		e, err := Open(Config{Dir: "data", FS: fs})
		if err != nil {
			t.Errorf("%s, %s: %v", name, after, err)
			continue
		}
		checkAcked(t, name+", "+after, e, acked)
		if err := e.Check(context.Background(), func(problem string) { t.Errorf("%s, %s: %s", name, after, problem) }); err != nil {
			t.Error(err)
		}
		put(t, e, "again", object(100))
		if err := e.Close(); err != nil {
			t.Errorf("%s, %s: %v", name, after, err)
		}
	}
}

// checkAcked checks that the newest acknowledged change of every key, or a later one, is
// there.
func checkAcked(t *testing.T, when string, e *Engine, acked []Change) {
	t.Helper()
	newest := map[string]Change{}
	for _, c := range acked {
		newest[c.Entry.Key] = c
	}
	for key, c := range newest {
		if c.Entry.Revision > e.Current() {
			t.Errorf("%s: %d was acknowledged, Current is %d", when, c.Entry.Revision, e.Current())
		}
		entry, err := e.Get(context.Background(), key)
		switch {
		case err == nil && entry.Revision > c.Entry.Revision:
		case c.Op == OpDelete && errors.Is(err, ErrNotFound):
		case err != nil && !errors.Is(err, ErrNotFound):
			t.Errorf("%s: %s cannot be read: %v", when, key, err)
		case c.Op != OpDelete && (err != nil || !sameEntry(entry, c.Entry)):
			// A deletion that was not acknowledged may have happened.
			if _, feedErr := e.Changes(context.Background(), key, max(c.Entry.Revision, e.Oldest()), func(later *Change) bool {
				err = nil
				return later.Op != OpDelete
			}); feedErr != nil || err != nil {
				t.Errorf("%s: %s is of %d, %v; %d was acknowledged", when, key, entry.Revision, err, c.Entry.Revision)
			}
		}
	}
}

// Faults while the store opens, new or with a log to read: Open reports them, releases
// the lock and leaves the data alone.
func TestFaultsOfOpen(t *testing.T) {
	for _, c := range []struct{ existing, forever bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		existing, runs := c.existing, 0
		for from := int64(0); ; from++ {
			mem := vfs.NewCrashableMem()
			var acked []Change
			if existing {
				e, err := Open(Config{Dir: "data", FS: mem, MemTableBytes: minMemTable})
				if err != nil {
					t.Fatal(err)
				}
				acked, _ = work(e)
				mem = mem.CrashClone(vfs.CrashCloneCfg{}) // so that there is a log to read
				_ = e.Close()
			}
			f := &fault{from: from, forever: c.forever}
			opened := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("Open hangs after operation %d failed", from)) })
			e, err := Open(Config{Dir: "data", FS: errorfs.Wrap(mem, f)})
			opened.Stop()
			if err == nil {
				_ = e.Close() // may report the fault
			}
			if !f.hit.Load() {
				break
			}
			if err != nil && !errors.Is(err, errDisk) {
				t.Errorf("operation %d: Open says %v", from, err)
			}
			runs++
			e, err = Open(Config{Dir: "data", FS: mem})
			if err != nil {
				t.Errorf("after operation %d failed: %v", from, err)
				continue
			}
			checkAcked(t, fmt.Sprintf("after operation %d of Open failed", from), e, acked)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%+v: %d runs", c, runs)
		if runs < 5 {
			t.Errorf("%+v: %d runs are too few to tell", c, runs)
		}
	}
}

// Sorted files cannot be written for a while: writes go on until memory is full, then
// they are refused rather than blocked, and go on by themselves once the disk works
// again.
func TestFailingTables(t *testing.T) {
	t.Run("broken", func(t *testing.T) { testFailingTables(t, errDisk) })
	t.Run("full", func(t *testing.T) { testFailingTables(t, syscall.ENOSPC) })
}

func testFailingTables(t *testing.T, cause error) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpFileWrite && isTable(op.Path) {
			return cause
		}
		return nil
	}))
	e, err := Open(Config{Dir: "data", FS: fs, MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.disk.pause = time.Millisecond
	broken.Store(true)
	var refused error
	var once sync.Once
	n := 0
	for ; n < 3000 && refused == nil; n++ {
		_, refused = e.Update(context.Background(), fmt.Sprintf("key/%d", n), func(*Entry) (Write, error) { return Write{Op: OpCreate, Value: noise(n, 20000)}, nil })
		if errors.Is(refused, ErrFull) && !errors.Is(refused, cause) { // there is space, in the reserve at least
			e.disk.reserve.fill()
			refused = nil
		}
		if n == 20 {
			once.Do(func() {
				eventually(t, "a flush fails", func() bool { _ = e.tryFlush(); return e.disk.flushes.failure() != nil })
			})
		}
	}
	health := e.Healthy() // on a full disk the failed flush and the reserve are two reasons
	if !errors.Is(refused, cause) || !errors.Is(health, cause) && !errors.Is(health, ErrFull) || errors.Is(refused, ErrFull) != isFull(cause) || n < 25 {
		t.Fatalf("write %d: %v; Healthy: %v", n, refused, health)
	}
	broken.Store(false)
	eventually(t, "writes are accepted again", func() bool { return e.Healthy() == nil })
	put(t, e, "new", object(100))
}

// logFault fails operations on the write-ahead log while it is switched on.
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
	e.Subscribe(Streams, func(b Batch) { announced.Store(b.Revision) })
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
