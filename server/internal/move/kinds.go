// Package move has the commands that need etcd's client: objects of a cluster move between the store of
// a server and the etcd of a kube-apiserver, or come from a running server, through its API, and
// values in etcd are checked.
package move

import (
	"context"
	"errors"
	"time"

	"github.com/capstan-dev/capstan/internal/encryption"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/custom"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// rows is the catalog of all built-in kinds of a release, which an error names.
func rows(release options.Config) (*catalog.Catalog, error) {
	edition, err := release.Builtin()
	if err != nil {
		return nil, err
	}
	rules := policy.New(time.Now)
	rules.Edition = edition
	return catalog.New(generated.Of(edition, rules, conversion.Hooks{}), generated.MetaOf(edition)), nil
}

// importStore makes the store of a data directory of the objects of a source: see Import.
func (f *importFlags) importStore(ctx context.Context, meter *progress.Meter, report func(problem string)) (done Imported, err error) {
	cipher, err := encryption.Read(f.encryption, catalog.ResourceOfKey)
	if err != nil {
		return done, err
	}
	defer cipher.Close()
	all, err := rows(f.release)
	if err != nil {
		return done, err
	}
	from, err := f.source(ctx, all, cipher, meter)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	i := Import{DataDir: f.dataDir, From: from, Kinds: stored.NewKinds(all.Snapshot()), Definitions: custom.Definitions(all.Snapshot()).Prefix(""),
		Cipher: cipher, LeaveOut: f.leaveOut, Strict: f.strict || !f.server.given(), Report: report}
	return i.Run(ctx)
}

// source opens the source that the flags name. Errors are those of the flags and of openEtcd.
func (f *importFlags) source(ctx context.Context, all *catalog.Catalog, cipher *encryption.Cipher, meter *progress.Meter) (Source, error) {
	if f.server.given() {
		config, err := f.server.config()
		if err != nil {
			return nil, err
		}
		return openServer(config, all, meter)
	}
	from, err := configOf(&f.etcd, all, cipher)
	if err != nil {
		return nil, err
	}
	from.Replica.Progress = meter.At
	return openEtcd(ctx, from)
}

// exportStore writes the objects of the store of a data directory into etcd: see Export.
func (f *etcdFlags) exportStore(ctx context.Context, anew bool, meter *progress.Meter) (done Exported, err error) {
	cipher, err := encryption.Read(f.encryption, catalog.ResourceOfKey)
	if err != nil {
		return done, err
	}
	defer cipher.Close()
	config := store.Config{Dir: operate.StoreDir(f.dataDir)}
	if cipher != nil {
		config.Cipher = cipher
	}
	engine, err := store.OpenReadOnly(config)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	all, err := rows(f.release)
	if err != nil {
		return done, err
	}
	to, err := configOf(&f.etcd, all, cipher)
	if err != nil {
		return done, err
	}
	to.Replica.Progress = meter.At
	kinds, err := custom.KindsOfStore(ctx, engine, all.Snapshot())
	if err != nil {
		return done, err
	}
	x := Export{Store: engine, To: to, Kinds: stored.NewKinds(all.Snapshot()).And(kinds), Anew: anew, Meter: meter}
	return x.Run(ctx)
}
