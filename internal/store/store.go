package store

import (
	"context"
	"errors"
	"fmt"
)

// Errors that callers handle.
var (
	// ErrNotFound: the key has no value at that revision.
	ErrNotFound = errors.New("store: not found")
	// ErrClosed: the store is closed or closing; nothing was written.
	ErrClosed = errors.New("store: closed")
	// ErrFull: the disk is full. Writes that make the store grow are refused until there
	// is space; deletions and writes that free something go on.
	ErrFull = errors.New("store: the disk is full")
	// ErrReadOnly: the store was opened for inspection.
	ErrReadOnly = errors.New("store: opened read-only")
	// ErrLocked: another process has the directory open.
	ErrLocked = errors.New("store: the data directory is in use by another process")
)

// TrimmedError means that history no longer covers a revision. The caller lists anew (410
// to a client).
type TrimmedError struct{ Asked, Oldest uint64 }

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("store: revision %d is trimmed, the oldest kept is %d", e.Asked, e.Oldest)
}

// FutureError means that a revision has not been written yet. The caller waits (WaitFor)
// or answers 504.
type FutureError struct{ Asked, Current uint64 }

func (e *FutureError) Error() string {
	return fmt.Sprintf("store: revision %d does not exist yet, the current is %d", e.Asked, e.Current)
}

// FormatError means that the directory was written by another format version.
type FormatError struct{ Found, Supported string }

func (e *FormatError) Error() string {
	return fmt.Sprintf("store: the data directory has format %q, this binary reads %q; use the binary that wrote it, or restore a backup", e.Found, e.Supported)
}

// Value is stored under a key.
type Value struct {
	// Meta is a small header (labels, selectable fields) that the caller can read without
	// touching Body. Opaque to the store.
	Meta []byte
	// Body is the object as clients receive it.
	Body []byte
	// RevisionAt is the offset in Body at which the store inserts the decimal digits of
	// the revision when it commits; negative for none. It is an input of writes and -1 in
	// results of reads.
	RevisionAt int
}

// Entry is a value at a revision.
//
// The slices belong to the caller from then on and are never changed: they may be shared
// freely.
type Entry struct {
	Key      string
	Revision uint64 // of the change that wrote it
	Value
	// Rewritten marks a value that differs from the stored one, because a layer above
	// shows it as it would be written today, or because it would be encrypted in another
	// way today.
	Rewritten bool
	// Unreadable marks an entry without a value, whose record cannot be opened: only
	// transactions see it, and only where they ask for it (Discarding).
	Unreadable bool
}

// Op is the kind of a change.
type Op uint8

// The kinds of changes.
const (
	OpCreate Op = iota + 1
	OpUpdate
	OpDelete
)

// Change is one committed write.
//
// Invariant: Entry.Revision is the change's revision. For OpDelete Entry is the last
// state, its Body rewritten to carry the revision of the deletion (spliced by the store,
// as in any write). Prev is the state before, its zero value for OpCreate.
type Change struct {
	Op    Op
	Entry Entry
	Prev  Entry
}

// Write is the request of an update function.
type Write struct {
	Op    Op    // 0: write nothing and return the current entry
	Value Value // OpCreate and OpUpdate: the new value; OpDelete: the final state that watchers see
	// Frees marks a write as a step of a deletion: it is accepted on a full disk too, as
	// deletions always are.
	Frees bool
	// Seen is the read set: the write is committed only while all of it stands.
	Seen []Seen
	// Marks are names of sets that the write adds to or takes from. A write that depends on a
	// whole set, and not on single keys, has the mark in its read set. A mark has no value.
	Marks []string
}

// Reader is a consistent view at one revision. It is safe for concurrent use.
type Reader interface {
	// Revision is the revision the view is at.
	Revision() uint64
	// Get returns the entry of a key, or ErrNotFound.
	Get(key string) (Entry, error)
	// GetEach visits the entries of keys, in the order of keys, with one iterator; keys
	// without a value are left out. As in Scan the entry's slices are valid only until
	// visit returns, and visit returns false to stop. Ascending keys are the quickest.
	GetEach(ctx context.Context, keys []string, visit func(e *Entry) bool) error
	// Scan visits the entries with prefix <= key, in key order, starting at from
	// (inclusive; "" for the beginning of the prefix). The entry's slices are valid only
	// until visit returns; visit returns false to stop. Memory is constant, whatever the
	// size of the collection.
	Scan(ctx context.Context, prefix, from string, visit func(e *Entry) bool) error
	// ScanMeta is Scan with entries without Body. It reads only the headers, which are
	// stored separately too: those of 100,000 large objects take some megabytes.
	ScanMeta(ctx context.Context, prefix, from string, visit func(e *Entry) bool) error
	// Count returns the number of keys with the prefix at or after from.
	Count(ctx context.Context, prefix, from string) (int64, error)
	// Close frees the view. Every Reader must be closed.
	Close() error
}

