// Package etcdstore is the store of several servers on one etcd. A program that links it, and gives
// Open to its servers, can keep objects there:
//
//	config := server.Config{}
//	config.OpenEtcd = etcdstore.Open
package etcdstore

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/registry"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// Connection is the part of the configuration that says how etcd is reached, and how objects lie there.
// Errors name the flag to correct.
func Connection(s *shared.Settings, rows *catalog.Catalog, cipher *encryption.Cipher) (etcd.Config, error) {
	security, err := etcd.Security(s.EtcdCAFile, s.EtcdCertFile, s.EtcdKeyFile)
	if err != nil {
		return etcd.Config{}, err
	}
	format, err := s.Format()
	return etcd.Config{Endpoints: s.EtcdServers, TLS: security, Prefix: s.EtcdPrefix,
		Form: registry.New(rows).Encrypted(s.EtcdPrefix, cipher).Written(format)}, err
}

// Open connects to etcd and follows it into the replica. It returns when the replica has the state
// of the moment in which it began. Errors name the flag to correct, or etcd's reason.
func Open(ctx context.Context, c shared.Config) (shared.Store, error) {
	config, err := Connection(&c.Settings, c.Catalog, c.Cipher)
	if err != nil {
		return nil, err
	}
	config.FormID, config.Replica, config.Lives, config.Reuse, config.Logger = c.Form+registry.Reading, c.Replica, c.Lives, c.LeaseReuseDuration, c.Logger
	config.Compaction = max(c.EtcdCompactionInterval, time.Duration(0))
	config.Observe, config.Size, config.SizeInterval = c.Observe, c.Size, max(c.EtcdSizeInterval, time.Duration(0))
	engine, err := etcd.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	return engine, nil
}
