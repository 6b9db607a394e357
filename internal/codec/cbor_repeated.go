package codec

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
)

// fewKeys are so many that comparing each with each costs less than sorting them.
const fewKeys = 16

// repeated refuses names that a map has twice. The first that repeats another is reported.
func (r *cborReader) repeated(keys []span) error {
	at := len(keys)
	if at <= fewKeys {
		at = r.repeatedOfFew(keys)
	} else {
		at = r.repeatedOfMany(keys)
	}
	if at == len(keys) {
		return nil
	}
	return fmt.Errorf("cbor: found duplicate map key %q at map element index %d", document.Unquote(r.name(keys[at])), at)
}

func (r *cborReader) name(key span) []byte { return r.out[key.start:key.end] }

func (r *cborReader) repeatedOfFew(keys []span) int {
	for i := range keys {
		for k := range i {
			if bytes.Equal(r.name(keys[k]), r.name(keys[i])) {
				return i
			}
		}
	}
	return len(keys)
}

// hashedKey is a name by its hash, and its position among the names.
type hashedKey struct {
	hash uint64
	at   int
}

func (r *cborReader) repeatedOfMany(keys []span) int {
	seed, sorted := maphash.MakeSeed(), make([]hashedKey, len(keys))
	for i, key := range keys {
		sorted[i] = hashedKey{maphash.Bytes(seed, r.name(key)), i}
	}
	slices.SortFunc(sorted, func(a, b hashedKey) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	first := len(keys)
	for i := 1; i < len(sorted); i++ {
		for k := i - 1; k >= 0 && sorted[k].hash == sorted[i].hash; k-- { // other names with that hash are a rare chance
			if bytes.Equal(r.name(keys[sorted[k].at]), r.name(keys[sorted[i].at])) {
				first = min(first, sorted[i].at)
				break
			}
		}
	}
	return first
}
