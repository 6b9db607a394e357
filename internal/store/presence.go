package store

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// presence counts the keys that exist, by hash, so that a create learns that its
// key is free without asking the tree. It takes some twenty bytes a key, and
// nothing before the first key is asked for that does not exist.
//
// Invariants:
//
//	N1. Once counting has begun at a revision, the publisher reports every create
//	    before it is visible, and every deletion when it is.
//	N2. When ready, the count of a hash is at least the number of visible keys
//	    that have it: those of a view at that revision, and the changes since.
//	    Keys that share a hash add up, so that one's deletion does not hide the
//	    other.
//
// Example: counting begins at 8, while the tree holds a@3 and b@5. The deletion of b, 9,
// is visible before the view at 8 has been read: b's count is -1, then 0. c, created at
// 10, counts 1. Once ready, b is absent, and a and c may exist.
type presence struct {
	seed   maphash.Seed
	state  atomic.Int32
	shards [cacheShards]presenceShard
}

type presenceShard struct {
	mu     ranks.Mutex[ranks.Leaf]
	counts map[uint64]int32 // never 0; below it only while the view is read
}

// States of a presence, in this order. After an error it stays at counting, and
// the tree answers.
const (
	presenceIdle = iota
	presenceStarting
	presenceCounting
	presenceReady
)

func (p *presence) init() {
	p.seed = maphash.MakeSeed()
	for i := range p.shards {
		p.shards[i].counts = make(map[uint64]int32)
	}
}

// absent reports whether a key certainly does not exist in the newest state.
func (p *presence) absent(key string) bool {
	if p.state.Load() != presenceReady {
		return false
	}
	h := maphash.String(p.seed, key)
	s := &p.shards[h%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[h] == 0
}

// change counts a create (1) or a deletion (-1), see N1.
func (p *presence) change(key string, by int32) {
	if p.state.Load() >= presenceCounting {
		p.add(maphash.String(p.seed, key), by)
	}
}

func (p *presence) add(h uint64, by int32) {
	s := &p.shards[h%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.counts[h] + by; n != 0 {
		s.counts[h] = n
	} else {
		delete(s.counts, h)
	}
}

// missed notes that a look-up in the tree found no key. The first call begins to count in
// the background: reading the headers of 100,000 objects takes some tens of milliseconds.
func (e *Engine) missed() {
	if e.presence.state.CompareAndSwap(presenceIdle, presenceStarting) {
		go e.countKeys()
	}
}

// countKeys counts the existing keys. It ends early when the store is closed.
func (e *Engine) countKeys() {
	p := &e.presence
	e.publisher.mu.Lock() // no change becomes visible meanwhile
	from := e.Current()
	p.state.Store(presenceCounting)
	e.publisher.mu.Unlock()
	err := e.eachKey(from, func(key []byte) { p.add(maphash.Bytes(p.seed, key), 1) })
	switch {
	case err == nil:
		p.state.Store(presenceReady)
	case !e.gate.closed():
		e.cfg.Logger.Warn("store: the keys could not be counted; creates go on, more slowly", "error", err)
	}
}

// eachKey visits the keys of a view. Close waits for it, so its view is not counted among
// the open ones.
func (e *Engine) eachKey(at uint64, visit func(key []byte)) error {
	if at == 0 {
		return nil // the store is empty
	}
	if !e.gate.enter() {
		return ErrClosed
	}
	defer e.gate.leave()
	view, err := e.view(at)
	if err != nil {
		return err
	}
	err = view.walk(context.Background(), headerSpace, "", "", func(v version, _ *pebble.Iterator) (bool, error) {
		visit(v.key)
		return true, nil
	})
	return errors.Join(err, view.release())
}
