package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// One writer that flushes, compacts, trims, backs up and restarts: a crash may fall
// between any two file operations of these.
func TestCrashesOfOneWriter(t *testing.T) {
	for range rounds() {
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
			case i == 60 || i == 170:
				c.backup(e, fmt.Sprintf("backup-%d", i))
			case i == 150:
				if err := e.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
					t.Fatal(err)
				}
			case i == 110 || i == 190:
				e = c.reopen(e)
			}
		}
		c.finish(e, 150)
	}
}

// Many writers at once: crashes fall between commits that share a sync.
func TestCrashesOfManyWriters(t *testing.T) {
	for range rounds() {
		c := newCrashes(t, 25)
		e := c.open()
		for range 2 {
			var writers sync.WaitGroup
			for w := range 8 {
				writers.Go(func() {
					for i := range 20 {
						c.write(e, fmt.Sprintf("key/%d", (w+i)%5), OpCreate, object(500+i))
					}
				})
			}
			writers.Wait()
			e = c.reopen(e)
		}
		c.finish(e, 20)
	}
}

// A crash of a restore leaves a whole store or none, and the restore can be repeated.
func TestCrashesOfRestore(t *testing.T) {
	ctx, chance := context.Background(), 40
	for range rounds() {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng, mem, crashed := rand.New(rand.NewPCG(seed, 0)), vfs.NewCrashableMem(), 0
		e, err := Open(Config{Dir: "data", FS: mem, MemTableBytes: minMemTable})
		if err != nil {
			t.Fatal(err)
		}
		acked, _ := work(e)
		if err := errors.Join(e.Backup("backup"), e.Close()); err != nil {
			t.Fatal(err)
		}
		last := acked[len(acked)-1].Entry.Revision
		var mu sync.Mutex
		revived := func(copy *vfs.MemFS) {
			ok, err := exists(copy, "new")
			if err != nil {
				t.Error(err)
			}
			if !ok {
				if err := Restore(ctx, Config{Dir: "new", FS: copy}, "backup", 100); err != nil {
					t.Errorf("restoring again after a crash: %v", err)
					return
				}
			}
			e, err := Open(Config{Dir: "new", FS: copy})
			if err != nil {
				t.Errorf("after a crash of a restore: %v", err)
				return
			}
			if e.Current() != last+100 || e.Oldest() != last+100 {
				t.Errorf("after a crash of a restore: Current %d, Oldest %d; expected %d", e.Current(), e.Oldest(), last+100)
			}
			checkAcked(t, "after a crash of a restore", e, acked)
			if err := errors.Join(e.Check(ctx, func(problem string) { t.Error(problem) }), e.Close()); err != nil {
				t.Error(err)
			}
		}
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || rng.IntN(100) >= chance {
				return nil
			}
			crashed++
			after := make(chan struct{})
			go func() { // as the next process: this goroutine holds locks of the one that crashes
				defer close(after)
				revived(mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}))
			}()
			<-after
			return nil
		}))
		if err := Restore(ctx, Config{Dir: "new", FS: fs}, "backup", 100); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d crashes", crashed)
		if crashed < 10 {
			t.Errorf("%d crashes are too few to tell", crashed)
		}
	}
}
