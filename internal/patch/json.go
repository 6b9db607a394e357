package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

const (
	// MaxOperations bounds the operations of a client's JSON patch.
	MaxOperations = 10_000
	// maxSteps bounds the work: an insertion into a list, or a removal, moves the elements
	// after it, and a copy sorts and writes all parts of its value, at 8 steps each. A step takes a few ns.
	maxSteps = 200_000_000
	// maxCopied bounds the bytes that the copy operations of one JSON patch add: a few
	// dozen of them could double the object each.
	maxCopied = 3 << 20
)

// JSON applies a client's JSON patch (RFC 6902). As in Kubernetes 1.25, a missing member
// can be replaced, and is null where it is copied or tested; negative indices count from the
// end of a list, and a missing value is null, except in a test; the whole object can be
// replaced, not added; replacing it by a plain value has no effect. As in 1.35, if that is
// the release or an earlier one, it is null in a test too, and a plain value is refused.
// A nil since stands for 1.25.
func JSON(current, patch []byte, limits document.Limits, since func(release string) bool) ([]byte, error) {
	return applyJSON(current, patch, limits, MaxOperations, since != nil && since("1.35"))
}

// Admitted applies the JSON patch of an admission webhook or policy: it may have any number
// of operations whose work is bounded.
func Admitted(current, patch []byte, limits document.Limits) ([]byte, error) {
	return applyJSON(current, patch, limits, math.MaxInt, false)
}

func applyJSON(current, patch []byte, limits document.Limits, most int, newer bool) ([]byte, error) {
	operations, err := readOperations(patch, limits, most, newer)
	if err != nil {
		return nil, err
	}
	if len(current) == 0 || current[0] != '{' {
		return nil, api.Internal("the object to patch is not a JSON object")
	}
	t := target{root: newNode(current), newer: newer}
	for i, o := range operations {
		err := t.apply(o)
		if t.steps > maxSteps { // maybe errTooMuch
			return nil, tooMuch("the JSON patch moves more than %d elements of lists; send fewer operations, or a merge patch", maxSteps)
		}
		if err != nil {
			refused := inapplicable("operation %d, %s of %s: %v", i, o.op, o.path, err)
			if o.op == "test" {
				refused = failedTest{refused}
			}
			return nil, refused
		}
	}
	return t.root.appendTo(make([]byte, 0, len(current)+len(patch))), nil
}

// target is the object that a patch changes.
type target struct {
	root   *node
	newer  bool // as in 1.35
	copied int  // bytes, by the operations so far
	steps  int  // of the operations so far
}

var errTooMuch = errors.New("the patch takes too many steps")

var errNoPath = errors.New("nothing is there that it could be in")

// apply applies one operation to the target.
func (t *target) apply(o operation) error {
	if o.path == "" {
		return t.applyWhole(o)
	}
	value := newNode(o.value)
	if o.op == "copy" || o.op == "move" {
		var err error
		if value, err = t.take(o); err != nil {
			return fmt.Errorf("from %s: %w", o.from, err)
		}
	}
	in, token := t.root.find(o.path)
	if in == nil {
		return errNoPath
	}
	switch o.op {
	case "copy": // parts of the value on the path have their members in the order of their names by now
		var err error
		if value, err = t.copy(value); err != nil {
			return fmt.Errorf("from %s: %w", o.from, err)
		}
	case "remove":
		return t.remove(in, token)
	case "replace":
		return in.replace(token, value)
	case "test":
		found, err := in.get(token)
		if err == nil && !orNull(found).equal(value) {
			err = errOther
		}
		return err
	}
	moved, err := in.add(token, value)
	t.steps += moved
	return err
}

func (t *target) remove(in *node, token string) error {
	moved, err := in.remove(token)
	t.steps += moved
	return err
}

var errOther = errors.New("the value is another")

// ErrTest is wrapped by the error of a patch whose test fails.
var ErrTest = errors.New("a test of the patch fails")

type failedTest struct{ error }

// Unwrap makes it the error of the patch, and ErrTest.
func (e failedTest) Unwrap() []error { return []error{e.error, ErrTest} }

