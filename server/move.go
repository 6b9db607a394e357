package server

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/encryption"
	metav1 "github.com/capstan-dev/capstan/internal/gen/meta/v1"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/custom"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/registry"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// ImportStore makes the store of the data directory of c of the objects in etcd, without a server:
// see operate.Import. from says where etcd is, but for the form of objects.
func ImportStore(ctx context.Context, c Config, from etcd.Config, leaveOut bool, report func(operate.Imported)) (operate.Imported, error) {
	c.setDefaults()
	cipher, err := encryption.Read(c.EncryptionConfigFile, catalog.ResourceOfKey)
	if err != nil {
		return operate.Imported{}, err
	}
	defer cipher.Close()
	rows, err := c.rows()
	if err != nil {
		return operate.Imported{}, err
	}
	from.Form = registry.New(rows)
	i := operate.Import{DataDir: c.DataDir, From: from, Kinds: stored.NewKinds(rows.Snapshot()), Cipher: cipher, LeaveOut: leaveOut, Report: report}
	return i.Run(ctx)
}

// ExportStore writes the objects of the store in the data directory of c into an empty etcd, without
// a server: see operate.Export. to says where etcd is, but for the form of objects.
func ExportStore(ctx context.Context, c Config, to etcd.Config, report func(operate.Exported)) (done operate.Exported, err error) {
	c.setDefaults()
	cipher, err := encryption.Read(c.EncryptionConfigFile, catalog.ResourceOfKey)
	if err != nil {
		return done, err
	}
	defer cipher.Close()
	rows, err := c.rows()
	if err != nil {
		return done, err
	}
	config := store.Config{Dir: operate.StoreDir(c.DataDir)}
	if cipher != nil {
		config.Cipher = cipher
	}
	engine, err := store.OpenReadOnly(config)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	kinds, err := customKinds(ctx, engine, rows.Snapshot())
	if err != nil {
		return done, err
	}
	to.Form = registry.New(rows)
	x := operate.Export{Store: engine, To: to, Kinds: stored.NewKinds(rows.Snapshot()).And(kinds), Report: report}
	return x.Run(ctx)
}

// rows is the catalog of all kinds of the configuration, whether they are served or not.
func (c *Config) rows() (*catalog.Catalog, error) {
	groups, _, err := c.allGroups(func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	return catalog.New(groups, &metav1.Table), nil
}

// customKinds are the kinds of the custom resources in a store, without their converters.
func customKinds(ctx context.Context, s store.Store, snapshot *catalog.Snapshot) (stored.Kinds, error) {
	rows, err := customRows(snapshot, func(document.Value) api.Converter { return conversion.Unreachable{} })
	if err != nil {
		return nil, err
	}
	return custom.Kinds(ctx, s, definitionsRow(snapshot), rows)
}
