package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// Engine is the Store that keeps everything in Pebble. Open makes one.
//
// It is a tree of encoded keys (see the package comment), a queue that makes
// writes visible in revision order (publisher), the newest versions and the
// existing keys in memory (cache, presence), a lock per key, and a goroutine that
// trims history.
//
// Every use of the tree happens inside the gate, so that Close can wait for
// them; every write to the tree goes through apply or applySynced.
type Engine struct {
	cfg  Config
	db   *pebble.DB
	disk *disk
	lock *pebble.Lock
	id   string

	gate      gate
	locks     KeyLocks
	publisher publisher
	cache     cache // of newest versions
	presence  presence
	failure   atomic.Pointer[writeError]
	damage    atomic.Pointer[damage] // the first that a read has met

	// write orders commits: the revision is taken and the batch handed to
	// Pebble in one critical section, so that the order of revisions is the
	// order in the log on disk.
	write struct {
		ranks.Mutex[ranks.Commit]
		next   uint64 // revision of the next write
		latest latest
	}
	syncing atomic.Int32 // commits that wait for the disk

	trim    trimmer
	readers struct {
		ranks.Mutex[ranks.Inner]
		open map[*reader]struct{}
	}

	given     handedOut          // used by builds with the tag invariants only
	stop      context.CancelFunc // ends the background goroutine
	stopped   chan struct{}      // closed when it has ended
	chores    sync.WaitGroup     // at most one reclaim, see there, and keepFlushed of a replica
	closeOnce sync.Once
	closeErr  error
}

var _ Store = (*Engine)(nil)

// writeError is the failure after which the store refuses writes.
type writeError struct{ err error }

// ID is a random text made together with the data directory. Backups have the same.
func (e *Engine) ID() string { return e.id }

// Current is the newest visible revision; 0 in an empty store.
func (e *Engine) Current() uint64 { return e.publisher.current.Load() }

// Oldest is the oldest revision that At accepts; 0 until something is trimmed or a replica has
// a gap.
func (e *Engine) Oldest() uint64 { return max(e.trim.oldest.Load(), e.publisher.gap.Load()) }

// Healthy returns nil, or the reason why writes are refused while reads go on. It also
// reports a damaged file that a read has met: the rest of the store can be read and
// written, but the damage needs attention.
//
// After a failed write of a log or a manifest only a restart helps, since the state of
// the disk is unknown. A full disk (ErrFull) refuses creates and updates until there is
// space. If sorted files cannot be written, all writes are refused once the memory for
// them is full. Both pass by themselves.
func (e *Engine) Healthy() error {
	if err := e.broken(); err != nil {
		return err
	}
	if err := e.disk.reserve.state(); err != nil {
		return err
	}
	if d := e.damage.Load(); d != nil {
		return d.err
	}
	return e.stalled(mostSublevels)
}

// broken returns the failure that only a restart repairs.
func (e *Engine) broken() error {
	if f := e.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// admit returns nil if a write may go to the tree now.
func (e *Engine) admit(w Write) error {
	if w.Frees || w.Op == OpDelete {
		if err := e.disk.reserve.state(); err != nil && !e.disk.reserve.suffices() {
			return fmt.Errorf("%w; there is no space left for deletions either", err)
		}
		return e.stalled(lastSublevel)
	}
	if err := e.disk.reserve.state(); err != nil {
		return err
	}
	return e.stalled(mostSublevels)
}

// The heights of level 0 above which writes are refused while compactions fail: first
// those that make the store grow, later also those that shrink it and thus make space for
// compactions. At 40 (options.go) Pebble would block writes until a compaction succeeds.
const (
	mostSublevels = 20
	lastSublevel  = 36
)

// stalled returns an error when sorted files cannot be written and the next write might
// block on one.
func (e *Engine) stalled(sublevels int32) error {
	flushes, compactions := e.disk.flushes.failure(), e.disk.compactions.failure()
	if flushes == nil && compactions == nil {
		return nil
	}
	m := e.db.Metrics()
	if flushes != nil && m.MemTable.Size > 2*uint64(e.cfg.MemTableBytes) {
		return backlog("memory can be written to sorted files again", flushes)
	}
	if compactions != nil && m.Levels[0].Sublevels > sublevels {
		return backlog("sorted files can be compacted again", compactions)
	}
	return nil
}

// backlog is the refusal of writes until a pending file has been written.
func backlog(until string, cause error) error {
	if isFull(cause) {
		return fmt.Errorf("%w: writes are refused until %s: %w", ErrFull, until, cause)
	}
	return fmt.Errorf("store: writes are refused until %s: %w", until, cause)
}

// fail records the first failure.
func (e *Engine) fail(err error) error {
	wrapped := &writeError{fmt.Errorf("store: a write could not be made durable, writes are refused until a restart: %w", err)}
	if e.failure.CompareAndSwap(nil, wrapped) {
		e.cfg.Logger.Error("store: a write could not be made durable, writes are refused until a restart", "error", err)
	}
	return e.broken()
}

// durable waits until a batch is on the disk. A frozen disk reports success to Pebble, so
// Pebble's result alone does not count.
func (e *Engine) durable(b *pebble.Batch) error {
	if e.cfg.logless() {
		return e.broken()
	}
	e.syncing.Add(1)
	err := b.SyncWait()
	e.syncing.Add(-1)
	if err != nil {
		return e.fail(err)
	}
	return e.broken()
}

// gathering is the time after a sync in which commits gather for the next one. A single
// writer, whose commit was the only one, waits for nobody.
func (e *Engine) gathering() time.Duration {
	if e.syncing.Load() > 1 {
		return min(max(e.disk.logSync.mean(), leastGathering), mostGathering)
	}
	return 0
}

// Commits gather for as long as a sync of the log takes: they wait at most twice as long as without
// gathering, and half as many syncs are needed.
const (
	leastGathering = 200 * time.Microsecond // about a sync of a fast disk
	mostGathering  = 3 * time.Millisecond
)

// apply hands a batch to the log and the memory table without waiting for the disk.
// e.write must be held. After an error the store is unhealthy.
//
// Errors of the disk do not come this way (see disk). After a panic of Pebble its commit
// pipeline stays locked: it gets no more batches, and Close leaves the files to the end
// of the process.
func (e *Engine) apply(b *pebble.Batch, wait bool) (err error) {
	if invariants.Enabled && e.write.TryLock() {
		invariants.Failf("a batch is handed to the tree without the lock that orders batches")
	}
	if err := e.broken(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			e.gate.poison()
			err = e.fail(fmt.Errorf("%v", p))
		}
	}()
	if wait && !e.cfg.logless() {
		err = e.db.ApplyNoSyncWait(b, pebble.Sync)
	} else {
		err = e.db.Apply(b, pebble.NoSync)
	}
	if err != nil {
		return e.fail(err)
	}
	return nil
}