// applyWhole applies an operation to the whole object.
func (t *target) applyWhole(o operation) error {
	switch o.op {
	case "replace":
		if value := newNode(o.value); value.parse() {
			t.root = value
		} else if t.newer {
			return errors.New("the value is neither an object nor a list")
		}
		return nil
	case "test":
		if t.root.equal(newNode(o.value)) {
			return nil
		}
		return errOther
	}
	return errors.New("the whole object can only be replaced and tested")
}

// take returns the value that an operation copies, null for a missing one, or moves.
func (t *target) take(o operation) (*node, error) {
	in, token := t.root.find(o.from)
	if in == nil {
		return nil, errNoPath
	}
	value, err := in.get(token)
	if err != nil {
		return nil, err
	}
	if o.op == "move" {
		return value, t.remove(in, token)
	}
	return orNull(value), nil
}

// copy returns a copy of a value. Errors: the copies of the patch are too large.
func (t *target) copy(value *node) (*node, error) {
	if t.steps += 8 * value.parts(); t.steps > maxSteps {
		return nil, errTooMuch
	}
	text := value.appendTo(nil)
	if t.copied += len(text); t.copied > maxCopied {
		return nil, fmt.Errorf("the copies of the patch have more than %d bytes", maxCopied)
	}
	return newNode(text), nil
}

// orNull is null for a missing value.
func orNull(n *node) *node {
	if n == nil {
		return newNode([]byte("null"))
	}
	return n
}

// operation is a checked operation of a JSON patch.
type operation struct {
	op, path, from string
	value          []byte // without white space between its tokens
}

// readOperations decodes and checks a patch.
func readOperations(patch []byte, limits document.Limits, most int, newer bool) ([]operation, error) {
	doc, err := document.DecodeAny(patch, limits)
	if err != nil {
		return nil, api.BadRequest("the patch cannot be read: %v", err)
	}
	defer doc.Release()
	if doc.Root().Kind() != document.Array {
		return nil, api.BadRequest("a JSON patch must be an array of operations")
	}
	if n := doc.Root().Len(); n > most {
		return nil, tooMuch("the JSON patch has %d operations, at most %d are allowed", n, most)
	}
	for i, v := range doc.Root().Elements() {
		if v.Kind() != document.Object {
			return nil, api.BadRequest("operation %d of the JSON patch must be an object with op and path", i)
		}
	}
	var members []map[string]json.RawMessage
	if err := json.Unmarshal(patch, &members); err != nil {
		return nil, api.BadRequest("the patch cannot be read: %v", err)
	}
	operations := make([]operation, len(members))
	for i, m := range members {
		if operations[i], err = newOperation(m, newer); err != nil {
			return nil, inapplicable("operation %d: %v", i, err)
		}
	}
	return operations, nil
}

// newOperation checks an operation.
func newOperation(m map[string]json.RawMessage, newer bool) (o operation, err error) {
	o = operation{op: document.Unquote(m["op"]), path: document.Unquote(m["path"]), from: document.Unquote(m["from"])}
	isString := func(name string) bool { text := m[name]; return len(text) > 0 && text[0] == '"' }
	switch o.op {
	case "add", "copy", "move", "remove", "replace", "test":
	default:
		return o, fmt.Errorf("op %q is not known, use add, copy, move, remove, replace or test", o.op)
	}
	if !isString("path") {
		return o, fmt.Errorf("%s needs a path, a JSON pointer such as \"/metadata/labels/app\"", o.op)
	}
	if err := checkPointer("path", o.path); err != nil {
		return o, err
	}
	if o.op == "copy" || o.op == "move" {
		if !isString("from") {
			return o, fmt.Errorf("%s needs from, a JSON pointer such as \"/metadata/labels/app\"", o.op)
		}
		if o.path == "" || o.from == "" {
			return o, fmt.Errorf("%s cannot have the whole object as its path or from", o.op)
		}
		return o, checkPointer("from", o.from)
	}
	value := bytes.NewBufferString("")
	if given := m["value"]; given == nil && o.op == "test" && !newer {
		return o, errors.New("test needs a value")
	} else if given == nil {
		value.WriteString("null")
	} else if err := json.Compact(value, given); err != nil {
		return o, err
	}
	o.value = value.Bytes()
	return o, nil
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
