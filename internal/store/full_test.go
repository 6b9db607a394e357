package store

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/storetest/smalldisk"
)

// fullStore fills a small disk until writes are refused.
func fullStore(t *testing.T, disk *smalldisk.Disk) (e *Engine, keys []string) {
	t.Helper()
	start := time.Now()
	e, err := Open(Config{Dir: "data", FS: disk, MemTableBytes: minMemTable, ReserveBytes: 8 << 20, History: time.Second, Clock: func() time.Time {
		return start.Add(20 * time.Since(start))
	}})
	if err != nil {
		t.Fatal(err)
	}
	e.disk.reserve.fill() // as the background goroutine does at some time
	for i := range 100000 {
		key := fmt.Sprintf("key/%d", i)
		_, err := e.Update(context.Background(), key, func(*Entry) (Write, error) { return Write{Op: OpCreate, Value: noise(i, 20000)}, nil })
		if errors.Is(err, syscall.ENOSPC) {
			time.Sleep(time.Millisecond) // level 0 is high; a compaction is retried
			continue
		}
		if errors.Is(err, ErrFull) {
			// Compactions take space for a while and give it back; the disk must be full
			// without them.
			eventually(t, "compactions end", func() bool {
				return e.db.Metrics().Compact.NumInProgress == 0 || e.disk.compactions.failure() != nil // the next one waits
			})
			if e.disk.reserve.fill(); e.Healthy() == nil {
				continue
			}
			disk.Resize(disk.Used() + min(disk.Free(), 6<<20))
			return e, keys
		}
		if err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		keys = append(keys, key)
	}
	t.Fatal("the disk does not get full")
	return nil, nil
}

// noise is a value that does not compress.
func noise(seed, size int) Value {
	b, x := make([]byte, size), uint64(seed)*2654435761+1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return Value{Meta: []byte("m"), Body: b, RevisionAt: -1}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A full disk refuses writes that make the store grow. Reading, deleting and trimming go
// on and, with a little space, free so much that the store accepts all writes again.
func TestFullDisk(t *testing.T) {
	disk := smalldisk.New(vfs.NewMem(), 64<<20)
	e, keys := fullStore(t, disk)
	t.Logf("%d objects, %d bytes used", len(keys), disk.Used())
	ctx := context.Background()
	if err := e.Healthy(); !errors.Is(err, ErrFull) {
		t.Errorf("Healthy: %v", err)
	}
	if _, err := e.Update(ctx, keys[0], func(*Entry) (Write, error) { return Write{Op: OpUpdate, Value: noise(1, 10)}, nil }); !errors.Is(err, ErrFull) {
		t.Errorf("an update on a full disk: %v", err)
	}
	if _, err := e.Update(ctx, keys[0], func(*Entry) (Write, error) { return Write{Op: OpUpdate, Value: noise(1, 10), Frees: true}, nil }); err != nil {
		t.Errorf("a step of a deletion: %v", err)
	}
	if n := len(scanKeys(t, e)); n != len(keys) {
		t.Errorf("%d objects can be read, expected %d", n, len(keys))
	}
	for i, key := range keys {
		if i%8 == 0 {
			continue
		}
		if _, err := e.Update(ctx, key, func(*Entry) (Write, error) {
			return Write{Op: OpDelete, Value: Value{Body: []byte("last"), RevisionAt: -1}}, nil
		}); err != nil {
			t.Fatalf("deletion %d of %d, %d bytes free: %v", i, len(keys), disk.Free(), err)
		}
	}
	eventually(t, "history is trimmed", func() bool { return e.Oldest() == e.Current() })
	// A compaction needs space for its output before it frees its input. Here one has
	// most of the store as input.
	disk.Resize(disk.Used() + 48<<20)
	eventually(t, "the space of deleted objects comes back", func() bool { return e.Healthy() == nil })
	put(t, e, "new", noise(3, 20000))
	if err := e.Check(ctx, func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Space is freed from outside: the store notices by itself, and after a restart.
func TestFullDiskGetsSpace(t *testing.T) {
	disk := smalldisk.New(vfs.NewMem(), 32<<20)
	e, keys := fullStore(t, disk)
	disk.Resize(80 << 20)
	eventually(t, "writes are accepted again", func() bool { return e.Healthy() == nil })
	put(t, e, "new", noise(3, 20000))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	e, err := Open(Config{Dir: "data", FS: disk, ReserveBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if n := len(scanKeys(t, e)); n != len(keys)+1 {
		t.Errorf("%d objects after a restart, expected %d", n, len(keys)+1)
	}
}

// When the reserve is used up too, the log fails. No acknowledged change is lost, the
// process lives, and once there is space a restart is clean.
func TestFullDiskWithoutReserve(t *testing.T) {
	disk := smalldisk.New(vfs.NewCrashableMem(), 24<<20)
	e, keys := fullStore(t, disk)
	disk.Resize(0)
	var refused error
	for _, key := range keys {
		if _, refused = e.Update(context.Background(), key, func(*Entry) (Write, error) {
			return Write{Op: OpUpdate, Value: noise(1, 20000), Frees: true}, nil
		}); refused != nil {
			break
		}
	}
	if !errors.Is(refused, ErrFull) && !errors.Is(refused, syscall.ENOSPC) {
		t.Fatalf("a write without any space: %v", refused)
	}
	if n := len(scanKeys(t, e)); n != len(keys) {
		t.Errorf("%d objects can be read, expected %d", n, len(keys))
	}
	if err := e.Close(); err != nil {
		t.Logf("Close: %v", err)
	}
	if e, err := Open(Config{Dir: "data", FS: disk}); err == nil {
		_ = e.Close() // its errors are those above
	} else if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("opening on a full disk: %v", err)
	}
	disk.Resize(100 << 20)
	e, err := Open(Config{Dir: "data", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if n := len(scanKeys(t, e)); n != len(keys) {
		t.Errorf("%d objects after a restart, expected %d", n, len(keys))
	}
	put(t, e, "new", noise(3, 20000))
	if err := e.Check(context.Background(), func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}
