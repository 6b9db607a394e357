package object

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Cause is a mistake in an object: a path ("spec.stops[0].street") and a text, which is a
// part of the answer to the client.
type Cause = schema.Cause

// Invalid is the cause of a value that breaks a rule.
func Invalid(field string, value Value, why string) Cause {
	shown := string(value.JSON())
	return Cause{Reason: schema.CauseInvalid, Field: field, Message: "Invalid value: " + shown + ": " + why}
}

// Required is the cause of a value that is missing.
func Required(field, why string) Cause {
	return Cause{Reason: schema.CauseRequired, Field: field, Message: "Required value: " + why}
}

// Forbidden is the cause of a value that may not be there, or may not change.
func Forbidden(field, why string) Cause {
	return Cause{Reason: schema.CauseForbidden, Field: field, Message: "Forbidden: " + why}
}

// NotSupported is the cause of a value that is not one of a few.
func NotSupported(field string, value Value, supported ...string) Cause {
	quoted := make([]string, len(supported))
	for i, s := range supported {
		quoted[i] = strconv.Quote(s)
	}
	return Cause{Reason: schema.CauseNotSupported, Field: field,
		Message: fmt.Sprintf("Unsupported value: %s: supported values: %s", value.JSON(), strings.Join(quoted, ", "))}
}

// The functions below give hooks the form that the server calls; generated code uses them.

// Change adapts hooks that complete an object.
func Change(hook func(Value)) func(document.Value) {
	return func(v document.Value) { hook(Value{v}) }
}

// Replace adapts hooks that complete an object from another one.
func Replace(hook func(a, b Value)) func(a, b document.Value) {
	return func(a, b document.Value) { hook(Value{a}, Value{b}) }
}

// Validate adapts hooks that find the mistakes of an object.
func Validate(hook func(obj, old Value) []Cause) func(obj, old document.Value) []schema.Cause {
	return func(obj, old document.Value) []schema.Cause { return hook(Value{obj}, Value{old}) }
}

// Check adapts hooks that find the mistakes of a part of an object.
func Check(hook func(Value) []Cause) func(document.Value) []schema.Cause {
	return func(v document.Value) []schema.Cause { return hook(Value{v}) }
}

// Warn adapts hooks that warn about an object.
func Warn(hook func(obj, old Value) []string) func(obj, old document.Value) []string {
	return func(obj, old document.Value) []string { return hook(Value{obj}, Value{old}) }
}

// Skip adapts hooks that name members.
func Skip(hook func(Value) []string) func(document.Value) []string {
	return func(v document.Value) []string { return hook(Value{v}) }
}

// Ago is a table cell that shows an age. Cells are kept while their object stays as it is,
// so a hook that shows one must not look at a clock.
type Ago = api.Ago

// Cell adapts hooks that show a table cell.
func Cell(hook func(Value) any) func(document.Value) any {
	return func(v document.Value) any { return hook(Value{v}) }
}
