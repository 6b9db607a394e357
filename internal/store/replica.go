package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A replica (Config.Replica) follows a store that other processes write, and serves reads as of
// the revision up to which it has followed. The other store gives the revisions: they have gaps,
// and the changes of one transaction share one. What a replica holds can be read again from its
// source, so its writes have no log, and are in sorted files after Config.FlushInterval at the latest. A crash loses
// the newest ones, never one from their middle.

// ErrReplica: a transaction on a replica. Its source has to be written instead.
var ErrReplica = errors.New("store: a replica is written by following its source only")

// Followed is a change of the source of a replica.
type Followed struct {
	Key      string
	Revision uint64
	Delete   bool
	// Value is the new value, or the final state of a deleted key.
	Value Value
	// Encoded is the new value with the revision, where somebody has made it already; Value is not used then.
	Encoded *Encoded
}

// encoded is the value with its revision.
func (f *Followed) encoded() Encoded {
	if f.Encoded != nil {
		return *f.Encoded
	}
	return Encode(f.Value, f.Revision)
}

// Entry is the entry that the change writes, of a key that is not deleted.
func (f *Followed) Entry() Entry {
	return Entry{Key: f.Key, Revision: f.Revision, Value: f.encoded().Value}
}

// Replicate stores and announces changes of the source, in the order of their revisions, which
// follow Current. The changes at one revision are all in one call. A deletion of a key that the
// replica does not have counts for nothing. gap says that they replace others, see Batch: history
// before the last of them is refused from then on. Errors: ErrClosed, I/O errors.
func (e *Engine) Replicate(all []Followed, gap bool) error {
	if !e.cfg.Replica {
		return errors.New("store: only a replica follows another store")
	}
	if !e.gate.enter() {
		return ErrClosed
	}
	defer e.gate.leave()
	made, err := e.followed(all)
	if err != nil || len(made) == 0 {
		return err
	}
	b := e.db.NewBatch()
	for _, p := range made {
		p.gap = gap
		if err := setChange(b, p); err != nil {
			return err
		}
	}
	newest := made[len(made)-1].change.Entry.Revision
	if gap {
		if err := setRevision(b, metaGap, newest); err != nil {
			return err
		}
	}
	e.write.Lock()
	if err = e.apply(b, false); err == nil {
		e.write.next = newest + 1
		e.publisher.enqueue(made...)
	}
	e.write.Unlock()
	if err == nil {
		err = e.publisher.finish(made[len(made)-1], nil)
	}
	return errors.Join(err, b.Close())
}

// followed makes the writes of changes. Replicate and Advance are called one after the other, so
// nothing else writes meanwhile.
func (e *Engine) followed(all []Followed) (made []*pending, err error) {
	before := map[string]*Entry{} // of the keys that these changes wrote; nil for a deleted one
	last, place := e.Current(), 0
	for i := range all {
		f := &all[i]
		switch {
		case f.Revision == last && i > 0:
			place++
		case f.Revision > last:
			last, place = f.Revision, 0
		default:
			return nil, fmt.Errorf("store: revision %d of the source follows %d", f.Revision, last)
		}
		if place >= mostPlaces {
			return nil, fmt.Errorf("store: revision %d of the source has more than %d changes", f.Revision, mostPlaces)
		}
		if err := CheckKey(f.Key); err != nil {
			return nil, err
		}
		current, known := before[f.Key]
		if !known {
			found, err := e.newest(f.Key)
			if err == nil {
				current = &found
			} else if !errors.Is(err, ErrNotFound) {
				return nil, err
			}
		}
		p, err := e.newFollowed(f, current, place)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		made = append(made, p)
		if before[f.Key] = nil; !f.Delete {
			before[f.Key] = &p.change.Entry
		}
	}
	return made, nil
}

// newFollowed makes the write of one change; nil for a deletion of nothing.
func (e *Engine) newFollowed(f *Followed, current *Entry, place int) (p *pending, err error) {
	p = &pending{change: &Change{Entry: Entry{Key: f.Key, Revision: f.Revision}}, place: place, sealsBy: e.generation()}
	switch {
	case f.Delete && current == nil:
		return nil, nil
	case f.Delete:
		p.change.Op = OpDelete
		p.stored = shortRecord(f.Value, *current)
		p.short = p.stored != nil
	case current == nil:
		p.change.Op = OpCreate
	default:
		p.change.Op = OpUpdate
	}
	if current != nil {
		p.change.Prev = *current
	}
	if p.seal, err = e.sealer(f.Key); err != nil {
		return nil, err
	}
	made := f.encoded()
	if p.change.Entry.Value = made.Value; !p.short {
		p.stored = made.stored
	}
	return p, nil
}

