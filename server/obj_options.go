package server

import (
	"github.com/capstan-dev/capstan/internal/authn"
)

// writeOptions say who writes and how. The zero value is the server itself.
type writeOptions struct {
	user         *authn.User // nil for the server
	author       warner      // nil for the server
	dryRun       bool
	validation   string // Ignore, Warn, Strict
	manager      string // under which name the write is recorded
	fieldManager string // as it was given; "" for none
	force        bool
	patched      bool   // the object is what a patch made of the one that was there
	applied      bool   // the object comes with its managedFields, from an apply
	subresource  string // which the write is recorded for, where it is not the target's
}

// warner takes warnings to the author of a write.
type warner interface{ warn(text string) }
