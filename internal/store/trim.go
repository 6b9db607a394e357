package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// trimmer removes history that is old enough.
//
// Trimming to T means that views before T are refused. Then, for every change up to T,
// the log names the records that no view needs any more: the version that the change
// replaced, the tombstone if it was a deletion (each with its header), and the log record
// itself. Those are deleted, in small batches, without reading anything else.
//
// Invariants:
//
//	T1. oldest is durable before it is visible, and visible before anything is
//	    deleted.
//	T2. The records that changes up to swept made superfluous are deleted; swept is
//	    written together with the deletions. swept <= oldest.
//	T3. The newest version of a key is never deleted, except a tombstone.
//	T4. A record is written once and deleted at most once, so that its deletion and it
//	    vanish where compactions bring them together (Pebble's SingleDelete). Other
//	    deletions sink to the last level, which is written again for them.
//
// Example: the log is 1:create a, 2:create b, 3:update a, 4:delete b, 5:update a
// and the tree a@5 a@3 a@1 b@4t b@2. Trimming to 4 leaves the log 5:update a
// and the tree a@5 a@3. The view at 4 still sees a@3 and no b; the feed after 4
// still has a@3 as the state before the change at 5.
type trimmer struct {
	oldest atomic.Uint64

	mu      ranks.Mutex[ranks.Operation] // one trim at a time; guards the fields below
	swept   uint64
	samples []sample  // in order of time and of revision
	read    time.Time // the clock when it was last read
	now     int64     // history's own time at that reading, see advance

	reclaiming atomic.Bool // reclaim runs, and owns given
	given      uint64      // swept when reclaim ran last
}

// sample notes that at a time (see advance) the newest visible revision was that one, so
// that all changes up to it are at least as old.
type sample struct {
	nanoseconds int64
	revision    uint64
}

const (
	sweepStep      = 256 // log records per batch: a fraction of a millisecond
	samplesPerSpan = 60  // samples kept of one span of history
	minSampleGap   = 100 * time.Millisecond
	maxSampleGap   = 10 * time.Second
	reclaimTime    = time.Minute     // of one try to find space for a compaction
	leastJump      = 5 * time.Second // a jump of the clock that is logged
)

func (e *Engine) loadTrimmer() error {
	t := &e.trim
	oldest, err := readRevisionSetting(e.db, metaOldest)
	if err != nil {
		return err
	}
	t.oldest.Store(oldest)
	if t.swept, err = readRevisionSetting(e.db, metaSwept); err != nil {
		return err
	}
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: []byte{sampleSpace}, UpperBound: []byte{sampleSpace + 1}})
	if err != nil {
		return err
	}
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		var s sample
		if s, err = readSample(it); err == nil {
			t.samples = append(t.samples, s)
		}
	}
	t.read = e.cfg.Clock()
	t.now = t.read.UnixNano()
	if n := len(t.samples); n > 0 && t.samples[n-1].nanoseconds > t.now {
		behind := time.Duration(t.samples[n-1].nanoseconds - t.now)
		t.now += int64(behind)
		if behind > leastJump {
			e.cfg.Logger.Warn("store: the clock is behind that of the last run; history goes on from there", "by", behind)
		}
	}
	return errors.Join(err, it.Close())
}

// advance reads the clock. History has a time of its own, which begins at the clock's and
// then only advances, by the monotonic clock where there is one: a wall clock that was
// wrong for a while neither trims too much nor stops trimming.
func (e *Engine) advance() {
	t, read := &e.trim, e.cfg.Clock()
	passed, shown := read.Sub(t.read), read.Round(0).Sub(t.read.Round(0))
	if passed < 0 { // no monotonic reading
		passed = 0
	}
	if jump := shown - passed; jump.Abs() > leastJump {
		e.cfg.Logger.Warn("store: the clock was set; history is trimmed as if it had not been", "by", jump)
	}
	t.read, t.now = read, t.now+int64(passed)
}

// readSample decodes the sample that the iterator is at.
func readSample(it *pebble.Iterator) (sample, error) {
	stored, err := it.ValueAndErr()
	if err != nil {
		return sample{}, err
	}
	return decodeSample(it.Key(), stored)
}

// decodeSample decodes a sample's key and value. It refuses times before 1970.
func decodeSample(key, stored []byte) (sample, error) {
	nanoseconds, err := parseNumber(sampleSpace, key)
	if err != nil {
		return sample{}, err
	}
	if nanoseconds > math.MaxInt64 {
		return sample{}, fmt.Errorf("store: the sample %q has no time", key)
	}
	revision, err := decodeRevision(stored)
	return sample{int64(nanoseconds), revision}, err
}

// keepHistory samples and trims until ctx ends.
func (e *Engine) keepHistory(ctx context.Context) {
	defer close(e.stopped)
	every := min(max(e.cfg.History/samplesPerSpan, minSampleGap), maxSampleGap)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	e.disk.reserve.fill()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := e.tick(ctx); err != nil && ctx.Err() == nil && e.broken() == nil {
			e.cfg.Logger.Error("store: history could not be trimmed", "error", err)
		}
		e.reclaim(ctx)
	}
}

// tick takes a sample and trims history that has become too old. In an idle store it
// writes nothing.
func (e *Engine) tick(ctx context.Context) error {
	if err := e.broken(); err != nil {
		return err
	}
	e.disk.reserve.fill()
	t := &e.trim
	t.mu.Lock()
	defer t.mu.Unlock()
	e.advance()
	if err := e.takeSample(); err != nil {
		return err
	}
	limit, old := t.now-int64(e.cfg.History), 0
	for old < len(t.samples) && t.samples[old].nanoseconds <= limit {
		old++
	}
	if old == 0 {
		return e.sweep(ctx) // of an earlier run, if that was interrupted
	}
	upTo := t.samples[old-1].revision
	if upTo == t.oldest.Load() && old == 1 {
		return e.sweep(ctx)
	}
	if err := e.trimTo(ctx, upTo); err != nil {
		return err
	}
	return e.dropSamples(old - 1)
}