// The parts of a Store. A function takes the part that it needs, so its signature shows
// its power.
//
// Invariants of all together:
//
//	S1. Revisions increase strictly, start at 1 and are never reused, also not
//	    after a crash.
//	S2. A write is visible to readers and announced only when it is durable, and
//	    changes become visible and are announced in revision order.
//	S3. An acknowledged write survives a crash of process and machine.
//	S4. A Reader at revision r sees exactly the changes with revision <= r.
//	S5. Between what a write saw of other keys (Write.Seen) and its commit nothing
//	    of it has changed: no lock outside of the store is needed for that.

// Revisions reports revisions.
type Revisions interface {
	// Current is the newest visible revision, Oldest the oldest that At accepts.
	Current() uint64
	Oldest() uint64
	// Newest is Current at a moment when all writes are visible and announced that were
	// acknowledged before the call, by any process. Errors: ctx's, and those of the way to
	// other processes.
	Newest(ctx context.Context) (uint64, error)
	// WaitFor returns once Current() >= revision, or with ctx's error, with ErrClosed when
	// the store is closed meanwhile, or with the error after which nothing is written.
	WaitFor(ctx context.Context, revision uint64) error
}

// Snapshots is the power to read.
type Snapshots interface {
	Revisions
	// At opens a view: at is 0 for the newest revision, otherwise an exact one. The
	// caller closes it soon: an open view keeps versions that trimming would delete.
	// Errors: *TrimmedError, *FutureError, ErrClosed, ctx's.
	At(ctx context.Context, at uint64) (Reader, error)
	// Get is short for At(0).Get(key). Errors: ErrNotFound, ErrClosed, ctx's, I/O errors.
	Get(ctx context.Context, key string) (Entry, error)
}

// Transactions is the power to write.
type Transactions interface {
	// Update runs one transaction on one key. fn gets the current entry, or nil where
	// there is none, and returns the write; it runs under the key's lock, so a slow fn
	// delays only writes of that key. fn must not write the same key. It may run again,
	// against another entry, as with an engine that other processes write to: then only
	// its last run counts, so it must have no effects of its own. An error of fn is
	// returned as it is, and nothing is written. Update returns when the write is durable
	// and announced, with the entry as committed (for OpDelete the final state).
	//
	// Errors besides fn's: ErrChanged when the read set of the write does not stand, as
	// with every engine: the caller decides anew. ErrClosed, ErrFull, ErrReadOnly, ctx's:
	// nothing was written.
	// I/O errors: the write was not acknowledged and may or may not be there after a
	// restart; the caller must not report it as failed for good.
	Update(ctx context.Context, key string, fn func(current *Entry) (Write, error)) (Entry, error)
	// UpdateAll is Update for several different keys: fn gets and returns as many entries
	// and writes, and runs under the locks of all keys. All writes or none are stored,
	// become visible and are announced together, at successive revisions in the order of
	// the keys, or all at one revision, as the engine has it.
	UpdateAll(ctx context.Context, keys []string, fn func(current []*Entry) ([]Write, error)) ([]Entry, error)
}

// Feed is the power to follow writes.
type Feed interface {
	Revisions
	// Changes visits the committed changes with after < revision <= the current one whose
	// key has the prefix, in order, until visit returns false. The changes of one UpdateAll may
	// have one revision: visit gets all of them, even if it returned false for the first. It returns the revision up
	// to which the feed was read. Errors: *TrimmedError when changes after `after` may
	// have been trimmed; the caller reads the state anew. ErrClosed, ctx's, I/O errors:
	// the caller continues after the last change that it received.
	Changes(ctx context.Context, prefix string, after uint64, visit func(c *Change) bool) (uint64, error)
	// Subscribe calls fn for every batch of changes in revision order, from the moment it
	// returns; current is the revision just before the first of them. Of several
	// subscriptions those with the lower turn are called first with a batch. fn must not
	// block and must not call the store; the changes may be kept and shared, not changed.
	// After cancel has returned fn is not called.
	Subscribe(turn Turn, fn func(Batch)) (current uint64, cancel func())
}

// Batch is one call of a subscription.
type Batch struct {
	Changes []*Change
	// Revision is the one up to which the subscription has got all changes. The last change
	// has it, unless the source of a replica moved on without a change.
	Revision uint64
	// Gap says that the changes replace others: the source of a replica had compacted the
	// history between two of its states. The states after both are right, while a follower
	// of single changes has to begin anew.
	Gap bool
}

// Turn is the place of a subscription among those to the same feed.
type Turn int

const (
	// States are subscriptions that keep what requests are answered from.
	States Turn = iota
	// Streams are subscriptions that tell others of changes, as watches do. Whoever hears
	// of a change in a stream finds the change in all states.
	Streams
)

// Stale is a context whose reads may show any state that this process has. Others, of the newest
// state, show all writes that were acknowledged before, by any process that uses the data.
func Stale(ctx context.Context) context.Context { return context.WithValue(ctx, stale{}, true) }

// MayBeStale reports whether reads may show any state.
func MayBeStale(ctx context.Context) bool { return ctx.Value(stale{}) != nil }

type stale struct{}

// Store is a versioned key-value store with a change feed. All methods may be
// called concurrently.
type Store interface {
	Snapshots
	Transactions
	Feed
	// Healthy returns nil, the reason why writes are refused while reads go on, or the
	// damage that a read has found.
	Healthy() error
	// Close finishes writes in flight and closes the files.
	Close() error
}
