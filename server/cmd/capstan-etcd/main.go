// Command capstan-etcd is capstan with the client of etcd, for servers that share their objects.
package main

import (
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/command"
	"github.com/capstan-dev/capstan/server/internal/etcdstore"
)

func main() {
	command.Main("capstan", server.Config{Etcd: server.Etcd{OpenEtcd: etcdstore.Open}})
}
