package harness

import (
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/etcdstore"
)

// Etcd starts an etcd that ends with the test, and returns its URL.
func Etcd(t testing.TB) string { return etcdtest.Start(t) }

// etcdPrefixes counts the servers of CAPSTAN_TEST_ETCD, each of which has its own prefix.
var etcdPrefixes atomic.Int64

// OnEtcd has a server keep its objects in etcd, with its replica in memory.
func OnEtcd(c *server.Config, url, prefix string) {
	c.InMemory, c.FS, c.DataDir = false, vfs.NewMem(), "data"
	c.EtcdServers, c.EtcdPrefix, c.OpenEtcd = []string{url}, prefix, etcdstore.Open
}
