// Package etcdstore is the store of several servers on one etcd. A program that links it, and gives
// Open to its servers, can keep objects there:
//
//	config := server.Config{}
//	config.OpenEtcd = etcdstore.Open
package etcdstore

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/registry"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// Open connects to etcd and follows it into the replica. It returns when the replica has the state
// of the moment in which it began. Errors name the flag to correct, or etcd's reason.
func Open(ctx context.Context, c shared.Config) (shared.Store, error) {
	if err := c.Cipher.CheckValues(); err != nil {
		return nil, err
	}
	security, err := etcd.Security(c.EtcdCAFile, c.EtcdCertFile, c.EtcdKeyFile)
	if err != nil {
		return nil, err
	}
	format, err := c.Format()
	if err != nil {
		return nil, err
	}
	engine, err := etcd.Open(ctx, etcd.Config{Endpoints: c.EtcdServers, TLS: security, Prefix: c.EtcdPrefix,
		Form: registry.New(c.Catalog).Encrypted(c.EtcdPrefix, c.Cipher).Written(format), FormID: c.Form, Observe: c.Observe,
		Lives: c.Lives, Reuse: c.LeaseReuseDuration, Compaction: max(c.EtcdCompactionInterval, time.Duration(0)),
		SizeInterval: max(c.EtcdSizeInterval, time.Duration(0)), Size: c.Size, Replica: c.Replica, Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	return engine, nil
}
