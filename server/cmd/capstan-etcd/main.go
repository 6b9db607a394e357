// Command capstan-etcd is capstan with the client of etcd: for servers that share their objects, and for
// objects that move between a store and etcd.
package main

import (
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/command"
	"github.com/capstan-dev/capstan/server/internal/etcdstore"
	"github.com/capstan-dev/capstan/server/internal/move"
)

func main() {
	command.MainWithEtcd("capstan", server.Config{Etcd: server.Etcd{OpenEtcd: etcdstore.Open}},
		command.Etcd{Import: move.NewImport, Export: move.NewExport, Check: move.Check})
}
