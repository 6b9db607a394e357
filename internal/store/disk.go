package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system as the tree sees it. It keeps from Pebble the errors that would
// make it end the process: those of its log, its manifest and their directory.
//
// The first such error freezes the disk. From then on no operation of the tree reaches
// the files: they stay as a crash at that moment would leave them, a state that the next
// start can read. The tree gets a success, so that reads go on; new sorted files, which
// it would read back, are refused (except while the store opens: it will be closed, and
// Pebble would retry for ever). The engine learns of the error before the operation
// returns, so that it acknowledges nothing that depends on it.
//
// Invariants:
//
//	F1. failed has been called before an operation on a frozen disk returns.
//	F2. A failed sync is never repeated: the kernel may have dropped the data that it
//	    could not write, and report success the second time.
//	F3. Only files in dir count; a backup that fails elsewhere fails alone.
//	F4. A marker, an empty file whose name says which manifest counts, is made after
//	    that manifest's own name is on the disk, and the marker before is removed after
//	    the new one's name is. Pebble makes and removes both, syncs the directory once,
//	    and relies on the file system to keep the order of names, which POSIX does not
//	    promise.
//
// Example: the sync of 000007.log fails. The engine reports to the waiting writes that
// they may be lost and refuses later ones; the flush that runs cannot create its file.
// /readyz reports the failure, gets and lists go on with acknowledged objects. The next
// start reads the intact part of 000007.log.
type disk struct {
	vfs.FS
	dir     string
	reserve *reserve
	failed  func(error)
	logs    logs
	logSync syncTime

	opened               atomic.Bool // Open has succeeded
	frozen               atomic.Bool // nothing reaches the files any more
	flushes, compactions tables
	pause                time.Duration // before sorted files are written again, at first
	closing              chan struct{} // closed when retries stop
	once                 sync.Once
}

// tables counts the failed writes of sorted files of one kind.
type tables struct {
	last atomic.Pointer[tableFailure] // of the newest file, nil if it was written
}

type tableFailure struct {
	err   error
	at    time.Time
	tries int // failures since the last success
}

// failure returns the error of the newest file, or nil.
func (t *tables) failure() error {
	if f := t.last.Load(); f != nil {
		return f.err
	}
	return nil
}

// fail counts a failed write.
func (t *tables) fail(err error) (tries int) {
	f := &tableFailure{err: err, at: time.Now(), tries: 1}
	if before := t.last.Load(); before != nil {
		f.tries += before.tries
	}
	t.last.Store(f)
	return f.tries
}

// frozen counts a try on a frozen disk as a failure.
func (t *tables) frozen() error {
	t.fail(errFrozen)
	return errFrozen
}

// end notes the end of a flush or a compaction.
func (t *tables) end(err error) {
	if err == nil && t.last.Load() != nil {
		t.last.Store(nil)
	}
}

var errFrozen = errors.New("the disk has failed, nothing more is written until a restart")

const (
	// tablePause delays Pebble, which retries at once, so that it does not spin.
	tablePause = 500 * time.Millisecond
	// mostPause bounds the pause before a compaction, which doubles with every failure. A
	// waiting compaction may occupy space.
	mostPause = 5 * time.Second
	// openTries is the number of tries to write a sorted file while the store opens.
	// Pebble would go on for ever.
	openTries = 3
)

func newDisk(fs vfs.FS, dir string, r *reserve, failed func(error)) *disk {
	// The directory's name is spelled as in the names of its files.
	dir = fs.PathDir(fs.PathJoin(dir, "x"))
	return &disk{FS: fs, dir: dir, reserve: r, failed: failed, pause: tablePause, closing: make(chan struct{})}
}

// close ends all pauses.
func (d *disk) close() { d.once.Do(func() { close(d.closing) }) }

func (d *disk) freeze(err error) {
	d.failed(err)
	d.frozen.Store(true)
}

// own reports whether a file belongs to the tree.
func (d *disk) own(name string) bool { return name == d.dir || d.FS.PathDir(name) == d.dir }

// isTable reports whether a file is a sorted file. Pebble copes with errors of
// those: it keeps what it has and tries again.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// spaced runs an operation and, on a full disk, runs it once more after releasing the
// reserve. Not for syncs, see F2.
func (d *disk) spaced(op func() error) error {
	err := op()
	if isFull(err) {
		d.reserve.release(err)
		err = op()
	}
	return err
}

// sparing is spaced for compactions: they need much space for a while, so the disk is
// full for them before the reserve is touched.
func (d *disk) sparing(op func() error) error {
	if d.reserve.state() != nil && d.reserve.left() < d.reserve.bytes/4 {
		return fmt.Errorf("no space is left for compactions: %w", syscall.ENOSPC)
	}
	err := op()
	if isFull(err) {
		d.reserve.note(err)
	}
	return err
}

