package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Get implements Store.
func (e *Engine) Get(ctx context.Context, key string) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	if !e.gate.enter() {
		return Entry{}, ErrClosed
	}
	defer e.gate.leave()
	return e.handed(e.newest(key))
}

// newest returns the newest visible version of a key.
//
// It needs no snapshot, since an iterator is one. The revision that is sought is read after
// the iterator is made: a version that is visible then and in the iterator cannot have been
// trimmed from it. The iterator may lack changes up to that revision, so the cache learns
// of the version as of the revision before it was made.
func (e *Engine) newest(key string) (Entry, error) {
	if stored, revision, ok := e.cache.get(key, e.Current(), e.generation()); ok {
		return entryOf(key, revision, stored)
	}
	if e.presence.absent(key) {
		return Entry{}, ErrNotFound
	}
	held := e.Current()
	it, err := e.db.NewIter(&pointOptions)
	if err != nil {
		return Entry{}, err
	}
	entry, err := e.seekEntry(it, key, e.Current(), held)
	if err == ErrNotFound {
		e.missed()
	}
	return entry, err
}

// pointOptions are the options of an iterator for one key. They use the Bloom filters of
// the deepest level too, so that a create does not read a block to find that its key is
// free.
var pointOptions = pebble.IterOptions{UseL6Filters: true}

// seekEntry returns the newest version of a key at or before a revision that the iterator
// has, and closes the iterator. The cache keeps the version if it is the newest: held is a
// revision up to which the iterator has all changes.
func (e *Engine) seekEntry(it *pebble.Iterator, key string, revision, held uint64) (entry Entry, err error) {
	defer func() {
		if closeErr := it.Close(); err == nil {
			err = closeErr
		}
	}()
	generation, stale := e.generation(), false
	stored, found, err := seekVersion(it, key, revision)
	if err == nil {
		stored, stale, err = e.opener().open(objectSpace, key, found, bytes.Clone(stored))
	}
	if err != nil {
		return Entry{}, err
	}
	if !stale { // which the cache does not know of
		e.cache.fill(key, held, found, generation, stored)
	}
	entry, err = entryOf(key, found, stored)
	entry.Rewritten = stale
	return entry, err
}

// seekVersion returns the stored value of the newest version of a key at or before a
// revision, and that version's revision. The bytes belong to the iterator until it moves.
func seekVersion(it *pebble.Iterator, key string, revision uint64) (stored []byte, found uint64, err error) {
	if CheckKey(key) != nil {
		return nil, 0, ErrNotFound
	}
	var scratch [keyScratch]byte
	if !it.SeekPrefixGE(appendVersion(scratch[:0], objectSpace, key, revision)) {
		if err := it.Error(); err != nil {
			return nil, 0, fmt.Errorf("store: cannot read %q: %w", key, plain(err))
		}
		return nil, 0, ErrNotFound
	}
	v, err := parseVersion(it.Key())
	if err != nil {
		return nil, 0, err
	}
	if v.tombstone {
		return nil, 0, ErrNotFound
	}
	if stored, err = it.ValueAndErr(); err != nil {
		return nil, 0, fmt.Errorf("store: cannot read %q: %w", key, plain(err))
	}
	return stored, v.revision, nil
}
