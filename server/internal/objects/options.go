package objects

import (
	"github.com/capstan-dev/capstan/internal/authn"
)

// Options say who writes and how. The zero value is the server itself.
type Options struct {
	User         *authn.User // nil for the server
	Author       Warner      // nil for the server
	DryRun       bool
	Validation   string // Ignore, Warn, Strict
	Manager      string // under which name the write is recorded
	FieldManager string // as it was given; "" for none
	Force        bool
	Patched      bool   // the object is what a patch made of the one that was there
	Applied      bool   // the object comes with its managedFields, from an apply
	Subresource  string // which the write is recorded for, where it is not the target's
}

// Warner takes warnings to the author of a write.
type Warner interface{ Warn(text string) }
