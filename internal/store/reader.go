package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// reader is a view at a revision: a snapshot of the tree in which only versions up to the
// revision count.
//
// The snapshot keeps versions that trimming deletes later, so an accepted view stays
// complete while it is open. Versions newer than the revision, also those not durable
// yet, are skipped.
type reader struct {
	engine   *Engine
	revision uint64

	mu   ranks.RWMutex[ranks.View]
	snap *pebble.Snapshot // nil when closed
}

var _ Reader = (*reader)(nil)

// At implements Store.
func (e *Engine) At(ctx context.Context, at uint64) (Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !e.gate.enter() {
		return nil, ErrClosed
	}
	defer e.gate.leave()
	r, err := e.view(at)
	if err != nil {
		return nil, err
	}
	e.readers.Lock()
	e.readers.open[r] = struct{}{}
	e.readers.Unlock()
	return r, nil
}

// view opens a view that is not counted among the open ones. The caller is inside the
// gate.
func (e *Engine) view(at uint64) (*reader, error) {
	for {
		r := &reader{engine: e, revision: at}
		current := e.Current()
		if at == 0 {
			r.revision = current
		}
		if at > current {
			return nil, &FutureError{Asked: at, Current: current}
		}
		// The snapshot is taken after the current revision was read, so it holds
		// everything up to it, and before the check of Oldest: trimming moves Oldest
		// before it deletes, so an accepted revision is complete in the snapshot.
		r.snap = e.db.NewSnapshot()
		if oldest := e.Oldest(); r.revision < oldest {
			if err := r.release(); err != nil {
				return nil, err
			}
			if at == 0 {
				continue // trimmed past the revision that was newest a moment ago
			}
			return nil, &TrimmedError{Asked: at, Oldest: oldest}
		}
		return r, nil
	}
}

func (r *reader) Revision() uint64 { return r.revision }

func (r *reader) Get(key string) (Entry, error) {
	if !r.engine.gate.enter() {
		return Entry{}, ErrClosed
	}
	defer r.engine.gate.leave()
	if r.closed() {
		return Entry{}, ErrClosed
	}
	if stored, revision, ok := r.engine.cache.get(key, r.revision, r.engine.generation()); ok {
		return r.engine.handed(entryOf(key, revision, stored))
	}
	it, err := r.iterator(&pointOptions)
	if err != nil {
		return Entry{}, err
	}
	return r.engine.handed(r.engine.seekEntry(it, key, r.revision, r.revision))
}

// GetEach implements Reader.
func (r *reader) GetEach(ctx context.Context, keys []string, visit func(e *Entry) bool) (err error) {
	if !r.engine.gate.enter() {
		return ErrClosed
	}
	defer r.engine.gate.leave()
	if r.closed() {
		return ErrClosed
	}
	var it *pebble.Iterator // made for the first key that the cache does not have
	defer func() {
		if it == nil {
			return
		}
		if closeErr := it.Close(); err == nil {
			err = closeErr
		}
	}()
	var entry Entry
	for n, key := range keys {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		stale, generation := false, r.engine.generation()
		stored, v, ok := r.engine.cache.get(key, r.revision, generation)
		if !ok {
			if it == nil {
				if it, err = r.iterator(&pointOptions); err != nil {
					return err
				}
			}
			stored, v, err = seekVersion(it, key, r.revision)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if stored, stale, err = r.engine.opener().open(objectSpace, key, v, stored); err != nil {
				return err
			}
			if !stale && len(keys) <= keepUpTo && r.engine.cache.wants(key, r.revision, len(stored)) {
				stored = bytes.Clone(stored)
				r.engine.cache.fill(key, r.revision, v, generation, stored)
			}
		}
		if entry, err = entryOf(key, v, stored); err != nil {
			return err
		}
		entry.Rewritten = stale
		if !visited(visit, &entry) {
			break
		}
	}
	return nil
}

// keepUpTo is the number of objects read together up to which they are cached. Larger
// parts of a collection would only push out objects that are read more often.
const keepUpTo = 512