// applySynced applies a batch of the store's own settings and waits until it is
// durable.
func (e *Engine) applySynced(b *pebble.Batch) error {
	if err := e.stalled(lastSublevel); err != nil {
		return err
	}
	e.write.Lock()
	err := e.apply(b, true)
	e.write.Unlock()
	if err != nil {
		return err
	}
	if err := e.durable(b); err != nil {
		return err
	}
	return b.Close()
}

// applyLazily applies a batch that a crash may lose, as long as it loses everything after
// it too.
func (e *Engine) applyLazily(b *pebble.Batch) error {
	if err := e.stalled(lastSublevel); err != nil {
		return err
	}
	e.write.Lock()
	err := e.apply(b, false)
	e.write.Unlock()
	if err != nil {
		return err
	}
	return b.Close()
}

// Close refuses new work, waits for running calls, and closes the files. Views that are
// still open answer ErrClosed from then on. A second call returns the same result.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Engine) close() error {
	e.stop()
	<-e.stopped
	e.chores.Wait()
	e.publisher.close()
	e.gate.close()
	if invariants.Enabled {
		e.given.check()
	}
	e.readers.Lock()
	open := e.readers.open
	e.readers.open = nil
	e.readers.Unlock()
	for r := range open {
		r.release()
	}
	if e.gate.poisoned.Load() {
		return fmt.Errorf("store: the files stay open until the process ends: %w", e.broken())
	}
	err := e.flush()
	e.disk.close()
	return errors.Join(err, e.db.Close(), e.disk.closeLogs(), e.lock.Close())
}

// flushOnClose is the size up to which a memory table is left to be read again from the
// log by the next start.
const flushOnClose = 4 << 20

// flush moves the newest writes to sorted files if they are many, so that the next start
// is quick, or if they have no log. It gives up when such files cannot be written, since the log has everything
// too, or the source of a replica.
func (e *Engine) flush() error {
	if e.cfg.readOnly || !e.cfg.Replica && e.db.Metrics().MemTable.Size < flushOnClose {
		return nil
	}
	return e.tryFlush()
}

func (e *Engine) tryFlush() error {
	if e.broken() != nil || e.disk.flushes.failure() != nil {
		return nil
	}
	flushed, err := e.db.AsyncFlush()
	if err != nil {
		return err
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-flushed:
			return nil
		case <-look.C:
			if e.disk.flushes.failure() != nil || e.broken() != nil {
				return nil
			}
		}
	}
}

// gate counts the calls inside the engine.
//
// Invariant: after close has returned no call is inside, and none gets in.
type gate struct {
	state    atomic.Int64 // calls inside, plus closing
	once     sync.Once
	empty    chan struct{}
	poisoned atomic.Bool
}

const closing = 1 << 62

func newGate() gate { return gate{empty: make(chan struct{})} }

// enter reports whether the caller may enter; then it must call leave.
func (g *gate) enter() bool {
	if g.state.Add(1) >= closing {
		g.leave()
		return false
	}
	return true
}

func (g *gate) leave() {
	left := g.state.Add(-1)
	if left == closing {
		g.once.Do(func() { close(g.empty) })
	}
	if invariants.Enabled && left < 0 {
		invariants.Failf("the gate is left by somebody who has not entered")
	}
}

// stay is a call inside of a gate, which may step out for a while.
type stay struct {
	gate   *gate
	inside bool
}

func (s *stay) leave() {
	if s.inside {
		s.inside = false
		s.gate.leave()
	}
}

// outside runs a part of a call that an engine does not wait for when it is closed. The
// rest of the call needs the engine.
func outside[T any](s *stay, do func() (T, error)) (T, error) {
	s.leave()
	v, err := do()
	if err == nil {
		if s.inside = s.gate.enter(); !s.inside {
			err = ErrClosed
		}
	}
	return v, err
}

// closed reports whether close has been called, for long calls.
func (g *gate) closed() bool { return g.state.Load() >= closing }

// poison marks the tree as unusable for Close.
func (g *gate) poison() { g.poisoned.Store(true) }

func (g *gate) close() {
	g.state.Add(closing + 1)
	g.leave()
	<-g.empty
}
