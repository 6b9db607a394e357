package command

import (
	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server"
)

// Tree is the tree of commands of a program. With an Etcd it is that of the program with etcd's client. Its commands
// are to be described, not run.
func Tree(name string, cfg server.Config, etcd *Etcd) *cobra.Command {
	return program{name, cfg, etcd, become}.newRoot(catch)
}
