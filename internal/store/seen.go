package store

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"strings"
)

// Seen is a part of the read set of a write: what the writer saw of another key, or of a
// collection, and decided by. The write is committed only while that is still so.
//
// Example: the create of core/pods/shop/web depends on the namespace, seen at revision 7,
// as {Key: "core/namespaces/shop", Revision: 7}. An update of the namespace at revision 8,
// its deletion for one, makes the create fail with ErrChanged; the writer looks again.
type Seen struct {
	// Key is a key, or with Collection the beginning of keys up to their last "/".
	Key string
	// Revision is that of the entry, 0 where the key had no value. With Collection it is
	// the revision at which the collection was read.
	Revision uint64
	// Collection says that no key was created in the collection after the revision. Updates
	// and deletions in it do not count.
	Collection bool
	// Mark says that Key is a mark, and that no write with the mark (Write.Marks) was made
	// after the revision, at which the writer had read all that the mark stands for.
	Mark bool
}

// ErrChanged: something that the write depends on (Write.Seen) has changed since; nothing
// was written. The caller reads it again, and decides again; the functions of Subscribe have
// been told of the change. A collection may count as changed when another one has changed.
var ErrChanged = errors.New("store: what the write depends on has changed")

// latest remembers when keys and collections were last written, by hash, so that a commit
// learns in a few nanoseconds whether its read set may have changed while it was verified.
// A newer revision may be that of another key with the same hash.
//
// Invariant: under Engine.write each element is the newest revision, visible or not, of
// the writes of its keys, or of the creates in its collections and the writes with its
// marks, since the engine was opened.
type latest struct {
	seed        maphash.Seed
	keys        [latestSize]uint64
	collections [latestSize]uint64
	marks       [latestSize]uint64
}

const latestSize = 4096

func (l *latest) init() { l.seed = maphash.MakeSeed() }

func (l *latest) of(s *Seen) *uint64 {
	at := maphash.String(l.seed, s.Key) % latestSize
	switch {
	case s.Mark:
		return &l.marks[at]
	case s.Collection:
		return &l.collections[at]
	}
	return &l.keys[at]
}

// since reports whether a part of a read set says that nothing came after its revision, rather
// than that a key has it.
func (s *Seen) since() bool { return s.Collection || s.Mark }

// note records a change and its marks. Engine.write is held.
func (l *latest) note(p *pending) {
	c := p.change
	*l.of(&Seen{Key: c.Entry.Key}) = c.Entry.Revision
	if c.Op == OpCreate {
		*l.of(&Seen{Key: collectionOf(c.Entry.Key), Collection: true}) = c.Entry.Revision
	}
	for _, mark := range p.marks {
		*l.of(&Seen{Key: mark, Mark: true}) = c.Entry.Revision
	}
}

// collectionOf is the beginning of a key up to its last "/".
func collectionOf(key string) string { return key[:strings.LastIndexByte(key, '/')+1] }

// since returns the newest revision after a given one at which a read set may have changed;
// 0 for none. Collections and marks have revisions of their own. Engine.write is held.
func (l *latest) since(revision uint64, all []*pending) (newest uint64) {
	for _, p := range all {
		for i := range p.seen {
			if s := &p.seen[i]; !s.since() {
				if at := *l.of(s); at > revision {
					newest = max(newest, at)
				}
			}
		}
	}
	return newest
}

// created is the newest revision at which a key may have been created in a collection of the
// read set, or a mark of it written, since it was read; 0 for none. Engine.write is held.
func (l *latest) created(all []*pending) (newest uint64) {
	for _, p := range all {
		for i := range p.seen {
			if s := &p.seen[i]; s.since() && *l.of(s) > s.Revision {
				newest = max(newest, *l.of(s))
			}
		}
	}
	return newest
}

// verifyTries bounds the verifications of one commit. More than one is needed only while
// keys of the read set, or others with the same hash, are being written.
const verifyTries = 100

// lockUnchanged takes the lock that orders commits when the read sets of writes are what
// they were. Errors: ErrChanged, ctx's, I/O errors; then the lock is not held.
//
// The entries are read without the lock, at a revision taken before. Under the lock it is
// enough that nothing was written since. A write that is not visible yet is awaited, also before
// ErrChanged: it needs only the disk, and the next try would not see it.
func (e *Engine) lockUnchanged(ctx context.Context, all []*pending) error {
	err := e.tryUnchanged(ctx, all)
	if err == ErrChanged {
		e.Announced()
	}
	return err
}

func (e *Engine) tryUnchanged(ctx context.Context, all []*pending) error {
	for range verifyTries {
		visible := e.Current()
		for _, p := range all {
			if err := e.unchanged(p.seen); err != nil {
				return err
			}
		}
		e.write.Lock()
		newer := e.write.latest.since(visible, all)
		if newer == 0 {
			created := e.write.latest.created(all)
			if created == 0 {
				return nil
			}
			e.write.Unlock()
			return cmp.Or(e.WaitFor(ctx, created), ErrChanged)
		}
		e.write.Unlock()
		if err := e.WaitFor(ctx, newer); err != nil {
			return err
		}
	}
	return ErrChanged
}

// unchanged compares the newest visible entries of the keys of a read set.
func (e *Engine) unchanged(seen []Seen) error {
	for i := range seen {
		s := &seen[i]
		if s.since() {
			continue
		}
		now, err := e.newest(s.Key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if now.Revision != s.Revision { // 0 for none
			return ErrChanged
		}
	}
	return nil
}
