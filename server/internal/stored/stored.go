package stored

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// maxFilled bounds the bytes that defaults add to an object of the store: definitions may
// have got them since it was written, as large as they like.
const maxFilled = 3 << 20

// Read reads an object of a row, which replaces old, from its text, which may be of other
// documents, like a request: complete, with all defaults. The caller releases the
// document. Errors: 413 for an object that its defaults make too large.
func Read(res *catalog.Row, text []byte, old document.Value) (*document.Document, error) {
	decoder := document.Decoder{Table: res.GV.Types(), Defaults: res.GV.Defaults,
		Limits: document.Limits{MaxBytes: len(text) + maxFilled, MaxNodes: math.MaxInt32}}
	doc, _, err := decoder.DecodeOver(old, res.Type, text)
	if limit := (*document.LimitError)(nil); errors.As(err, &limit) && limit.What == document.FilledBytes {
		err = api.TooLarge(int64(limit.Limit))
	}
	return doc, err
}

// readFitting is Read for an object to be shown: without any defaults if they make it too
// large, so that it can be seen, changed and deleted.
func readFitting(res *catalog.Row, text []byte) (*document.Document, error) {
	doc, err := Read(res, text, document.Value{})
	if tooLarge(err) {
		return document.ReadTyped(res.GV.Types(), res.Type, text)
	}
	return doc, err
}

func tooLarge(err error) bool { return api.IsReason(err, api.ReasonRequestEntityTooLarge) }

// Space is the memory of a sealed value, which may be used again for another one.
type Space struct{ body, meta []byte }

var spaces = sync.Pool{New: func() any { return new(Space) }}

// maxSpace bounds the bytes of a space that is used again.
const maxSpace = 256 << 10

// NewSpace takes a space for a value; Release gives it back.
func NewSpace() *Space { return spaces.Get().(*Space) }

// Release gives a space back, whose value is used no more. s may be nil.
func (s *Space) Release() {
	if s != nil && cap(s.body)+cap(s.meta) <= maxSpace {
		spaces.Put(s)
	}
}

// Seal makes the stored value of an object: its canonical JSON with a place for the
// revision, and the header for selectors. The value lies in the space.
func Seal(res *catalog.Row, obj document.Value, space *Space) (store.Value, error) {
	obj.Get("metadata").SetString("resourceVersion", "")
	body := obj.AppendJSON(space.body[:0])
	space.body = body
	digits, ok := document.Find(body, "metadata", "resourceVersion")
	if !ok {
		return store.Value{}, errNoPlace
	}
	// Both are slices of body, so the difference of their capacities is the offset.
	at := cap(body) - cap(digits) + 1
	space.meta = selector.AppendMeta(space.meta[:0], obj, res.Selectable)
	return store.Value{Meta: space.meta, Body: body, RevisionAt: at}, nil
}

// Last makes the last value of an object that a deletion does not change. It lies in the
// space.
func Last(e *store.Entry, space *Space) (store.Value, error) {
	digits, ok := document.Find(e.Body, "metadata", "resourceVersion")
	if !ok {
		return store.Value{}, errNoPlace
	}
	at := cap(e.Body) - cap(digits) + 1 // as in Seal
	end := at + len(digits) - len(`""`)
	space.body = append(append(space.body[:0], e.Body[:at]...), e.Body[end:]...)
	return store.Value{Meta: e.Meta, Body: space.body, RevisionAt: at}, nil
}

var errNoPlace = errors.New("the object has no place for its resourceVersion")

// Unchanged reports whether a sealed value equals the stored one except for the revision.
// Equal objects are equal bytes. Any write changes an object that is shown in another
// form than it is stored: it gets the shown form.
func Unchanged(v store.Value, current *store.Entry) bool {
	if current.Rewritten {
		return false
	}
	digits := strconv.AppendUint(make([]byte, 0, 20), current.Revision, 10)
	b, at := current.Body, v.RevisionAt
	return len(b) == len(v.Body)+len(digits) && at+len(digits) <= len(b) &&
		bytes.Equal(b[:at], v.Body[:at]) && bytes.Equal(b[at:at+len(digits)], digits) && bytes.Equal(b[at+len(digits):], v.Body[at:])
}

// Convert converts an object, in the version of res and replacing old, to the storage
// version, with the defaults that only that version has: its readers see them. The caller
// releases the document. Errors: those of the conversion and of Read.
func Convert(ctx context.Context, res *catalog.Row, obj, old document.Value) (*document.Document, error) {
	doc, err := convert.ToStorage(ctx, res.Resource, obj)
	if err != nil || !res.Conversion.Fills {
		return doc, err
	}
	text := doc.Root().AppendJSON(nil)
	doc.Release()
	return Read(res.Storage(), text, old)
}
