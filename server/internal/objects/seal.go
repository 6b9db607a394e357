package objects

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// seal is stored.Seal for objects that are not too large.
func (o *Objects) seal(res *catalog.Row, obj document.Value, space *stored.Space) (store.Value, error) {
	v, err := stored.Seal(res, obj, space)
	if err != nil {
		return v, api.Internal(err.Error())
	}
	if int64(len(v.Body)) > o.cfg.MaxObjectBytes {
		return store.Value{}, api.TooLarge(o.cfg.MaxObjectBytes)
	}
	return v, nil
}

// Now is the server's time in the form of objects.
func (o *Objects) Now() string { return o.cfg.Clock().UTC().Format(time.RFC3339) }

func newUID() string { return uuid.NewString() }

// nameAlphabet has no vowels and no characters that look alike, so that
// generated names spell no words.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

const (
	generatedLength = 5
	maxPrefix       = 63 - generatedLength
)

// generateName makes a name from generateName, at most 63 characters long.
func generateName(prefix string) string {
	if len(prefix) > maxPrefix {
		prefix = prefix[:maxPrefix]
	}
	var random [generatedLength]byte
	_, _ = rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = nameAlphabet[int(b)%len(nameAlphabet)]
	}
	return prefix + string(random[:])
}
