package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// reserve is disk space set aside for a full disk: a file that is never read. The first
// operation that finds no space removes it and is tried again; a compaction, which frees
// about as much as it takes, only marks the store as full. Until there is that much space
// again, a full store refuses writes that make it grow and accepts deletions and trims,
// which shrink it. An eighth of the reserve is kept from deletions, for trimming, and a
// quarter from compactions. After trimming on a full disk the reserve is released to the
// compactions that free the trimmed space. A compaction that needs more than that waits
// until somebody frees space.
//
// Invariant: the file exists, or full is set, or the file was never made (a new store
// makes it in its first moments).
type reserve struct {
	fs    vfs.FS // the real file system
	dir   string
	bytes int64
	log   *slog.Logger

	mu   ranks.Mutex[ranks.Leaf] // guards the file, held, and changes of full
	held bool                    // the file exists
	full atomic.Pointer[writeError]
}

// reserveFile is the file's name in the data directory.
const reserveFile = "RESERVE"

func newReserve(c Config) *reserve {
	r := &reserve{fs: c.FS, dir: c.Dir, bytes: c.ReserveBytes, log: c.Logger}
	_, err := r.fs.Stat(r.path())
	r.held = err == nil
	return r
}

func (r *reserve) path() string { return r.fs.PathJoin(r.dir, reserveFile) }

// release frees the space and marks the store as full. cause is the error of the
// operation that found none.
func (r *reserve) release(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held {
		if err := r.fs.Remove(r.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.log.Error("store: the disk is full and the reserve cannot be removed", "error", err)
		}
		r.held = false
	}
	r.mark(cause)
}

// note marks the store as full.
func (r *reserve) note(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mark(cause)
}

func (r *reserve) mark(cause error) {
	if r.full.Load() == nil {
		r.full.Store(&writeError{fmt.Errorf("%w: %s: creates and updates are refused, deletes go on; free space on the disk, or delete objects", ErrFull, r.dir)})
		r.log.Error("store: the disk is full; creates and updates are refused, deletes go on", "dir", r.dir, "error", cause)
	}
}

// state returns nil, or the reason why the store must not grow.
func (r *reserve) state() error {
	if f := r.full.Load(); f != nil {
		return f.err
	}
	return nil
}

// left is the free space on the disk without the reserve, in bytes; a large number where
// the file system does not report it.
func (r *reserve) left() int64 {
	usage, err := r.fs.GetDiskUsage(r.dir)
	if err != nil {
		return math.MaxInt64
	}
	return int64(min(usage.AvailBytes, math.MaxInt64))
}

// suffices reports whether a full store has space for a deletion, if need be after
// releasing the reserve.
func (r *reserve) suffices() bool {
	if r.left() >= r.bytes/8 {
		return true
	}
	r.release(ErrFull)
	return r.left() >= r.bytes/8
}

// size is the space set aside at present, in bytes.
func (r *reserve) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held {
		return r.bytes
	}
	return 0
}

// fill makes the file if it is missing and there is space for twice its size. The store
// is full until the file exists and as much space besides is free.
func (r *reserve) fill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held && r.full.Load() == nil {
		return
	}
	left := r.left()
	if !r.held {
		if left < 2*r.bytes {
			return
		}
		if err := r.create(); err != nil {
			if r.full.Load() == nil {
				r.log.Warn("store: no space could be set aside for the day when the disk is full", "bytes", r.bytes, "error", err)
			}
			return
		}
		r.held = true
		left -= r.bytes
	}
	if left >= r.bytes && r.full.Swap(nil) != nil {
		r.log.Info("store: there is space again; creates and updates are accepted", "dir", r.dir)
	}
}

// create writes the file under a temporary name first, so that a file of the final name
// is whole.
func (r *reserve) create() (err error) {
	temporary := r.path() + ".tmp"
	f, err := r.fs.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = r.fs.Remove(temporary) // may be missing
		}
	}()
	if err = f.Preallocate(0, r.bytes); err != nil && !isFull(err) {
		// The file system cannot allocate space ahead: write zeros.
		err = nil
		zeros := make([]byte, 1<<20)
		for left := r.bytes; left > 0 && err == nil; left -= int64(len(zeros)) {
			_, err = f.Write(zeros[:min(left, int64(len(zeros)))])
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return r.fs.Rename(temporary, r.path())
}
