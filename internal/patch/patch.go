// Package patch applies the three patch documents of the API to an object: JSON merge
// patch (RFC 7386), JSON patch (RFC 6902) and strategic merge patch.
//
// Every function takes the current object's canonical JSON, as stored, and the bytes of
// the patch, and returns the bytes of the patched object. The result is JSON, but neither
// canonical nor checked: the caller decodes it like a request's body. Nothing is changed
// in place, and a patch applies as a whole or not at all.
//
// Errors are *api.Error: 400 for a patch that cannot be understood, 422 for JSON patch
// operations that cannot be applied, 413 for too many of them, 500 when the current
// object itself cannot be read.
package patch

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// decodeObjects decodes the current object and a patch that must be an object as well.
// The caller releases both.
func decodeObjects(current, patch []byte, limits document.Limits) (cur, pat *document.Document, err error) {
	pat, err = document.DecodeAny(patch, limits)
	if err != nil {
		return nil, nil, api.BadRequest("the patch cannot be read: %v", err)
	}
	if pat.Root().Kind() != document.Object {
		pat.Release()
		return nil, nil, api.BadRequest("the patch must be a JSON object that holds the fields to change")
	}
	cur, err = document.ReadStored(nil, schema.None, current)
	if err != nil {
		pat.Release()
		return nil, nil, api.Internal("the object to patch cannot be read: " + err.Error())
	}
	if cur.Root().Kind() != document.Object {
		pat.Release()
		cur.Release()
		return nil, nil, api.Internal("the object to patch is not a JSON object")
	}
	return cur, pat, nil
}

// manyMembers is the number of names or elements from which a look-up uses a map; below
// it a scan is quicker.
const manyMembers = 8

// appendName appends the name of a member of the object that started at dst[start-1],
// with a comma unless it is the first.
func appendName(dst []byte, start int, name string) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	// An error reports invalid UTF-8, which is replaced in the output.
	dst, _ = jsontext.AppendQuote(dst, name)
	return append(dst, ':')
}

// fieldPath is the position of the merge in a patch, for messages. It is a list from the
// innermost member outwards; nil is the whole patch.
type fieldPath struct {
	up    *fieldPath
	name  string // of a member; "" for an element
	index int    // of an element
}

// String is the position as a field path: "spec.containers[1].ports". The whole patch is
// "the patch".
func (p *fieldPath) String() string {
	if p == nil {
		return "the patch"
	}
	var parts []string
	for ; p != nil; p = p.up {
		switch {
		case p.name == "":
			parts = append(parts, "["+strconv.Itoa(p.index)+"]")
		case p.up == nil:
			parts = append(parts, p.name)
		default:
			parts = append(parts, "."+p.name)
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, "")
}
