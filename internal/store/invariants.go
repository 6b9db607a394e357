package store

import (
	"bytes"
	"hash/maphash"
	"sync"

	"github.com/capstan-dev/capstan/internal/invariants"
)

// The checks of a build with the tag invariants. Every caller asks
// invariants.Enabled first, so that the others have none of it.

// scanOrder checks the entries that a scan visits: keys ascend strictly, and no version
// is newer than the view.
type scanOrder struct{ last []byte }

func (o *scanOrder) check(v version, view uint64) {
	if o.last != nil && bytes.Compare(o.last, v.key) >= 0 {
		invariants.Failf("a scan visits %q after %q", v.key, o.last)
	}
	if v.revision > view {
		invariants.Failf("a view at %d shows %q of %d", view, v.key, v.revision)
	}
	o.last = append(o.last[:0], v.key...)
}

// checkGroup checks that a group becomes visible in its turn (P1, P2, S1). The
// publisher's lock is held.
func (q *publisher) checkGroup(group []*pending) {
	next := q.current.Load() + 1
	for _, p := range group {
		if c := p.change; q.replica && (c.Entry.Revision >= next || p.place > 0 && c.Entry.Revision == next-1) {
			next = c.Entry.Revision
		} else if c.Entry.Revision != next || p.settled {
			invariants.Failf("revision %d becomes visible where %d is due (settled before: %v)", c.Entry.Revision, next, p.settled)
		} else if c.Prev.Revision >= c.Entry.Revision {
			invariants.Failf("revision %d follows %d", next, c.Prev.Revision)
		}
		next++
	}
}

// visited calls visit with an entry whose bytes are overwritten afterwards, so that a
// caller that keeps them is found out.
func visited(visit func(*Entry) bool, e *Entry) bool {
	if !invariants.Enabled {
		return visit(e)
	}
	lent := *e
	lent.Meta, lent.Body = bytes.Clone(e.Meta), bytes.Clone(e.Body)
	meta, body := lent.Meta, lent.Body
	more := visit(&lent)
	for _, b := range [][]byte{meta, body} {
		for i := range b {
			b[i] = 0xdb
		}
	}
	return more
}

// handedOut remembers the entries returned to callers and checks that they are never
// changed.
type handedOut struct {
	mu   sync.Mutex
	seed maphash.Seed
	ring []sealed
	next int
}

type sealed struct {
	entry Entry
	sum   uint64
}

const handedOutKept = 512

func (h *handedOut) sum(e Entry) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	m.WriteString(e.Key)
	m.WriteByte(0)
	m.Write(e.Meta)
	m.WriteByte(0)
	m.Write(e.Body)
	return m.Sum64()
}

func (h *handedOut) add(e Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ring == nil {
		h.seed = maphash.MakeSeed()
	}
	if s := (sealed{e, h.sum(e)}); len(h.ring) < handedOutKept {
		h.ring = append(h.ring, s)
	} else {
		h.look(h.ring[h.next])
		h.ring[h.next] = s
		h.next = (h.next + 1) % handedOutKept
	}
}

// check compares all entries that it remembers.
func (h *handedOut) check() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.ring {
		h.look(s)
	}
}

func (h *handedOut) look(s sealed) {
	if h.sum(s.entry) != s.sum {
		invariants.Failf("the entry %q of %d was changed after it was handed out: %q %q", s.entry.Key, s.entry.Revision, s.entry.Meta, s.entry.Body)
	}
}

// handed remembers an entry that is returned to a caller.
func (e *Engine) handed(entry Entry, err error) (Entry, error) {
	if invariants.Enabled && err == nil {
		e.given.add(entry)
	}
	return entry, err
}
