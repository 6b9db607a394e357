package encryption

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"

	"github.com/capstan-dev/capstan/internal/store"
)

// local is a provider with a key in the configuration.
type local struct {
	name string
	algorithm
}

func (l *local) id() string                  { return l.name }
func (l *local) sealer() (store.Seal, error) { return l.seal, nil }
func (l *local) fresh([]byte) bool           { return true }

// algorithm encrypts with one key.
type algorithm interface {
	seal(dst, bound, plain []byte) []byte
	open(bound, sealed []byte) ([]byte, error)
	// sealValue and openValue are the same for values in etcd, which lie at a place.
	sealValue(dst []byte, place string, plain []byte) []byte
	openValue(place string, sealed []byte) ([]byte, error)
}

// gcm is AES in Galois counter mode, with a random nonce before each record.
type gcm struct{ aead cipher.AEAD }

func newGCM(key []byte) (algorithm, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return gcm{aead}, err
}

func (g gcm) seal(dst, bound, plain []byte) []byte {
	dst = appendRandom(dst, g.aead.NonceSize())
	return g.aead.Seal(dst, dst[len(dst)-g.aead.NonceSize():], plain, bound)
}

func (g gcm) open(bound, sealed []byte) ([]byte, error) {
	n := g.aead.NonceSize()
	if len(sealed) < n {
		return nil, errDamaged
	}
	plain, err := g.aead.Open(nil, sealed[:n], sealed[n:], bound)
	if err != nil {
		return nil, errWrongKey
	}
	return plain, nil
}

// appendRandom appends random bytes.
func appendRandom(dst []byte, n int) []byte {
	dst = append(dst, make([]byte, n)...)
	_, _ = rand.Read(dst[len(dst)-n:]) // never fails
	return dst
}

// cbc is AES in cipher block chaining mode, with a random block before each record and a
// MAC over the record and its place after it.
type cbc struct {
	block cipher.Block
	mac   []byte // key of the MAC
}

func newCBC(key []byte) (algorithm, error) {
	block, err := aes.NewCipher(key)
	return cbc{block, derive(key, []byte("capstan: MAC of aescbc"))}, err
}

// derive makes another key of a key.
func derive(key, purpose []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(purpose)
	return h.Sum(nil)
}

func (c cbc) sum(bound, text []byte) []byte {
	h := hmac.New(sha256.New, c.mac)
	h.Write(text)
	h.Write(bound) // begins where text, of whole blocks, ends: its length is in the last block
	return h.Sum(nil)
}

func (c cbc) seal(dst, bound, plain []byte) []byte {
	start := len(dst)
	dst = c.sealValue(dst, "", plain)
	return append(dst, c.sum(bound, dst[start:])...)
}

func (c cbc) open(bound, sealed []byte) ([]byte, error) {
	end := len(sealed) - sha256.Size
	if end < 2*aes.BlockSize || end%aes.BlockSize != 0 {
		return nil, errDamaged
	}
	if !hmac.Equal(sealed[end:], c.sum(bound, sealed[:end])) {
		return nil, errWrongKey
	}
	return c.openValue("", sealed[:end])
}

// box is XSalsa20 with Poly1305, with a random nonce before each record. The place of the
// record, of which it knows nothing, is in the encrypted text as a hash.
type box struct{ key [32]byte }

func newBox(key []byte) (algorithm, error) { return box{[32]byte(key)}, nil }

const boxNonce = 24

func (b box) seal(dst, bound, plain []byte) []byte {
	place := sha256.Sum256(bound)
	return b.sealValue(dst, "", append(place[:], plain...))
}

func (b box) open(bound, sealed []byte) ([]byte, error) {
	text, err := b.openValue("", sealed)
	if err != nil {
		return nil, err
	}
	place := sha256.Sum256(bound)
	if len(text) < len(place) || subtle.ConstantTimeCompare(text[:len(place)], place[:]) == 0 {
		return nil, errWrongKey
	}
	return text[len(place):], nil
}
