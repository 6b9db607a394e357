package authn

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Cache keeps results about tokens, or other texts, by their keyed hashes, so that neither
// a memory dump nor the time of a look-up reveals a text. It holds at most twice
// generationSize results: when a generation is full, the one before it is forgotten.
type Cache[T any] struct {
	key [sha256.Size]byte

	mu          ranks.RWMutex[ranks.Leaf]
	now, before map[[sha256.Size]byte]T
}

const generationSize = 4096

// NewCache returns an empty cache.
func NewCache[T any]() *Cache[T] {
	c := &Cache[T]{now: map[[sha256.Size]byte]T{}}
	_, _ = rand.Read(c.key[:]) // never fails
	return c
}

func (c *Cache[T]) hash(text string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, c.key[:])
	_, _ = h.Write([]byte(text)) // never fails
	h.Sum(sum[:0])
	return sum
}

// Get returns the result about a text, if there is one.
func (c *Cache[T]) Get(text string) (T, bool) {
	sum := c.hash(text)
	c.mu.RLock()
	result, ok := c.now[sum]
	old := false
	if !ok {
		result, old = c.before[sum]
	}
	c.mu.RUnlock()
	if old {
		c.set(sum, result)
	}
	return result, ok || old
}

// Put keeps the result about a text.
func (c *Cache[T]) Put(text string, result T) { c.set(c.hash(text), result) }

func (c *Cache[T]) set(sum [sha256.Size]byte, result T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.now) >= generationSize {
		c.now, c.before = map[[sha256.Size]byte]T{}, c.now
	}
	c.now[sum] = result
}
