package store

import (
	"bytes"
	"errors"
	"fmt"
)

// Cipher encrypts values and headers on their way to the disk: to the tree, its log,
// backups and history. Keys, sizes and the log of changes stay readable. In memory
// everything is plain. It is safe for concurrent use.
type Cipher interface {
	// Sealer returns the function that encrypts the values of a key; nil for a key
	// whose values stay plain. It may wait, the function may not.
	Sealer(key string) (Seal, error)
	// Open decrypts. bound is that of the encryption.
	Open(key string, bound, sealed []byte) (plain []byte, err error)
	// Fresh reports whether a value under a key is stored as it would be today; sealed is
	// nil for a plain one, which may be a mistake.
	Fresh(key string, sealed []byte) (bool, error)
	// Generation is a number that grows after each change of the answers of Fresh.
	Generation() uint64
}

// Seal appends the encrypted form of plain to dst. bound names the record: it can be
// opened only with the same, so that records cannot take each other's place.
type Seal func(dst, bound, plain []byte) []byte

// sealedMark begins an encrypted value. A plain one begins with the length of its header,
// which is never that large, and headers (Value.Meta) must not begin with it.
const sealedMark = "\xff\xff\xff\xff\x0f"

var errNoCipher = errors.New("it is encrypted; give the configuration that it was encrypted by (--encryption-provider-config)")

// opener makes records of the tree plain.
type opener struct {
	cipher Cipher // nil for none
	blind  bool   // encrypted records are not looked into: they are empty
}

// open returns the plain form of a record, and whether it would be stored in another form
// today. The bytes of a plain record are shared.
func (o opener) open(space byte, key string, revision uint64, stored []byte) (plain []byte, stale bool, err error) {
	sealed := bytes.HasPrefix(stored, []byte(sealedMark))
	switch {
	case sealed && o.blind && space == objectSpace:
		return []byte{0}, false, nil
	case sealed && o.blind:
		return nil, false, nil
	case sealed && o.cipher == nil:
		return nil, false, &UnreadableError{key, revision, errNoCipher}
	case o.cipher == nil:
		return stored, false, nil
	}
	var text []byte
	if plain = stored; sealed {
		text = stored[len(sealedMark):]
		plain, err = o.cipher.Open(key, appendVersion(nil, space, key, revision), text)
	}
	fresh := true
	if err == nil {
		fresh, err = o.cipher.Fresh(key, text)
	}
	if err != nil {
		return nil, false, &UnreadableError{key, revision, err}
	}
	return plain, !fresh, nil
}

// value opens and splits the record of a version.
func (o opener) value(key string, revision uint64, stored []byte) (v Value, stale bool, err error) {
	plain, stale, err := o.open(objectSpace, key, revision, stored)
	if err == nil {
		v, err = decodeValue(plain)
	}
	return v, stale, err
}

// generation is that of the cipher; 0 for none.
func (e *Engine) generation() uint64 {
	if e.cfg.Cipher == nil {
		return 0
	}
	return e.cfg.Cipher.Generation()
}

// opener of the engine.
func (e *Engine) opener() opener { return opener{cipher: e.cfg.Cipher} }

// sealer returns the function that encrypts the writes of a key; nil for none.
func (e *Engine) sealer(key string) (Seal, error) {
	if e.cfg.Cipher == nil {
		return nil, nil
	}
	seal, err := e.cfg.Cipher.Sealer(key)
	if err != nil {
		return nil, fmt.Errorf("store: cannot encrypt %q: %w", key, err)
	}
	return seal, nil
}

// sealed is a record in the form in which it is stored.
func (p *pending) sealed(space byte, record []byte) []byte {
	if p.seal == nil {
		return record
	}
	entry := &p.change.Entry
	return p.seal(append(make([]byte, 0, len(record)+sealedRoom), sealedMark...), appendVersion(nil, space, entry.Key, entry.Revision), record)
}

// sealedRoom is the usual growth of a record by its encryption.
const sealedRoom = 128

// KeyError means that the key of an encrypted value was not had from the service that guards it. The
// value may be read later.
type KeyError struct {
	// Refused says that the service has answered, with an error of its own.
	Refused bool
	Err     error
}

func (e *KeyError) Error() string { return e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }
