// Package builtin has what generated code of other modules needs of the built-in groups.
package builtin

import (
	"time"

	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// Hooks are the hooks of built-in types, for a server with the usual features. Generated
// code of modules that refer to these types uses them.
func Hooks() policy.Policy { return policy.New(time.Now) }
