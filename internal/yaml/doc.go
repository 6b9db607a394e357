// Package yaml turns YAML text into JSON text while it reads it: one pass, no
// tree, memory in proportion to the text.
//
// The text is YAML 1.1 as the clients of Kubernetes write it: this package reads the
// texts that the second version of the Go YAML library reads, in the same meaning (yes is
// true, 0777 is octal, a later key replaces an earlier one, << merges in its position).
// The library is the oracle of the tests. It cannot be used itself, since it makes a tree
// before its size can be checked: a body costs it 250 times its length.
//
// The scanner cuts the text into tokens, among them the beginnings and ends of blocks,
// which follow from the indentation alone. The converter is a recursive descent over the
// tokens that writes JSON as it goes.
//
// The other direction needs little: AppendString and AppendKey spell strings, the caller
// that has the values writes the rest (codec.ToYAML).
package yaml

import (
	"bytes"
	"fmt"
)

// Error is a mistake in a text, with its position.
type Error struct {
	Line int // from 1
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("yaml: line %d: %s", e.Line, e.What) }

// LimitError means that a document exceeds a limit.
type LimitError struct {
	What  string // "levels of nesting", …
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("yaml: the document has more than %d %s, make it smaller", e.Limit, e.What)
}

// errorAt is the error for the byte at pos.
func errorAt(text []byte, pos int, format string, args ...any) error {
	return &Error{Line: lineOf(text, pos), What: fmt.Sprintf(format, args...)}
}

// lineOf is the line of the byte at pos, from 1.
func lineOf(text []byte, pos int) int {
	before := text[:min(pos, len(text))]
	return 1 + bytes.Count(before, []byte{'\n'}) + bytes.Count(before, []byte{'\r'}) - bytes.Count(before, []byte("\r\n"))
}
