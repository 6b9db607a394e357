package store

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// diskFile is one of the tree's files, opened for writing, or its directory.
type diskFile struct {
	vfs.File
	disk *disk
	name string
	of   *tables                     // nil unless the file is a sorted file
	grow func(op func() error) error // spaced or sparing, for writes
}

// deadFile stands for a file that could not be opened on a frozen disk.
type deadFile struct{}

type deadInfo struct{}

// run runs an operation through how, unless the disk is frozen.
func (f *diskFile) run(how func(func() error) error, op func() error) error {
	if f.disk.frozen.Load() {
		if f.of != nil && f.disk.opened.Load() {
			return f.of.frozen()
		}
		return nil
	}
	return f.disk.settle(f.name, f.of, how(op))
}

func (f *diskFile) Write(p []byte) (int, error) {
	n := 0
	err := f.run(f.grow, func() error {
		m, err := f.File.Write(p[n:])
		n += m
		return err
	})
	if err != nil {
		return n, err
	}
	return len(p), nil
}

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	n := 0
	err := f.run(f.grow, func() error {
		m, err := f.File.WriteAt(p[n:], at+int64(n))
		n += m
		return err
	})
	if err != nil {
		return n, err
	}
	return len(p), nil
}

func (f *diskFile) Sync() error { return f.run(f.disk.synced, f.File.Sync) }

func (f *diskFile) SyncData() error {
	if !isLog(f.name) {
		return f.run(f.disk.synced, f.File.SyncData)
	}
	begin := time.Now()
	defer func() { f.disk.logSync.note(time.Since(begin)) }()
	return f.run(f.disk.synced, f.File.SyncData)
}

// syncTime is how long syncs of the log take, on average over the last ones.
type syncTime struct{ average atomic.Int64 } // nanoseconds

func (t *syncTime) mean() time.Duration { return time.Duration(t.average.Load()) }

// note counts a sync. There is one at a time.
func (t *syncTime) note(took time.Duration) {
	average := t.average.Load()
	t.average.Store(average + (int64(took)-average)/8)
}

func (f *diskFile) SyncTo(length int64) (full bool, err error) {
	err = f.run(f.disk.synced, func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Close frees the descriptor also when the disk is frozen.
func (f *diskFile) Close() error {
	err := f.File.Close()
	if f.disk.frozen.Load() {
		return nil
	}
	return f.disk.settle(f.name, f.of, err)
}

func (f *diskFile) Preallocate(at, length int64) error {
	if f.disk.frozen.Load() {
		return nil
	}
	return f.File.Preallocate(at, length) // a hint, which may fail
}

func (f *diskFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if err = f.disk.settle(f.name, f.of, err); err == nil && info == nil {
		return deadFile{}.Stat()
	}
	return info, err
}

func (deadFile) Read([]byte) (int, error) { return 0, io.EOF }

func (deadFile) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

func (deadFile) Write(p []byte) (int, error) { return len(p), nil }

func (deadFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (deadFile) Preallocate(int64, int64) error { return nil }

func (deadFile) Prefetch(int64, int64) error { return nil }

func (deadFile) Sync() error { return nil }

func (deadFile) SyncData() error { return nil }

func (deadFile) SyncTo(int64) (bool, error) { return true, nil }

func (deadFile) Close() error { return nil }

func (deadFile) Fd() uintptr { return vfs.InvalidFd }

func (deadFile) Stat() (vfs.FileInfo, error) { return deadInfo{}, nil }

func (deadInfo) Name() string { return "" }

func (deadInfo) Size() int64 { return 0 }

func (deadInfo) Mode() os.FileMode { return 0 }

func (deadInfo) ModTime() time.Time { return time.Time{} }

func (deadInfo) IsDir() bool { return false }

func (deadInfo) Sys() any { return nil }

func (deadInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
