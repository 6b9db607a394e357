// Package manual has the commands of the program, for manual pages, completions and references that are made of
// them.
package manual

import (
	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/command"
	"github.com/capstan-dev/capstan/server/internal/etcdstore"
	"github.com/capstan-dev/capstan/server/internal/move"
)

// Commands is the tree of commands with the flags of both programs: capstan starts capstan-etcd where it needs
// etcd's client. The commands of the tree are not to be run.
func Commands() *cobra.Command {
	return command.Tree("capstan", server.Config{Etcd: server.Etcd{OpenEtcd: etcdstore.Open}},
		&command.Etcd{Import: move.NewImport, Export: move.NewExport, Check: move.Check})
}
