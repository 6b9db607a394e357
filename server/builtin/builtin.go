// Package builtin has the rules of built-in types for the tables of other modules that
// refer to them. Generated code imports it.
package builtin

import (
	"time"

	"github.com/capstan-dev/capstan/server/internal/policy"
)

// Hooks are the hooks of built-in types, for a server with the usual features.
func Hooks() policy.Policy { return policy.New(time.Now) }
