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
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
)

// sealed holds space in which objects are written before their size is known;
// maxSealed is the most that is kept, in bytes.
var sealed = sync.Pool{New: func() any { return new([]byte) }}

const maxSealed = 256 << 10

// seal writes an object as the store keeps it: its canonical JSON with a place
// for the revision, and the header that selectors read.
func (s *Server) seal(res *api.Resource, obj document.Value) (store.Value, error) {
	obj.Get("metadata").SetString("resourceVersion", "")
	space := sealed.Get().(*[]byte)
	*space = obj.AppendJSON((*space)[:0])
	body := bytes.Clone(*space)
	if cap(*space) <= maxSealed {
		sealed.Put(space)
	}
	if int64(len(body)) > s.cfg.MaxObjectBytes {
		return store.Value{}, api.TooLarge(s.cfg.MaxObjectBytes)
	}
	place, ok := document.Find(body, "metadata", "resourceVersion")
	if !ok {
		return store.Value{}, api.Internal("the object has no place for its resourceVersion")
	}
	// place is a part of body, so the difference of what is left behind their
	// beginnings is the offset.
	at := cap(body) - cap(place) + 1
	return store.Value{Meta: selector.AppendMeta(nil, obj, res.Selectable), Body: body, RevisionAt: at}, nil
}

// unchanged reports whether a sealed value differs from what is stored in
// nothing but the revision. Equal objects are equal bytes.
func unchanged(v store.Value, current *store.Entry) bool {
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
