// Package builtin has the built-in groups, for the configuration of a server.
package builtin

import (
	"time"

	"github.com/capstan-dev/capstan/server/internal/cluster"
	"github.com/capstan-dev/capstan/server/internal/parts"
	"github.com/capstan-dev/capstan/server/internal/policy"
)

// Groups are the built-in groups with all that serves them: custom resources, extension
// servers, service accounts, admission, quotas, addresses of services.
func Groups() parts.Builtin { return cluster.Builtin{} }

// Hooks are the hooks of built-in types, for a server with the usual features. Generated
// code of modules that refer to these types uses them.
func Hooks() policy.Policy { return policy.New(time.Now) }
