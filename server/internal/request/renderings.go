package request

import (
	"hash/maphash"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
)

// Renderings keeps what answers are made of besides stored text: objects in the binary
// form and their sizes, and the cells of tables. It is bounded in bytes and split into
// shards.
//
// A rendering is of one revision of an object, so it never has to be dropped when the
// object changes: a newer one replaces it, or it makes room some time.
type Renderings struct {
	seed   maphash.Seed
	shards [renderingShards]renderingShard
}

type renderingShard struct {
	mu    ranks.Mutex[ranks.Leaf]
	limit int64 // of size
	size  int64 // sum of weight
	kept  map[renderingKey]*rendering
	// sizes are those of messages, by sizeKey. When there are mostSizes the older half is
	// dropped.
	sizes, older map[uint64]uint32
	mostSizes    int
}

// renderingKey names the renderings of one object: those of a version of its kind. A row
// is never changed, so one of another row is another rendering. The object is named by a
// hash of its key and of the form: no two objects have the same revision, so what another
// object with the same hash has kept is not taken for its own.
type renderingKey struct {
	of   *api.Resource
	hash uint64
}

type renderingForm uint64

const (
	binaryForm renderingForm = iota // the object in its envelope
	cellsForm                       // see AppendRow
)

type rendering struct {
	bytes    []byte
	revision uint64
	used     bool // since it was kept, or since makeRoom spared it
}

const (
	renderingShards = 16
	// renderingOverhead is the memory of a rendering without its bytes: its struct, and
	// its slot in the map, which may be half empty.
	renderingOverhead = 112
	// renderingShare is the part of a shard, as a divisor, that one rendering may take.
	renderingShare = 4
	// sizesShare is the part of a shard, as a divisor, that sizes may take besides, each
	// sizeBytes.
	sizesShare = 4
	sizeBytes  = 32
	// unlikely is the mean number of renderings after which a full shard keeps one, so
	// that a list longer than the room is not copied for nothing.
	unlikely = 16
)

// NewRenderings makes room for so many bytes.
func NewRenderings(bytes int64) *Renderings {
	c := &Renderings{seed: maphash.MakeSeed()}
	for i := range c.shards {
		limit := bytes / renderingShards
		c.shards[i] = renderingShard{limit: limit, kept: map[renderingKey]*rendering{}, sizes: map[uint64]uint32{},
			mostSizes: int(limit / sizesShare / sizeBytes / 2)}
	}
	return c
}

// shard is a key's shard, with the hash of the key.
func (c *Renderings) shard(key string) (*renderingShard, uint64) {
	h := maphash.String(c.seed, key)
	return &c.shards[h%renderingShards], h
}

// sizeShard is a key's shard, with the key of the size of its message at a revision: a
// hash, since a list whose size is not the sum of its items is broken off.
func (c *Renderings) sizeShard(key string, revision uint64) (*renderingShard, uint64) {
	s, h := c.shard(key)
	return s, h ^ revision*0x9e3779b97f4a7c15
}

// measured notes the size of the message of an entry in the storage version.
func (c *Renderings) measured(e *store.Entry, size int) {
	s, k := c.sizeShard(e.Key, e.Revision)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sizes) >= s.mostSizes {
		s.sizes, s.older = make(map[uint64]uint32, s.mostSizes), s.sizes
	}
	s.sizes[k] = uint32(size)
}

// measure is the size that was noted last.
func (c *Renderings) measure(e *store.Entry) (size int, known bool) {
	s, k := c.sizeShard(e.Key, e.Revision)
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.sizes[k]
	if !known {
		if n, known = s.older[k]; known {
			s.sizes[k] = n
		}
	}
	return int(n), known
}

// get returns the rendering of an entry, nil if there is none. Nobody changes it.
func (c *Renderings) get(of *api.Resource, form renderingForm, e *store.Entry) []byte {
	if e.Revision == 0 {
		return nil
	}
	s, h := c.shard(e.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.kept[renderingKey{of, h + uint64(form)}]
	if r == nil || r.revision != e.Revision {
		return nil
	}
	r.used = true
	return r.bytes
}

// keep copies a rendering, which consists of parts, if there is room. Objects that are not
// stored have no revision, and no rendering is kept of them.
func (c *Renderings) keep(of *api.Resource, form renderingForm, e *store.Entry, parts ...[]byte) {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	weight := int64(size) + renderingOverhead
	s, h := c.shard(e.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := renderingKey{of, h + uint64(form)}
	before := s.kept[k]
	switch {
	case e.Revision == 0, weight > s.limit/renderingShare, before != nil && before.revision >= e.Revision:
		return
	case before != nil:
		s.remove(k, before)
	case s.size+weight > s.limit && rand.Uint32N(unlikely) > 0:
		return
	}
	s.makeRoom(weight)
	bytes := make([]byte, 0, size)
	for _, p := range parts {
		bytes = append(bytes, p...)
	}
	s.kept[k] = &rendering{bytes: bytes, revision: e.Revision}
	s.size += weight
}

func (s *renderingShard) remove(k renderingKey, r *rendering) {
	s.size -= int64(len(r.bytes)) + renderingOverhead
	delete(s.kept, k)
}

// makeRoom removes renderings until there is space for another.
func (s *renderingShard) makeRoom(need int64) {
	store.EvictWhile(func() bool { return s.size+need > s.limit }, s.kept, func(r *rendering) *bool { return &r.used }, s.remove)
}
