// Package document is internal/document as far as generated code of other modules needs it.
// Nothing else should import it: hooks see objects through the package object.
package document

import "github.com/capstan-dev/capstan/internal/document"

// The types of hooks in tables.
type (
	Value = document.Value
	Hooks = document.Hooks
)
