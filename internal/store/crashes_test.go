package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// crashes copies a file system as a crash would leave it, just before operations that
// write, and has every copy opened and examined.
type crashes struct {
	t      *testing.T
	mem    *vfs.MemFS
	rng    *rand.Rand
	chance int // of a crash before an operation, in percent

	mu      sync.Mutex
	on      bool
	acked   []Change // acknowledged so far
	seen    uint64   // newest revision announced so far
	oldest  uint64   // newest trim that has returned
	backups []backup // begun so far
	copies  chan crash
	done    sync.WaitGroup
	count   int
}

// backup is a backup that began when acked changes had been acknowledged.
type backup struct {
	dir   string
	acked int
	done  bool
}

// crash is a copy of the file system with the promises made before it was taken.
type crash struct {
	fs      *vfs.MemFS
	lost    int // percent of the unsynced data that survives
	acked   []Change
	seen    uint64
	oldest  uint64
	backups []backup
}

// rounds is the number of repetitions of a crash test.
func rounds() int {
	if stress {
		return 15
	}
	return 1
}

func newCrashes(t *testing.T, chance int) *crashes {
	t.Helper()
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

func sameEntry(a, b Entry) bool {
	return a.Key == b.Key && a.Revision == b.Revision && string(a.Meta) == string(b.Meta) && string(a.Body) == string(b.Body)
}

func sameChange(a, b Change) bool {
	return a.Op == b.Op && sameEntry(a.Entry, b.Entry) && sameEntry(a.Prev, b.Prev)
}

// open opens the store on a file system that takes crash copies during the opening too.
func (c *crashes) open() *Engine {
	c.mu.Lock()
	c.on = true
	c.mu.Unlock()
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
	e.Subscribe(Streams, func(b Batch) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = b.Revision
	})
	return e
}

// reopen lets the store crash and opens the files that survive.
func (c *crashes) reopen(e *Engine) *Engine {
	c.mu.Lock()
	c.on = false // the old file system goes on by itself for a moment
	after := c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng})
	c.mu.Unlock()
	if err := e.Close(); err != nil {
		c.t.Error(err)
	}
	c.mem = after
	return c.open()
}

// backup makes a backup.
func (c *crashes) backup(e *Engine, dir string) {
	c.mu.Lock()
	n := len(c.backups)
	c.backups = append(slices.Clip(c.backups), backup{dir: dir, acked: len(c.acked)})
	c.mu.Unlock()
	if err := e.Backup(dir); err != nil {
		c.t.Errorf("Backup: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backups = slices.Clone(c.backups)
	c.backups[n].done = true
}

// maybe takes a copy, by chance. The promises are read before it, since the copy may hold
// more.
func (c *crashes) maybe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on || c.rng.IntN(100) >= c.chance {
		return
	}
	lost := []int{0, 0, 20, 50, 80, 100}[c.rng.IntN(6)]
	copy := crash{lost: lost, acked: slices.Clip(c.acked), seen: c.seen, oldest: c.oldest, backups: slices.Clip(c.backups)}
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

// finish stops taking copies and waits until all are examined.
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

// examine checks the store in a copy, and the backups in it.
func (c *crashes) examine(copy crash) {
	if n := len(copy.backups); n > 0 {
		c.examineBackup(copy, copy.backups[n-1])
	}
	c.examineStore(copy)
}

// examineBackup restores a backup. An unfinished one is whole or does not have its name
// yet.
func (c *crashes) examineBackup(copy crash, b backup) {
	t := c.t
	ok, err := exists(copy.fs, b.dir)
	if err != nil || b.done && !ok {
		t.Errorf("after a crash: the backup is there: %v, %v", ok, err)
	}
	if !ok {
		return
	}
	if err := Restore(context.Background(), Config{Dir: b.dir + "-restored", FS: copy.fs}, b.dir, 0); err != nil {
		t.Errorf("after a crash: a backup (finished: %v): %v", b.done, err)
		return
	}
	e, err := OpenReadOnly(Config{Dir: b.dir + "-restored", FS: copy.fs})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	checkAcked(t, "in a backup after a crash", e, copy.acked[:b.acked])
}

// examineStore opens the store in a copy and checks that the promises hold.
func (c *crashes) examineStore(copy crash) {
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
	for _, change := range log { // the log may hold more than was acknowledged
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
