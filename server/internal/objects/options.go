package objects

import (
	"github.com/capstan-dev/capstan/internal/authn"
)

// Options are the author and the options of a write. The zero value is the server itself.
type Options struct {
	User       *authn.User // nil for the server
	Author     Author      // nil for the server
	DryRun     bool
	Validation string // Ignore, Warn, Strict
	// AskedValidation is the validation that the request names; "" for none.
	AskedValidation string
	Manager         string // the manager that the write is recorded for
	FieldManager    string // as it was sent; "" for none
	Force           bool
	Patched         bool   // the object is the result of a patch
	Applied         bool   // the object has its managedFields, from an apply
	Subresource     string // that the write is recorded for, if not the target's
}

// Author is the request that makes a write: its warnings, and its annotations in audit
// events (admission.Author).
type Author interface {
	Warn(text string)
	Audited(bodies bool) bool
	Annotate(key, value string)
}
