package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Engine is the Store that keeps everything in Pebble. Open makes one.
//
// It is a tree of encoded keys (see the package comment), a queue that makes
// writes visible in revision order (publisher), a lock per key, and a goroutine
// that trims history.
//
// Every use of the tree happens inside the gate, so that Close can wait for
// them; every write to the tree goes through apply or applySynced.
type Engine struct {
	cfg  Config
	db   *pebble.DB
	lock *pebble.Lock
	id   string

	gate      gate
	locks     keyLocks
	publisher publisher
	failure   atomic.Pointer[writeError]

	// write orders commits: the revision is taken and the batch handed to
	// Pebble in one critical section, so that the order of revisions is the
	// order in the log on disk.
	write struct {
		sync.Mutex
		next uint64 // revision of the next write
	}

	trim    trimmer
	readers struct {
		sync.Mutex
		open map[*reader]struct{}
	}

	stop      context.CancelFunc // ends the background goroutine
	stopped   chan struct{}      // closed when it has ended
	closeOnce sync.Once
	closeErr  error
}

var _ Store = (*Engine)(nil)

// writeError is the failure after which writes are refused.
type writeError struct{ err error }

// ID is a random text that was made with the data directory and stays with it,
// also in backups.
func (e *Engine) ID() string { return e.id }

// Current is the newest visible revision; 0 in an empty store.
func (e *Engine) Current() uint64 { return e.publisher.current.Load() }

// Oldest is the oldest revision that At accepts; 0 as long as nothing has been
// trimmed.
func (e *Engine) Oldest() uint64 { return e.trim.oldest.Load() }

// Healthy returns nil, or the I/O error after which writes are refused. Reads go
// on. Only a restart mends it: what reached the disk has to be found out anew.
func (e *Engine) Healthy() error {
	if f := e.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// fail records the first failure.
func (e *Engine) fail(err error) error {
	wrapped := &writeError{fmt.Errorf("store: a write could not be made durable, writes are refused until a restart: %w", err)}
	if e.failure.CompareAndSwap(nil, wrapped) {
		e.cfg.Logger.Error("store: a write could not be made durable, writes are refused until a restart", "error", err)
	}
	return e.Healthy()
}

// apply hands a batch to the log and the memory table without waiting for the
// disk. e.write must be held. After an error the store is unhealthy.
//
// Pebble panics when its log cannot be written at all. That leaves its commit
// pipeline locked, which is why nothing is handed to it once the store is
// unhealthy, and why Close then leaves the files to the end of the process.
func (e *Engine) apply(b *pebble.Batch, wait bool) (err error) {
	if err := e.Healthy(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			e.gate.poison()
			err = e.fail(fmt.Errorf("%v", p))
		}
	}()
	if wait {
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
	e.write.Lock()
	err := e.apply(b, true)
	e.write.Unlock()
	if err != nil {
		return err
	}
	if err := b.SyncWait(); err != nil {
		return e.fail(err)
	}
	return b.Close()
}

// applyLazily applies a batch that may be lost in a crash, as long as nothing
// after it survives.
func (e *Engine) applyLazily(b *pebble.Batch) error {
	e.write.Lock()
	err := e.apply(b, false)
	e.write.Unlock()
	if err != nil {
		return err
	}
	return b.Close()
}

// Close refuses new work, waits for the calls that run, and closes the files.
// Views that are still open answer ErrClosed from then on. It may be called
// again and returns the same.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Engine) close() error {
	e.stop()
	<-e.stopped
	e.publisher.close()
	e.gate.close()
	e.readers.Lock()
	for r := range e.readers.open {
		r.release()
	}
	e.readers.open = nil
	e.readers.Unlock()
	if e.gate.poisoned.Load() {
		return fmt.Errorf("store: the files stay open until the process ends: %w", e.Healthy())
	}
	return errors.Join(e.flush(), e.db.Close(), e.lock.Close())
}

// flushOnClose is how large a memory table may be that the next start has to
// read from the log again.
const flushOnClose = 4 << 20

// flush moves the newest writes to sorted files if they are many, so that the
// next start is quick.
func (e *Engine) flush() error {
	if e.Healthy() != nil || e.db.Metrics().MemTable.Size < flushOnClose {
		return nil
	}
	return e.db.Flush()
}

// gate counts the calls inside the engine.
//
// Invariant: after close has returned nobody is inside, and nobody gets in.
type gate struct {
	state    atomic.Int64 // calls inside, plus closing
	once     sync.Once
	empty    chan struct{}
	poisoned atomic.Bool
}

const closing = 1 << 62

func newGate() gate { return gate{empty: make(chan struct{})} }

// enter reports whether the caller may go on; then it must call leave.
func (g *gate) enter() bool {
	if g.state.Add(1) >= closing {
		g.leave()
		return false
	}
	return true
}

func (g *gate) leave() {
	if g.state.Add(-1) == closing {
		g.once.Do(func() { close(g.empty) })
	}
}

// closed reports whether close has been called, for calls that take long.
func (g *gate) closed() bool { return g.state.Load() >= closing }

// poison marks the tree as unusable for Close.
func (g *gate) poison() { g.poisoned.Store(true) }

func (g *gate) close() {
	g.state.Add(closing + 1)
	g.leave()
	<-g.empty
}
