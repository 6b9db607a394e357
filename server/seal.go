package server

import (
	"bytes"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// sealSpace holds space in which objects are written before their size is known;
// maxSealed is the most that is kept, in bytes.
var sealSpace = sync.Pool{New: func() any { return new([]byte) }}

const maxSealed = 256 << 10

// seal is sealed for objects that are not too large.
func (s *Server) seal(res *catalog.Row, obj document.Value) (store.Value, error) {
	v, err := sealed(res, obj)
	if err != nil {
		return v, api.Internal(err.Error())
	}
	if int64(len(v.Body)) > s.cfg.MaxObjectBytes {
		return store.Value{}, api.TooLarge(s.cfg.MaxObjectBytes)
	}
	return v, nil
}

// unchanged reports whether a sealed value differs from what is stored in
// nothing but the revision. Equal objects are equal bytes. What is shown in another
// form than it is stored in is changed by any write: then it is as it is shown.
func unchanged(v store.Value, current *store.Entry) bool {
	if current.Rewritten {
		return false
	}
	digits := strconv.AppendUint(make([]byte, 0, 20), current.Revision, 10)
	b, at := current.Body, v.RevisionAt
	return len(b) == len(v.Body)+len(digits) && at+len(digits) <= len(b) &&
		bytes.Equal(b[:at], v.Body[:at]) && bytes.Equal(b[at:at+len(digits)], digits) && bytes.Equal(b[at+len(digits):], v.Body[at:])
}

// now is the time of the server's clock as objects carry it.
func (s *Server) now() string { return s.cfg.now().UTC().Format(time.RFC3339) }

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
