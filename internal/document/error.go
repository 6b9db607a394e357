package document

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Limits bound what a document may need. Zero fields have their default.
type Limits struct {
	MaxBytes int // of the text; default 2 GiB
	MaxDepth int // of containers in containers; default 512
	MaxNodes int // values; default 1,000,000
}

func (l Limits) orDefault() Limits {
	if l.MaxBytes <= 0 || l.MaxBytes > maxText {
		l.MaxBytes = maxText
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = 512
	}
	if l.MaxNodes <= 0 {
		l.MaxNodes = 1_000_000
	}
	return l
}

// LimitError says that a document is larger than Limits allow.
type LimitError struct {
	What  string // "bytes", "levels", "values"
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("json: the document has more than %d %s, make it smaller", e.Limit, e.What)
}

// SyntaxError says that the text is not JSON.
type SyntaxError struct {
	Offset  int // in bytes, where it was noticed
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json: %s at offset %d", e.Message, e.Offset)
}

// TypeError says that a value is not what the schema has at that place.
type TypeError struct {
	Path    string // "spec.replicas"; "" for the whole document
	Message string // "cannot unmarshal string into field spec.replicas of type int32"
	Mistake Mistake
}

// Mistake tells apart what is wrong with a value, for callers that answer to one
// in another way.
type Mistake uint8

// The mistakes of values.
const (
	OtherType  Mistake = iota // a string for a number, a name that no enum has
	EmptyPlace                // null as an element of a list
	NoInteger                 // a number with a fraction, or out of the range of its type
	Misspelt                  // no quantity or time where one belongs, a string that is not what its type wants
)

func (e *TypeError) Error() string { return "json: " + e.Message }

// Problem is a field of a body that was not taken as it was sent: the schema
// does not know it, or it was there more than once (then the last one counts).
type Problem struct {
	Duplicate bool   // else unknown
	Untyped   bool   // inside a value whose type allows anything
	Path      string // "spec.containers[0].foo"
}

// maxProblems bounds the problems that are collected from one document.
const maxProblems = 100

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

// typeName is what messages call a type.
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
