//go:build tools

// Package tools pins the versions of the development tools.
package tools

import (
	_ "golang.org/x/tools/cmd/deadcode"
	_ "golang.org/x/vuln/cmd/govulncheck"
	_ "honnef.co/go/tools/cmd/staticcheck"
)
