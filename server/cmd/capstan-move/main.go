// Command capstan-move moves a cluster between a server's store and the etcd of a kube-apiserver.
package main

import (
	"os"

	"github.com/capstan-dev/capstan/server/internal/move"
)

func main() { os.Exit(move.Main()) }