func (r *reader) Scan(ctx context.Context, prefix, from string, visit func(e *Entry) bool) error {
	var keys keyArena
	var entry Entry
	open := r.engine.opener()
	return r.walk(ctx, objectSpace, prefix, from, func(v version, it *pebble.Iterator) (bool, error) {
		stored, err := it.ValueAndErr()
		if err != nil {
			return false, fmt.Errorf("store: cannot read %q: %w", v.key, plain(err))
		}
		entry.Key, entry.Revision = keys.add(v.key), v.revision
		if entry.Value, entry.Rewritten, err = open.value(entry.Key, v.revision, stored); err != nil {
			return false, err
		}
		return visited(visit, &entry), nil
	})
}

func (r *reader) ScanMeta(ctx context.Context, prefix, from string, visit func(e *Entry) bool) error {
	var keys keyArena
	entry := Entry{Value: Value{RevisionAt: -1}}
	open := r.engine.opener()
	return r.walk(ctx, headerSpace, prefix, from, func(v version, it *pebble.Iterator) (bool, error) {
		meta, err := it.ValueAndErr()
		if err != nil {
			return false, fmt.Errorf("store: cannot read the header of %q: %w", v.key, plain(err))
		}
		entry.Key, entry.Revision = keys.add(v.key), v.revision
		if entry.Meta, entry.Rewritten, err = open.open(headerSpace, entry.Key, v.revision, meta); err != nil {
			return false, err
		}
		return visited(visit, &entry), nil
	})
}

func (r *reader) Count(ctx context.Context, prefix, from string) (int64, error) {
	var n int64
	err := r.walk(ctx, headerSpace, prefix, from, func(version, *pebble.Iterator) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

const (
	checkEvery  = 256 // entries between checks of the context
	stepsBefore = 4   // newer versions to step over before a seek
)

// walk visits the live version of every key in a range of the object or the
// header space.
//
// Example: the view is at 6 and the tree holds a@9 a@7 a@5 a@2 b@8t b@3 c@4t.
// a@9 and a@7 are newer than the view and stepped over, a@5 is visited, the
// rest of a skipped with NextPrefix. b@8t is newer, b@3 visited. c@4t is a
// tombstone: c did not exist at 6. (Stepping once before skipping was measured:
// no gain where keys have one version, a loss where they have more.)
func (r *reader) walk(ctx context.Context, space byte, prefix, from string, visit func(version, *pebble.Iterator) (bool, error)) error {
	if !r.engine.gate.enter() {
		return ErrClosed
	}
	defer r.engine.gate.leave()
	lower, upper, ok := scanBounds(space, prefix, from)
	if !ok {
		return ctx.Err()
	}
	it, err := r.iterator(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // it.Error below reports the same error
	var scratch []byte
	var order scanOrder
	newer := 0
	for n, valid := 0, it.First(); valid; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.engine.gate.closed() {
				return ErrClosed
			}
		}
		v, err := parseVersion(it.Key())
		if err != nil {
			return err
		}
		if v.revision > r.revision {
			if newer++; newer < stepsBefore {
				valid = it.Next()
			} else {
				newer = 0
				scratch = appendVersion(scratch[:0], space, string(v.key), r.revision)
				valid = it.SeekGE(scratch)
			}
			continue
		}
		newer = 0
		if invariants.Enabled {
			order.check(v, r.revision)
		}
		if !v.tombstone {
			if more, err := visit(v, it); err != nil || !more {
				return err
			}
		}
		valid = it.NextPrefix()
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("store: cannot read the keys with prefix %q: %w", prefix, plain(err))
	}
	return nil
}

func (r *reader) iterator(o *pebble.IterOptions) (*pebble.Iterator, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.snap == nil {
		return nil, ErrClosed
	}
	return r.snap.NewIter(o)
}

func (r *reader) closed() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.snap == nil
}

func (r *reader) Close() error {
	if !r.engine.gate.enter() {
		return nil // the engine has closed it
	}
	defer r.engine.gate.leave()
	r.engine.readers.Lock()
	delete(r.engine.readers.open, r)
	r.engine.readers.Unlock()
	return r.release()
}

func (r *reader) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snap == nil {
		return nil
	}
	snap := r.snap
	r.snap = nil
	return snap.Close()
}
