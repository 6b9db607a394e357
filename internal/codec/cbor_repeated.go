package codec

import (
	"bytes"
	"fmt"
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

func (r *cborReader) repeatedOfMany(keys []span) int {
	sorted := make([]int32, len(keys))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(a, b int32) int {
		if c := bytes.Compare(r.name(keys[a]), r.name(keys[b])); c != 0 {
			return c
		}
		return int(a - b)
	})
	first := len(keys)
	for i := 1; i < len(sorted); i++ {
		if bytes.Equal(r.name(keys[sorted[i-1]]), r.name(keys[sorted[i]])) {
			first = min(first, int(sorted[i]))
		}
	}
	return first
}
