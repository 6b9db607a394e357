// Command capstan is a cluster control plane's API server.
package main

import (
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/command"
)

func main() { command.Main("capstan", server.Config{}) }
