package server

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

// readFilled reads an object of a row, which is to replace old, from its text,
// which may be one of other documents, as it would be read from a request:
// complete, with all defaults.
func readFilled(res *catalog.Row, text []byte, old document.Value) (*document.Document, error) {
	decoder := document.Decoder{Table: res.GV.Table, Defaults: res.GV.Defaults, Limits: document.Limits{MaxNodes: math.MaxInt32}}
	doc, _, err := decoder.DecodeOver(old, res.Type, text)
	return doc, err
}

// sealed is an object as the store keeps it: its canonical JSON with a place for
// the revision, and the header that selectors read.
func sealed(res *catalog.Row, obj document.Value) (store.Value, error) {
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

// sealSpace holds memory in which objects are written before their size is known;
// maxSealed is the most that is kept, in bytes.
var sealSpace = sync.Pool{New: func() any { return new([]byte) }}

const maxSealed = 256 << 10

// toStorage gives an object, which is in the version of res and is to replace old,
// in the one that is stored, with the defaults that only that one has: whoever
// reads it there is shown them.
func toStorage(res *catalog.Row, obj, old document.Value) (*document.Document, error) {
	doc, err := convert.ToStorage(res.Resource, obj)
	if err != nil || !res.Conversion.Fills {
		return doc, err
	}
	text := doc.Root().AppendJSON(nil)
	doc.Release()
	return readFilled(res.Storage(), text, old)
}
