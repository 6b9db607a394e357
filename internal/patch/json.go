package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

const (
	// MaxOperations is the largest number of operations in a JSON patch.
	MaxOperations = 10_000
	// maxSteps bounds the work: an operation that changes an array moves what
	// stands behind, and one that changes an object looks for its member among
	// the others. It is the number of such operations times the elements or
	// members of the largest container; a step takes about 4 ns.
	maxSteps = 200_000_000
	// maxCopied is the number of bytes that the copy operations of one JSON
	// patch may add: a few dozen of them could double the object each.
	maxCopied = 3 << 20
)

// JSON applies a JSON patch (RFC 6902). As in Kubernetes 1.25, replace of a
// member that does not exist adds it (unless its name could be an index of a
// list: then it must exist, as the RFC says), negative indices count from the
// end of a list, and a value that is missing is null.
func JSON(current, patch []byte, limits document.Limits) ([]byte, error) {
	operations, widest, err := readOperations(patch, limits)
	if err != nil {
		return nil, err
	}
	// A container grows by an entry with every operation, and begins with at
	// most one for every two bytes: most objects need no look.
	changes := countChanges(operations)
	if changes*(len(current)/2+widest+changes) > maxSteps {
		doc, err := document.DecodeAny(current, limits)
		if err != nil {
			return nil, api.Internal("the object to patch cannot be read: " + err.Error())
		}
		widest = max(widest, width(doc.Root())) + changes/2
		doc.Release()
		if changes*widest > maxSteps {
			return nil, tooMuch("the JSON patch has %d operations that change something, at most %d are allowed where a list or map may get %d entries; send fewer, or a merge patch", changes, maxSteps/widest, widest)
		}
	}
	if len(current) == 0 || current[0] != '{' {
		return nil, api.Internal("the object to patch is not a JSON object")
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = true
	options.AccumulatedCopySizeLimit = maxCopied
	options.EscapeHTML = false
	result, err := apply(operations, current, options)
	if err != nil {
		return nil, inapplicable("%v", err)
	}
	return result, nil
}

// apply runs the operations. The library compares null elements of arrays by
// dereferencing them; such a patch is refused like any other that cannot be
// applied.
func apply(operations jsonpatch.Patch, current []byte, options *jsonpatch.ApplyOptions) (result []byte, err error) {
	defer func() {
		if recover() != nil {
			result, err = nil, errors.New("an operation meets a null where it needs a value")
		}
	}()
	return operations.ApplyWithOptions(current, options)
}

// readOperations decodes and checks a patch. widest is the size of the largest
// container in its values.
func readOperations(patch []byte, limits document.Limits) (operations jsonpatch.Patch, widest int, err error) {
	doc, err := document.DecodeAny(patch, limits)
	if err != nil {
		return nil, 0, api.BadRequest("the patch cannot be read: %v", err)
	}
	defer doc.Release()
	if doc.Root().Kind() != document.Array {
		return nil, 0, api.BadRequest("a JSON patch must be an array of operations")
	}
	if n := doc.Root().Len(); n > MaxOperations {
		return nil, 0, tooMuch("the JSON patch has %d operations, at most %d are allowed", n, MaxOperations)
	}
	for i, v := range doc.Root().Elements() {
		if v.Kind() != document.Object {
			return nil, 0, api.BadRequest("operation %d of the JSON patch must be an object with op and path", i)
		}
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, 0, api.BadRequest("the patch cannot be read: %v", err)
	}
	for i, operation := range operations {
		if err := prepare(operation); err != nil {
			return nil, 0, inapplicable("operation %d: %v", i, err)
		}
	}
	for _, v := range doc.Root().Elements() {
		widest = max(widest, width(v))
	}
	return operations, widest, nil
}

// prepare checks one operation and brings it into a form that the library
// applies as the reference does.
func prepare(o jsonpatch.Operation) error {
	kind := o.Kind()
	switch kind {
	case "add", "copy", "move", "remove", "replace", "test":
	default:
		return fmt.Errorf("op %q is not known, use add, copy, move, remove, replace or test", kind)
	}
	path, err := o.Path()
	if err != nil {
		return fmt.Errorf("%s needs a path, a JSON pointer such as \"/metadata/labels/app\"", kind)
	}
	if err := checkPointer("path", path); err != nil {
		return err
	}
	switch kind {
	case "copy", "move":
		from, err := o.From()
		if err != nil {
			return fmt.Errorf("%s needs from, a JSON pointer such as \"/metadata/labels/app\"", kind)
		}
		if path == "" || from == "" {
			return fmt.Errorf("%s cannot have the whole object as its path or from", kind)
		}
		return checkPointer("from", from)
	case "add", "replace":
		value, ok := o["value"]
		if !ok { // as in 1.25
			null := json.RawMessage("null")
			value, o["value"] = &null, &null
		}
		if path == "" {
			if value == nil || len(*value) == 0 || bytes.TrimLeft(*value, " \t\r\n")[0] != '{' {
				return fmt.Errorf("%s of the whole object needs a value that is an object", kind)
			}
			return nil
		}
		if kind == "replace" && !maybeIndex(path) {
			word := json.RawMessage(`"add"`) // the same for objects, and a member that is missing is added
			o["op"] = &word
		}
	case "test":
		if o["value"] == nil {
			value := json.RawMessage("null")
			o["value"] = &value
		}
	}
	return nil
}

// maybeIndex reports whether the last token of a pointer could mean an element
// of an array. For such tokens replace must stay replace, since add inserts.
func maybeIndex(pointer string) bool {
	token := pointer[strings.LastIndexByte(pointer, '/')+1:]
	_, err := strconv.Atoi(token)
	return err == nil || token == "-"
}

// countChanges is the number of insertions, replacements and removals.
func countChanges(operations jsonpatch.Patch) int {
	n := 0
	for _, o := range operations {
		switch o.Kind() {
		case "test":
		case "move":
			n += 2
		default:
			n++
		}
	}
	return n
}

// width is the size of the largest container in a value.
func width(v document.Value) int {
	widest := v.Len()
	switch v.Kind() {
	case document.Object:
		for _, member := range v.Members() {
			widest = max(widest, width(member))
		}
	case document.Array:
		for _, element := range v.Elements() {
			widest = max(widest, width(element))
		}
	}
	return widest
}

func checkPointer(what, pointer string) error {
	if pointer != "" && pointer[0] != '/' {
		return fmt.Errorf("%s %q is not a JSON pointer, it must start with \"/\"", what, pointer)
	}
	return nil
}

// inapplicable is the 422 of operations that do not fit the object.
func inapplicable(format string, args ...any) error {
	return &api.Error{Code: http.StatusUnprocessableEntity, Reason: api.ReasonInvalid,
		Message: "the JSON patch cannot be applied: " + fmt.Sprintf(format, args...)}
}

// tooMuch is the 413 of a patch that would take too long.
func tooMuch(format string, args ...any) error {
	return &api.Error{Code: http.StatusRequestEntityTooLarge, Reason: api.ReasonRequestEntityTooLarge,
		Message: "Request entity too large: " + fmt.Sprintf(format, args...)}
}
