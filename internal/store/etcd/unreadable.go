package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/store"
)

// unreadables are the keys whose values in etcd cannot be read: bytes of others, damaged ones, and
// those that were encrypted with a key that this server lacks, for which retry tries again. Reads of such a key, and scans that
// reach it, answer UnreadableError; all others go on. A deletion in the context store.Discarding
// removes the value.
//
// The replica has a note for each of them, a key of its own, which appears and vanishes at the
// revisions at which the value does: a view of the past shows what could be read then, and the notes
// survive a restart.
type unreadables struct {
	some  atomic.Bool   // there was a note since the server began; it stays set
	noted chan struct{} // there is a note that retry has not seen
}

// wake has retry begin.
func (u *unreadables) wake() {
	u.some.Store(true)
	select {
	case u.noted <- struct{}{}:
	default: // it knows
	}
}

// notes begins the keys of the notes. No kind has it.
const notes = "unreadable/"

// noteOf is the note on a value.
func noteOf(cause error) store.Value {
	return store.Value{Body: []byte(cause.Error()), RevisionAt: -1}
}

// find notices whether the replica has notes.
func (u *unreadables) find(ctx context.Context, replica store.Snapshots) error {
	r, err := replica.At(ctx, 0)
	if err != nil {
		return err
	}
	n, err := r.Count(ctx, notes, "")
	if n > 0 {
		u.wake()
	}
	return errors.Join(err, r.Close())
}

// view adds the notes to a view of the replica.
func (u *unreadables) view(r store.Reader, err error) (store.Reader, error) {
	if err != nil || !u.some.Load() {
		return r, err
	}
	return noted{r}, nil
}

// noted is a view with notes.
type noted struct{ store.Reader }

// unreadable is the error of a key with a note; nil for one without.
func (n noted) unreadable(key string) error {
	switch note, err := n.Reader.Get(notes + key); {
	case err == nil:
		return unreadableError(&note)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return nil
}

// unreadableError is the error that a note stands for.
func unreadableError(note *store.Entry) error {
	return &store.UnreadableError{Key: strings.Clone(strings.TrimPrefix(note.Key, notes)), Revision: note.Revision, Cause: errors.New(string(note.Body))}
}

// Get implements store.Reader.
func (n noted) Get(key string) (store.Entry, error) {
	e, err := n.Reader.Get(key)
	if !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	if note := n.unreadable(key); note != nil {
		return e, note
	}
	return e, err
}

// GetEach implements store.Reader.
func (n noted) GetEach(ctx context.Context, keys []string, visit func(*store.Entry) bool) error {
	var note error
	if i := slices.IndexFunc(keys, func(key string) bool { note = n.unreadable(key); return note != nil }); i >= 0 {
		keys = keys[:i]
	}
	stopped := false
	err := n.Reader.GetEach(ctx, keys, func(e *store.Entry) bool {
		stopped = !visit(e)
		return !stopped
	})
	if err != nil || stopped {
		return err
	}
	return note
}

// Scan implements store.Reader.
func (n noted) Scan(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return n.until(ctx, prefix, from, visit, n.Reader.Scan)
}

// ScanMeta implements store.Reader.
func (n noted) ScanMeta(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return n.until(ctx, prefix, from, visit, n.Reader.ScanMeta)
}

// until scans up to the first key with a note, whose error it returns.
func (n noted) until(ctx context.Context, prefix, from string, visit func(*store.Entry) bool,
	scan func(context.Context, string, string, func(*store.Entry) bool) error) error {
	var first error
	end := ""
	if err := n.Reader.Scan(ctx, notes+prefix, notes+from, func(note *store.Entry) bool {
		first, end = unreadableError(note), strings.Clone(strings.TrimPrefix(note.Key, notes))
		return false
	}); err != nil {
		return err
	}
	stopped := false
	err := scan(ctx, prefix, from, func(e *store.Entry) bool {
		if first != nil && e.Key > end {
			return false
		}
		stopped = !visit(e)
		return !stopped
	})
	if err != nil || stopped {
		return err
	}
	return first
}

// Count implements store.Reader. Keys whose values cannot be read count.
func (n noted) Count(ctx context.Context, prefix, from string) (int64, error) {
	count, err := n.Reader.Count(ctx, prefix, from)
	if err != nil {
		return 0, err
	}
	unreadable, err := n.Reader.Count(ctx, notes+prefix, notes+from)
	return count + unreadable, err
}

// get reads an entry of the replica with its note.
func (e *Engine) get(ctx context.Context, key string) (store.Entry, error) {
	if !e.unreadables.some.Load() {
		return e.replica.Get(ctx, key)
	}
	r, err := e.unreadables.view(e.replica.At(ctx, 0))
	if err != nil {
		return store.Entry{}, err
	}
	entry, err := r.Get(key)
	return entry, errors.Join(err, r.Close())
}

// unreadable notices a value that cannot be read.
func (e *Engine) unreadable(place []byte, revision uint64, cause error) {
	e.unreadables.wake()
	e.cfg.Logger.Error("etcd: a value cannot be read", "key", string(place), "revision", revision, "error", cause)
}
