package store

import (
	"hash/maphash"
	"math/rand/v2"
	"strings"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// cache holds the newest versions of keys that were written or read lately, as
// they are stored, so that most reads of single objects do not touch the tree.
// It is bounded in bytes and split into shards.
//
// Invariants:
//
//	C1. The publisher calls put or drop for every write, in revision order, when
//	    it is durable and before it is visible. So the version here of a key is
//	    never older than the newest visible version of that key.
//	C2. A version is shown only to views at or after its revision. With C1 it is the
//	    one that the view sees: a later version up to the view's revision would have been
//	    visible when the view began, and have replaced it here.
//	C3. highest is the newest revision that the shard has noted. A version read
//	    from the tree is added only when the view that it was read in is not
//	    before highest: then no newer version of any key here is known, and one
//	    that comes later replaces it.
//
// Example: a@5 is here and Current is 8. a@9 becomes durable: put replaces a@5.
// A get that began at 8 does not take a@9 (C2) and reads a@5 from the tree; it
// may not put that back, 9 being above 8 (C3). Gets that begin when 9 is visible
// find a@9.
type cache struct {
	seed   maphash.Seed
	shards [cacheShards]cacheShard
}

type cacheShard struct {
	mu      ranks.Mutex[ranks.Leaf]
	limit   int64 // of size
	size    int64 // sum of weight of versions
	highest uint64
	newest  map[string]*cachedVersion
}

// cachedVersion is a version as it is stored: see decodeValue.
type cachedVersion struct {
	stored     []byte
	revision   uint64
	generation uint64 // of the cipher that would have stored it so
	used       bool   // read since it was added, or since makeRoom spared it
}

const (
	cacheShards = 16
	// cachedOverhead is the memory of a version without its bytes: its struct, its key's
	// and its slot in the map, which may be half empty.
	cachedOverhead = 128
	// largestShare is the part of a shard, as a divisor, that one version may take.
	largestShare = 4
)

// init sets the bound, and the revision up to which the tree may hold writes that the
// cache has not seen.
func (c *cache) init(bytes int64, current uint64) {
	c.seed = maphash.MakeSeed()
	for i := range c.shards {
		s := &c.shards[i]
		s.limit, s.highest, s.newest = bytes/cacheShards, current, make(map[string]*cachedVersion)
	}
}

func (c *cache) shard(key string) *cacheShard {
	return &c.shards[maphash.String(c.seed, key)%cacheShards]
}

// get returns the version of a key that a view at a revision sees, if the cache has it,
// and the cipher is of the same generation as then. The revision must not be after Current.
func (c *cache) get(key string, at, generation uint64) (stored []byte, revision uint64, ok bool) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.newest[key]
	if v == nil || v.revision > at || v.generation != generation {
		return nil, 0, false
	}
	v.used = true
	return v.stored, v.revision, true
}

// put adds a written version, see C1. The cache keeps the bytes.
func (c *cache) put(key string, revision, generation uint64, stored []byte) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highest = max(s.highest, revision)
	s.remove(key)
	s.add(key, revision, generation, stored)
}

// drop removes a deleted key, see C1.
func (c *cache) drop(key string, revision uint64) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highest = max(s.highest, revision)
	s.remove(key)
}

// fill adds a version that a view at a revision read from the tree, see C3. The cache
// keeps the bytes.
func (c *cache) fill(key string, at, revision, generation uint64, stored []byte) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.newest[key]; s.highest > at || v != nil && v.generation == generation {
		return
	}
	s.remove(key)
	s.add(strings.Clone(key), revision, generation, stored)
}

// wants reports whether a value of this size, one of several read together, should be
// copied for fill. In a full shard only one in unlikely values is: a value that is read
// often gets in soon, while a scan of a collection larger than the cache does not pay a
// copy for every miss.
func (c *cache) wants(key string, at uint64, size int) bool {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := int64(size+len(key)) + cachedOverhead
	if s.highest > at || w > s.limit/largestShare {
		return false
	}
	return s.size+w <= s.limit || rand.Uint32N(unlikely) == 0
}

// unlikely is the mean number of misses after which a full shard takes a value.
const unlikely = 4

func (s *cacheShard) add(key string, revision, generation uint64, stored []byte) {
	w := weight(key, stored)
	if w > s.limit/largestShare {
		return
	}
	s.makeRoom(w)
	s.newest[key] = &cachedVersion{stored: stored, revision: revision, generation: generation}
	s.size += w
}

func (s *cacheShard) remove(key string) {
	if v := s.newest[key]; v != nil {
		s.size -= weight(key, v.stored)
		delete(s.newest, key)
	}
}

// makeRoom removes versions until there is space for another.
func (s *cacheShard) makeRoom(need int64) {
	EvictWhile(func() bool { return s.size+need > s.limit }, s.newest, func(v *cachedVersion) *bool { return &v.used },
		func(key string, _ *cachedVersion) { s.remove(key) })
}

func weight(key string, stored []byte) int64 {
	return int64(len(key)+cap(stored)) + cachedOverhead
}
