package document

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Limits bound the size of a document. Zero fields have their default.
type Limits struct {
	MaxBytes int // of the text; default 2 GiB
	MaxDepth int // of containers in containers; default 10000
	MaxNodes int // values; default 1,000,000
}

func (l Limits) orDefault() Limits {
	if l.MaxBytes <= 0 || l.MaxBytes > maxText {
		l.MaxBytes = maxText
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = 10000
	}
	if l.MaxNodes <= 0 {
		l.MaxNodes = 1_000_000
	}
	return l
}

// FilledBytes is the LimitError.What of a document that its defaults make too large.
const FilledBytes = "bytes with its defaults"

// LimitError means that a document is larger than its Limits.
type LimitError struct {
	What  string // "bytes", FilledBytes, "levels", "values"
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("json: the document has more than %d %s, make it smaller", e.Limit, e.What)
}

// SyntaxError means that the text is not JSON.
type SyntaxError struct {
	Offset  int // in bytes, of the mistake
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json: %s at offset %d", e.Message, e.Offset)
}

// TypeError means that a value is not of the type that the schema has for its position.
type TypeError struct {
	Path    string // "spec.replicas"; "" for the whole document
	Message string // "cannot unmarshal string into field spec.replicas of type int32"
	Mistake Mistake
}

// Mistake is the sort of a TypeError, for callers that answer some of them differently.
type Mistake uint8

// The sorts of mistakes.
const (
	WrongType   Mistake = iota // a string for a number, an unknown name of an enum
	NullElement                // null as an element of a list
	NotInteger                 // a number with a fraction
	OutOfRange                 // a whole number that its type cannot hold
	Malformed                  // not a quantity, time or other spelling that the type requires
)

func (e *TypeError) Error() string { return "json: " + e.Message }

// Problem is a field of a body that was not stored as sent: the schema does not know it,
// or it was there more than once (then the last one counts).
type Problem struct {
	Duplicate bool   // else unknown
	Untyped   bool   // inside a value whose type allows anything
	Meta      bool   // in the metadata of a custom object, or of an object in it
	Alien     bool   // in an object, or an array of such, that is sent for another type of value
	Loose     bool   // in an object of which an applied configuration may have further members
	Path      string // "spec.containers[0].foo"
}

// maxProblems bounds the problems collected from one document.
const maxProblems = 100

// maxLevels bounds the levels of all problems together.
const maxLevels = 1 << 20

// addProblem adds a problem once.
func addProblem(problems []Problem, p Problem) []Problem {
	if len(problems) >= maxProblems {
		return problems
	}
	for i := range problems {
		if problems[i] == p {
			return problems
		}
	}
	return append(problems, p)
}

// typeName is the name of a type in messages.
func typeName(t *schema.Type) string {
	switch t.Kind {
	case schema.Object:
		if t.Name != "" {
			return t.Name
		}
		return "object"
	case schema.Map:
		return "map"
	case schema.List:
		return "list"
	case schema.String:
		return "string"
	case schema.Bytes:
		return "base64 string"
	case schema.Boolean:
		return "bool"
	case schema.Integer:
		if t.Bits == 32 {
			return "int32"
		}
		return "int64"
	case schema.Number:
		return "number"
	case schema.IntOrString:
		return "int32 or string"
	case schema.Quantity:
		return "quantity"
	case schema.Time, schema.MicroTime:
		return "time"
	case schema.Duration:
		return "duration"
	}
	switch t.Binary {
	case schema.BinaryObjectOrList:
		return "object or list"
	case schema.BinaryObjectOrBoolean:
		return "object or bool"
	case schema.BinaryObjectOrStrings:
		return "object or list of strings"
	}
	return "any"
}
