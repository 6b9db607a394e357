package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Update implements Store.
//
// The steps of a write, and the promise that each keeps:
//
//  1. The key's lock is taken. It is held until the write is visible, so the value
//     read under it is the newest one, durable, and the one that readers see.
//  2. fn returns the write.
//  3. In one short critical section for the whole store the write's read set is
//     compared (lockUnchanged), the revision is taken, spliced into the body, and the
//     batch (version, header, log record) handed to Pebble: the order of revisions is
//     the order in the log on disk.
//  4. Outside of it the write waits for the disk. Writes that wait together
//     share a sync.
//  5. The publisher makes it visible and announces it, after or together with
//     all earlier ones.
func (e *Engine) Update(ctx context.Context, key string, fn func(current *Entry) (Write, error)) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	in, err := e.begin()
	if err != nil {
		return Entry{}, err
	}
	defer in.leave()
	lock, err := e.locks.Acquire(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	defer e.locks.Release(key, lock)
	if err := e.broken(); err != nil {
		return Entry{}, err
	}
	current, err := e.updated(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	w, err := outside(&in, func() (Write, error) { return fn(current) })
	if err != nil {
		return Entry{}, err
	}
	if err := CheckWrite(key, w, current); err != nil {
		return Entry{}, err
	}
	if w.Op == 0 {
		if current == nil {
			return Entry{}, nil
		}
		return *current, nil
	}
	p, err := e.newPending(ctx, key, w, current)
	if err != nil {
		return Entry{}, err
	}
	if err := e.commit(ctx, p); err != nil {
		return Entry{}, err
	}
	return e.handed(p.change.Entry, nil)
}

// begin lets a transaction in, which has to leave. Errors: ErrReplica, ErrClosed.
func (e *Engine) begin() (stay, error) {
	if e.cfg.Replica {
		return stay{}, ErrReplica
	}
	if !e.gate.enter() {
		return stay{}, ErrClosed
	}
	return stay{&e.gate, true}, nil
}

// CheckWrite refuses writes that contradict the current state of a key.
func CheckWrite(key string, w Write, current *Entry) error {
	switch w.Op {
	case 0:
		return nil
	case OpCreate:
		if current != nil {
			return fmt.Errorf("store: create of %q, which exists at revision %d; use OpUpdate", key, current.Revision)
		}
	case OpUpdate, OpDelete:
		if current == nil {
			return fmt.Errorf("store: operation %d on %q, which does not exist; use OpCreate", w.Op, key)
		}
		if current.Unreadable && w.Op == OpUpdate {
			return fmt.Errorf("store: update of %q, which cannot be read; it can only be deleted", key)
		}
	default:
		return fmt.Errorf("store: unknown operation %d on %q", w.Op, key)
	}
	if w.Value.RevisionAt > len(w.Value.Body) {
		return fmt.Errorf("store: the revision of %q goes to byte %d of a body of %d", key, w.Value.RevisionAt, len(w.Value.Body))
	}
	return nil
}

// UpdateAll implements Store. The steps are those of Update; the locks are taken in the
// order of keys, so that two calls never wait for each other.
func (e *Engine) UpdateAll(ctx context.Context, keys []string, fn func(current []*Entry) ([]Write, error)) ([]Entry, error) {
	in, err := e.begin()
	if err != nil {
		return nil, err
	}
	defer in.leave()
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if err := CheckKey(key); err != nil {
			return nil, err
		}
		lock, err := e.locks.Acquire(ctx, key)
		if err != nil {
			return nil, err
		}
		defer e.locks.Release(key, lock)
	}
	if err := e.broken(); err != nil {
		return nil, err
	}
	current, entries := make([]*Entry, len(keys)), make([]Entry, len(keys))
	for i, key := range keys {
		switch found, err := e.newest(key); {
		case err == nil:
			current[i], entries[i] = &found, found
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	writes, err := outside(&in, func() ([]Write, error) { return fn(current) })
	if err != nil {
		return nil, err
	}
	var made []*pending
	for i, w := range writes {
		if err := CheckWrite(keys[i], w, current[i]); err != nil {
			return nil, err
		}
		if w.Op == 0 {
			continue
		}
		p, err := e.newPending(ctx, keys[i], w, current[i])
		if err != nil {
			return nil, err
		}
		made = append(made, p)
	}
	if err := e.commit(ctx, made...); err != nil {
		return nil, err
	}
	for i, w := range writes {
		if w.Op == 0 {
			continue
		}
		if entries[i], err = e.handed(made[0].change.Entry, nil); err != nil {
			return nil, err
		}
		made = made[1:]
	}
	return entries, nil
}

// newPending is a write of fn on its way, unless the disk is full.
func (e *Engine) newPending(ctx context.Context, key string, w Write, current *Entry) (p *pending, err error) {
	if err := errors.Join(ctx.Err(), e.admit(w)); err != nil {
		return nil, err
	}
	p = &pending{change: &Change{Op: w.Op, Entry: Entry{Key: key, Value: w.Value}}, seen: w.Seen, marks: w.Marks, sealsBy: e.generation()}
	if p.seal, err = e.sealer(key); err != nil {
		return nil, err
	}
	if current != nil {
		p.change.Prev = lastKnown(*current, w.Value)
	}
	if w.Op == OpDelete {
		p.stored = shortRecord(w.Value, p.change.Prev)
		p.short = p.stored != nil
	}
	return p, nil
}

// commit performs writes, in one batch. The locks of their keys are held. Errors:
// ErrChanged and ctx's, when nothing was written; I/O errors.
func (e *Engine) commit(ctx context.Context, all ...*pending) error {
	if len(all) == 0 {
		return nil
	}
	size := 0
	for _, p := range all {
		size += batchBytes(p)
	}
	if err := e.lockUnchanged(ctx, all); err != nil {
		return err
	}
	b := e.db.NewBatchWithSize(size)
	var err error
	for i, p := range all {
		c := p.change
		c.Entry.Revision = e.write.next + uint64(i)
		var stored []byte
		if stored, c.Entry.Value = encodeValue(c.Entry.Value, c.Entry.Revision); !p.short {
			p.stored = stored
		}
		if err == nil {
			err = setChange(b, p)
		}
	}
	if err == nil {
		err = e.apply(b, true)
	}
	if err == nil {
		e.write.next += uint64(len(all))
		for _, p := range all {
			e.write.latest.note(p)
		}
		e.publisher.enqueue(all...)
	}
	e.write.Unlock()
	if err != nil {
		return err
	}

	err = e.durable(b)
	closeErr := b.Close() // returns the batch to its pool
	if err != nil {
		return e.publisher.finish(all[0], err)
	}
	if err := e.publisher.finish(all[len(all)-1], nil); err != nil {
		return err
	}
	return closeErr
}

// setChange adds the records of a change to a batch.
func setChange(b *pebble.Batch, p *pending) error {
	if err := setVersion(b, p); err != nil {
		return err
	}
	var scratch [keyScratch]byte
	k := appendLogOf(scratch[:0], p.change.Entry.Revision, p.place)
	return b.Set(k, appendRecord(k[len(k):], p.change.Op, p.change.Prev.Revision, p.change.Entry.Key), nil)
}

// setVersion adds the records of the version that a change writes to a batch.
func setVersion(b *pebble.Batch, p *pending) error {
	c := p.change
	var scratch [keyScratch]byte
	k := appendChange(scratch[:0], objectSpace, c.Entry.Key, c.Entry.Revision, c.Op)
	if err := b.Set(k, p.sealed(objectSpace, p.stored), nil); err != nil {
		return err
	}
	header := c.Entry.Meta
	if p.short {
		header = nil
	}
	k[0] = headerSpace
	return b.Set(k, p.sealed(headerSpace, header), nil)
}

// keyScratch is the size of a buffer for the tree's key of most objects.
const keyScratch = 192
