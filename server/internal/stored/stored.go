// Package stored holds how objects are kept in the store: sealed, in one version of
// their kind, complete when they are read back; and it shows those that were stored
// under other documents as they would be stored today.
package stored

import (
	"bytes"
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

// Read reads an object of a row, which is to replace old, from its text,
// which may be one of other documents, as it would be read from a request:
// complete, with all defaults. The document is to be released by the caller.
func Read(res *catalog.Row, text []byte, old document.Value) (*document.Document, error) {
	decoder := document.Decoder{Table: res.GV.Types(), Defaults: res.GV.Defaults, Limits: document.Limits{MaxNodes: math.MaxInt32}}
	doc, _, err := decoder.DecodeOver(old, res.Type, text)
	return doc, err
}

// Seal makes the value that the store keeps of an object: its canonical JSON with a place for
// the revision, and the header that selectors read.
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
	// digits are a part of body, so the difference of what is left behind their
	// beginnings is the offset.
	at := cap(body) - cap(digits) + 1
	return store.Value{Meta: selector.AppendMeta(nil, obj, res.Selectable), Body: body, RevisionAt: at}, nil
}

var errNoPlace = errors.New("the object has no place for its resourceVersion")

// Unchanged reports whether a sealed value differs from what is stored in
// nothing but the revision. Equal objects are equal bytes. What is shown in another
// form than it is stored in is changed by any write: then it is as it is shown.
func Unchanged(v store.Value, current *store.Entry) bool {
	if current.Rewritten {
		return false
	}
	digits := strconv.AppendUint(make([]byte, 0, 20), current.Revision, 10)
	b, at := current.Body, v.RevisionAt
	return len(b) == len(v.Body)+len(digits) && at+len(digits) <= len(b) &&
		bytes.Equal(b[:at], v.Body[:at]) && bytes.Equal(b[at:at+len(digits)], digits) && bytes.Equal(b[at+len(digits):], v.Body[at:])
}

// sealSpace holds memory in which objects are written before their size is known;
// maxSealed is the most that is kept, in bytes.
var sealSpace = sync.Pool{New: func() any { return new([]byte) }}

const maxSealed = 256 << 10

// Convert gives an object, which is in the version of res and is to replace old,
// in the one that is stored, with the defaults that only that one has: readers of that
// version see them. The document is to be released by the caller.
func Convert(res *catalog.Row, obj, old document.Value) (*document.Document, error) {
	doc, err := convert.ToStorage(res.Resource, obj)
	if err != nil || !res.Conversion.Fills {
		return doc, err
	}
	text := doc.Root().AppendJSON(nil)
	doc.Release()
	return Read(res.Storage(), text, old)
}
