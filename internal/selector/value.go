package selector

import (
	"bytes"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
)

// valueRule is one requirement on a value in the object: equal (or, negated, not equal)
// to value.
type valueRule struct {
	path   []string
	value  string
	negate bool
}

// Reads reports whether the selector has rules about values in the object, see Suits.
func (s *Selector) Reads() bool { return len(s.values) > 0 }

// Suits reports whether an object meets the rules about values in it. body is its
// canonical JSON in the version for which the selector was made.
func (s *Selector) Suits(body []byte) bool {
	for i := range s.values {
		r := &s.values[i]
		if value, _ := document.Find(body, r.path...); equalsText(value, r.value) == r.negate {
			return false
		}
	}
	return true
}

// equalsText reports whether JSON text stands for the text that selectors compare: a
// string for itself, a boolean or a number for its JSON, everything else for none.
func equalsText(value []byte, text string) bool {
	switch {
	case len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null":
		return text == ""
	case value[0] != '"':
		return string(value) == text
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1:len(value)-1]) == text
	}
	var s string
	return json.Unmarshal(value, &s) == nil && s == text
}
