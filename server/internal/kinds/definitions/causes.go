package definitions

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
)

// causes gathers the causes of a definition.
type causes struct {
	document.Causes
	allowed *expression.Allowed // functions of the rules of a definition
}

// isSet reports whether a member has a value other than null.
func isSet(v document.Value) bool { return v.Exists() && !v.IsNull() }

// isEmpty reports whether a value is empty: absent, null, "", [] or {}.
func isEmpty(v document.Value) bool { return v.IsNothing() }

// same reports whether two values are equal. Two absent values are.
func same(a, b document.Value) bool {
	if !a.Exists() || !b.Exists() {
		return a.Exists() == b.Exists()
	}
	return document.Equal(a, b)
}