// reclaim compacts the trimmed space away when the disk is full. Otherwise compactions do
// that in their own time. It runs while trimming goes on, which may have to make the
// space that it needs.
func (e *Engine) reclaim(ctx context.Context) {
	t := &e.trim
	t.mu.Lock()
	swept := t.swept
	t.mu.Unlock()
	if e.disk.reserve.state() == nil || e.broken() != nil || !t.reclaiming.CompareAndSwap(false, true) {
		return
	}
	if swept == t.given {
		t.reclaiming.Store(false)
		return
	}
	e.chores.Go(func() {
		defer t.reclaiming.Store(false)
		compacting, cancel := context.WithTimeout(ctx, reclaimTime)
		defer cancel()
		err := e.tryFlush()
		if err == nil {
			e.disk.reserve.release(ErrFull) // the purpose of the reserve
			err = e.db.Compact(compacting, []byte{headerSpace}, []byte{sampleSpace + 1}, false)
		}
		if err == nil {
			t.given = swept
			e.disk.reserve.fill()
		} else if ctx.Err() == nil {
			e.cfg.Logger.Warn("store: the space of trimmed history could not be given back yet", "error", err)
		}
	})
}

// takeSample notes the current revision if it has moved.
func (e *Engine) takeSample() error {
	t, s := &e.trim, sample{e.trim.now, e.Current()}
	if n := len(t.samples); n > 0 && (t.samples[n-1].revision >= s.revision || t.samples[n-1].nanoseconds >= s.nanoseconds) {
		return nil // no change, or no time has passed
	}
	if s.revision == 0 {
		return nil
	}
	b := e.db.NewBatch()
	if err := b.Set(appendSample(nil, s.nanoseconds), binary.BigEndian.AppendUint64(nil, s.revision), nil); err != nil {
		return err
	}
	if err := e.applyLazily(b); err != nil {
		return err
	}
	t.samples = append(t.samples, s)
	return nil
}

// dropSamples forgets the first n samples.
func (e *Engine) dropSamples(n int) error {
	if n == 0 {
		return nil
	}
	t, b := &e.trim, e.db.NewBatch()
	for _, s := range t.samples[:n] {
		if err := b.SingleDelete(appendSample(nil, s.nanoseconds), nil); err != nil {
			return err
		}
	}
	if err := e.applyLazily(b); err != nil {
		return err
	}
	t.samples = append(t.samples[:0], t.samples[n:]...)
	return nil
}

// Trim removes the history before a revision: Oldest becomes upTo, and views and feeds
// that began earlier are refused. Trimming to Oldest or before has no effect. Errors:
// *FutureError, ErrClosed, ctx's (the next trim finishes it), I/O errors.
func (e *Engine) Trim(ctx context.Context, upTo uint64) error {
	if !e.gate.enter() {
		return ErrClosed
	}
	defer e.gate.leave()
	if current := e.Current(); upTo > current {
		return &FutureError{Asked: upTo, Current: current}
	}
	e.trim.mu.Lock()
	defer e.trim.mu.Unlock()
	return e.trimTo(ctx, upTo)
}

func (e *Engine) trimTo(ctx context.Context, upTo uint64) error {
	t := &e.trim
	if upTo > t.oldest.Load() {
		b := e.db.NewBatch()
		if err := setRevision(b, metaOldest, upTo); err != nil {
			return err
		}
		if err := e.applySynced(b); err != nil {
			return err
		}
		t.oldest.Store(upTo)
	}
	return e.sweep(ctx)
}

// sweep deletes the history up to oldest.
func (e *Engine) sweep(ctx context.Context) error {
	t := &e.trim
	for t.swept < t.oldest.Load() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.sweepStep(); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) sweepStep() error {
	t := &e.trim
	oldest := t.oldest.Load()
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: appendLog(nil, t.swept+1), UpperBound: appendLog(nil, oldest+1)})
	if err != nil {
		return err
	}
	b := e.db.NewBatch()
	n, to, last := 0, oldest, uint64(0)
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		var revision uint64
		var record logRecord
		if revision, record, err = readRecord(it); err != nil {
			break
		}
		if n >= sweepStep && revision > last { // the changes at a revision go together
			to = last
			break
		}
		err = deleteSuperseded(b, revision, it.Key(), record)
		last = revision
		n++
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return fmt.Errorf("store: cannot trim: %w", plain(err))
	}
	if err := setRevision(b, metaSwept, to); err != nil {
		return err
	}
	if err := e.applyLazily(b); err != nil {
		return err
	}
	t.swept = to
	return nil
}

// deleteSuperseded deletes the records that the change at a trimmed revision made
// superfluous.
func deleteSuperseded(b *pebble.Batch, revision uint64, logKey []byte, r logRecord) error {
	key := string(r.key)
	for _, space := range []byte{headerSpace, objectSpace} {
		if r.prev != 0 {
			if err := b.SingleDelete(appendVersion(nil, space, key, r.prev), nil); err != nil {
				return err
			}
		}
		if r.op == OpDelete {
			if err := b.SingleDelete(appendTombstone(nil, space, key, revision), nil); err != nil {
				return err
			}
		}
	}
	return b.SingleDelete(logKey, nil)
}