// Advance makes a revision of the source the current one: the replica has all changes up to it.
func (e *Engine) Advance(revision uint64) {
	e.write.Lock()
	defer e.write.Unlock()
	e.write.next = max(e.write.next, revision+1)
	e.publisher.advance(revision)
}

// advance makes a revision without a change visible, and announces it.
func (q *publisher) advance(revision uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if revision > q.current.Load() {
		q.current.Store(revision)
		q.announce(Batch{Revision: revision})
		q.release(revision)
	}
}

// Source is the text about the source that Load was given; "" before.
func (e *Engine) Source() (string, error) {
	text, err := readSetting(e.db, metaSource)
	return string(text), err
}

// Load fills an empty replica with the state of its source. read puts each key, and returns the
// revision of the state: those of values are at most that. source is kept for Source once the state
// is complete: a replica without it was interrupted, and its folder has to be removed.
func (e *Engine) Load(source string, read func(*Loading) (revision uint64, err error)) error {
	if !e.cfg.Replica || e.Current() != 0 {
		return errors.New("store: only an empty replica can be loaded")
	}
	if !e.gate.enter() {
		return ErrClosed
	}
	defer e.gate.leave()
	l := &Loading{engine: e, batch: e.db.NewBatch()}
	revision, err := read(l)
	if err != nil {
		return err
	}
	if l.newest > revision {
		return fmt.Errorf("store: a value of revision %d in the state of revision %d", l.newest, revision)
	}
	b := l.batch
	if err := errors.Join(setRevision(b, metaOldest, revision), setRevision(b, metaSwept, revision),
		b.Set(metaKey(metaSource), []byte(source), nil)); err != nil {
		return err
	}
	if err := e.applySynced(b); err != nil {
		return err
	}
	e.trim.mu.Lock()
	e.trim.oldest.Store(revision)
	e.trim.swept = revision
	e.trim.mu.Unlock()
	e.Advance(revision)
	return e.tryFlush()
}

// keepFlushed moves the writes of a replica to sorted files in each FlushInterval, until ctx ends.
func (e *Engine) keepFlushed(ctx context.Context) {
	tick := time.NewTicker(e.cfg.FlushInterval)
	defer tick.Stop()
	for flushed := e.Current(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		current := e.Current()
		if current == flushed {
			continue
		}
		if err := e.tryFlush(); err != nil {
			e.cfg.Logger.Warn("store: the replica's newest writes stay in memory, and are tried again", "error", err)
			continue
		}
		flushed = current
	}
}

// Loading takes the values of the source's state. It is for one goroutine.
type Loading struct {
	engine *Engine
	batch  *pebble.Batch
	newest uint64 // revision of a value
}

// Put adds the value of a key at its revision, which is not 0.
func (l *Loading) Put(key string, at uint64, v Value) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if at == 0 {
		return fmt.Errorf("store: %q has no revision", key)
	}
	l.newest = max(l.newest, at)
	if err := l.engine.setLoaded(l.batch, key, at, v); err != nil {
		return err
	}
	if l.batch.Len() < loadBatch {
		return nil
	}
	err := l.engine.applyLazily(l.batch)
	l.batch = l.engine.db.NewBatch()
	return err
}

// Drop takes the keys with a prefix out again, for a source that begins anew with them.
func (l *Loading) Drop(prefix string) error {
	for _, space := range []byte{objectSpace, headerSpace} {
		lower, upper, ok := scanBounds(space, prefix, "")
		if !ok {
			continue
		}
		if err := l.batch.DeleteRange(lower, upper, nil); err != nil {
			return err
		}
	}
	return nil
}

// loadBatch is the size in bytes from which on a batch of loaded values is applied.
const loadBatch = 1 << 20

// setLoaded adds the records of a value of the source's state to a batch.
func (e *Engine) setLoaded(b *pebble.Batch, key string, at uint64, v Value) error {
	seal, err := e.sealer(key)
	if err != nil {
		return err
	}
	stored, value := encodeValue(v, at)
	p := &pending{change: &Change{Op: OpCreate, Entry: Entry{Key: key, Revision: at, Value: value}}, stored: stored, seal: seal}
	return setVersion(b, p)
}
