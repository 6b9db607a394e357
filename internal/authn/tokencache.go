package authn

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
)

// tokenCache keeps results about tokens by their keyed hashes, so that neither a memory
// dump nor the time of a look-up reveals a token. It holds at most twice generationSize
// results: when a generation is full, the one before it is forgotten.
type tokenCache[T any] struct {
	key [sha256.Size]byte

	mu          sync.RWMutex
	now, before map[[sha256.Size]byte]T
}

const generationSize = 4096

func newTokenCache[T any]() *tokenCache[T] {
	c := &tokenCache[T]{now: map[[sha256.Size]byte]T{}}
	_, _ = rand.Read(c.key[:]) // never fails
	return c
}

func (c *tokenCache[T]) hash(token string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, c.key[:])
	_, _ = h.Write([]byte(token)) // never fails
	h.Sum(sum[:0])
	return sum
}

func (c *tokenCache[T]) get(token string) (T, bool) {
	sum := c.hash(token)
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

func (c *tokenCache[T]) put(token string, result T) { c.set(c.hash(token), result) }

func (c *tokenCache[T]) set(sum [sha256.Size]byte, result T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.now) >= generationSize {
		c.now, c.before = map[[sha256.Size]byte]T{}, c.now
	}
	c.now[sum] = result
}