// synced runs a sync.
func (d *disk) synced(op func() error) error {
	err := op()
	if isFull(err) {
		d.reserve.release(err)
	}
	return err
}

// settle decides the result of a file operation that the tree sees; of is nil unless the
// file is a sorted file. On a frozen disk the caller has not run the operation.
func (d *disk) settle(name string, of *tables, err error) error {
	if err == nil {
		return nil
	}
	if of != nil {
		if tries := of.fail(err); d.opened.Load() || tries < openTries {
			return err
		}
	}
	d.freeze(fmt.Errorf("%s: %w", d.FS.PathBase(name), err))
	return nil
}

// tablesOf returns the counter for a file that a part of Pebble writes, nil unless it is
// a sorted file.
func (d *disk) tablesOf(name string, c vfs.DiskWriteCategory) *tables {
	switch {
	case !isTable(name):
		return nil
	case c == compactionWrites:
		return &d.compactions
	}
	return &d.flushes
}

// beforeTable waits a little after a failed try.
func (d *disk) beforeTable(of *tables) error {
	if f := of.last.Load(); f != nil {
		pause := d.pause
		switch {
		case !d.opened.Load():
			pause /= 10
		case of == &d.compactions:
			pause = min(pause<<min(f.tries, 10), mostPause)
		}
		t := time.NewTimer(pause - time.Since(f.at))
		defer t.Stop()
		select {
		case <-t.C:
		case <-d.closing:
		}
	}
	if d.frozen.Load() && d.opened.Load() {
		return of.frozen()
	}
	return nil
}

// compactionWrites is Pebble's name for the writes of compactions.
const compactionWrites = vfs.DiskWriteCategory("pebble-compaction")

// isMarker reports whether a file is a marker, an empty file whose name is its content.
func (d *disk) isMarker(name string) bool { return strings.HasPrefix(d.FS.PathBase(name), "marker.") }

// keepOrder makes the names in the directory durable, see F4.
func (d *disk) keepOrder() error {
	if d.frozen.Load() {
		return nil
	}
	dir, err := d.OpenDir(d.dir)
	if err != nil {
		return d.settle(d.dir, nil, err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// make opens a file for writing.
func (d *disk) make(name string, c vfs.DiskWriteCategory, op func() (vfs.File, error)) (f vfs.File, err error) {
	if !d.own(name) {
		return op()
	}
	of := d.tablesOf(name, c)
	if of != nil {
		if err := d.beforeTable(of); err != nil {
			return nil, err
		}
	}
	if d.isMarker(name) {
		if err := d.keepOrder(); err != nil {
			return nil, err
		}
	}
	if d.frozen.Load() {
		return deadFile{}, nil
	}
	grow := d.spaced
	if of == &d.compactions {
		grow = d.sparing
	}
	err = d.settle(name, of, grow(func() (err error) { f, err = op(); return err }))
	if err != nil {
		return nil, err
	}
	if f == nil { // the disk froze
		return deadFile{}, nil
	}
	if isLog(name) {
		if err := d.list(name, true); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return &diskFile{File: f, disk: d, name: name, of: of, grow: grow}, nil
}

// change runs an operation on directory entries.
func (d *disk) change(name string, op func() error) error {
	if !d.own(name) {
		return op()
	}
	if d.frozen.Load() {
		return nil
	}
	return d.settle(name, d.tablesOf(name, ""), d.spaced(op))
}

// Create implements vfs.FS.
func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.make(name, c, func() (vfs.File, error) { return d.FS.Create(name, c) })
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.own(old) && isLog(old) {
		if err := d.list(old, false); err != nil {
			return nil, err
		}
	}
	return d.make(name, c, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, c) })
}

// OpenReadWrite implements vfs.FS.
func (d *disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.make(name, c, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, c, o...) })
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil || !d.own(name) {
		return f, err
	}
	return &diskFile{File: f, disk: d, name: name, grow: d.spaced}, nil
}

// Link implements vfs.FS.
func (d *disk) Link(old, name string) error {
	return d.change(name, func() error { return d.FS.Link(old, name) })
}

// Rename implements vfs.FS.
func (d *disk) Rename(old, name string) error {
	return d.change(name, func() error { return d.FS.Rename(old, name) })
}

// MkdirAll implements vfs.FS. Other users cannot read backups either.
func (d *disk) MkdirAll(dir string, perm os.FileMode) error { return d.FS.MkdirAll(dir, perm&0o700) }

// Remove implements vfs.FS. Pebble tolerates a file that stays.
func (d *disk) Remove(name string) error {
	if !d.own(name) {
		return d.FS.Remove(name)
	}
	if d.isMarker(name) {
		if err := d.keepOrder(); err != nil {
			return err
		}
	}
	if isLog(name) {
		if err := d.list(name, false); err != nil {
			return err
		}
	}
	if d.frozen.Load() {
		return nil
	}
	return d.FS.Remove(name)
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

var _ vfs.File = deadFile{}
