// Package stored holds the stored form of objects: sealed, in their kind's storage
// version, complete when they are read back; objects that were stored under other
// documents are shown as they would be stored today.
package stored

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Read reads an object of a row, which replaces old, from its text, which may be of other
// documents, like a request: complete, with all defaults. The caller releases the
// document.
func Read(res *catalog.Row, text []byte, old document.Value) (*document.Document, error) {
	decoder := document.Decoder{Table: res.GV.Types(), Defaults: res.GV.Defaults, Limits: document.Limits{MaxNodes: math.MaxInt32}}
	doc, _, err := decoder.DecodeOver(old, res.Type, text)
	return doc, err
}

// Seal makes the stored value of an object: its canonical JSON with a place for the
// revision, and the header for selectors.
func Seal(res *catalog.Row, obj document.Value) (store.Value, error) {
	obj.Get("metadata").SetString("resourceVersion", "")
	space := sealSpace.Get().(*[]byte)
	*space = obj.AppendJSON((*space)[:0])
	body := bytes.Clone(*space)
	if cap(*space) <= maxSealed {
		sealSpace.Put(space)
	}
	digits, ok := document.Find(body, "metadata", "resourceVersion")
	if !ok {
		return store.Value{}, errNoPlace
	}
	// Both are slices of body, so the difference of their capacities is the offset.
	at := cap(body) - cap(digits) + 1
	return store.Value{Meta: selector.AppendMeta(nil, obj, res.Selectable), Body: body, RevisionAt: at}, nil
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

// sealSpace holds buffers for objects whose size is unknown; maxSealed bounds the bytes
// of one that is reused.
var sealSpace = sync.Pool{New: func() any { return new([]byte) }}

const maxSealed = 256 << 10

// Convert converts an object, in the version of res and replacing old, to the storage
// version, with the defaults that only that version has: its readers see them. The caller
// releases the document.
func Convert(ctx context.Context, res *catalog.Row, obj, old document.Value) (*document.Document, error) {
	doc, err := convert.ToStorage(ctx, res.Resource, obj)
	if err != nil || !res.Conversion.Fills {
		return doc, err
	}
	text := doc.Root().AppendJSON(nil)
	doc.Release()
	return Read(res.Storage(), text, old)
}
