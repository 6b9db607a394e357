package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/encryption"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/kinds/custom"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/shared"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// openStore opens the store of the catalog's kinds, and the operators' socket.
func (s *Server) openStore(ctx context.Context) error {
	s.addressing = s.kindsOfAddresses()
	cipher, err := encryption.Read(s.cfg.EncryptionConfigFile, catalog.ResourceOfKey)
	if err != nil {
		return err
	}
	s.cipher = cipher
	s.closeLater(cipher.Close)
	config := store.Config{Dir: s.cfg.storeDir(), FS: s.cfg.fileSystem(), History: s.cfg.History, Clock: s.cfg.Clock, Logger: s.cfg.Logger,
		Forgets: s.cfg.InMemory}
	if cipher != nil {
		config.Cipher = cipher
	}
	kinds := stored.NewKinds(s.catalog.Snapshot())
	if s.cfg.shares() {
		return s.openShared(ctx, config, kinds)
	}
	if s.engine, err = store.Open(config); err != nil {
		return err
	}
	s.useStore(s.engine)
	if len(s.cfg.EmulatedVersion) > 0 {
		if err := stored.CheckVersions(ctx, s.engine, kinds); err != nil {
			return fmt.Errorf("--emulated-version %s: %w", strings.Join(s.cfg.EmulatedVersion, ","), err)
		}
	}
	if err := s.checkNewer(ctx, kinds); err != nil {
		return err
	}
	mixed, due, err := stored.NoteVersions(ctx, s.engine, kinds)
	if err != nil {
		return err
	}
	s.shown = stored.NewCurrent(s.store, mixed)
	s.store = s.shown
	if due {
		s.log.Info("objects may have been stored under other documents or in other versions, which each read of them has to make up for; the command 'store migrate' rewrites them, beside the requests")
	}
	if s.cfg.keepsFiles() {
		control := operate.Listen(s.cfg.DataDir, s.engine, cipher.Form, func() stored.Kinds { return kinds.And(s.shown.Custom()) }, s.log,
			s.cfg.Seams.Durations.Header)
		s.closeLater(control.Close)
	}
	return nil
}

// checkNewer refuses a store with objects of kinds that came after the release, which would be hidden, or warns of them.
func (s *Server) checkNewer(ctx context.Context, kinds stored.Kinds) error {
	found, err := s.cfg.findNewer(ctx, s.engine, s.edition, kinds)
	if err != nil || found == nil {
		return err
	}
	if s.cfg.HideNewerObjects {
		s.log.Warn(lacking(s.edition, found) + ", to have them back: until then they are hidden, and have no effect")
		return nil
	}
	return fmt.Errorf("--emulated-version %s: %s, or delete them there (capstan store check --emulated-version %[1]s shows those left), or start with --hide-newer-objects",
		s.edition.Release, lacking(s.edition, found))
}

// findNewer finds the objects in a store whose kinds came after a release; nil for none.
func (c *Config) findNewer(ctx context.Context, from store.Store, edition *api.Edition, kinds stored.Kinds) (*stored.Newer, error) {
	return stored.FindNewer(ctx, from, kinds, edition.Later(), func(release string) (stored.Kinds, error) {
		r, err := generated.Edition(release)
		if err != nil {
			return nil, err
		}
		groups := c.builtinGroups(r, func(string) bool { return false })
		return stored.NewKinds(catalog.New(groups, generated.MetaOf(r)).Snapshot()), nil
	})
}

// lacking says which objects a release lacks, and which releases have them.
func lacking(edition *api.Edition, found *stored.Newer) string {
	return fmt.Sprintf("release %s lacks kinds of objects in the store: %s", edition.Release, found)
}

// CheckRelease looks whether the store of a stopped server has objects that the releases of a configuration lack, in kind
// or in version. The error names them, and of kinds the releases that have them.
func CheckRelease(ctx context.Context, c Config, s store.Store) error {
	c.setDefaults()
	edition, snapshot, err := c.snapshot()
	if err != nil {
		return err
	}
	kinds := stored.NewKinds(snapshot)
	if err := stored.CheckVersions(ctx, s, kinds); err != nil {
		return err
	}
	found, err := c.findNewer(ctx, s, edition, kinds)
	if err != nil || found == nil {
		return err
	}
	return errors.New(lacking(edition, found))
}

// snapshot is the catalog of the releases of a configuration, without the effects of gates and settings.
func (c *Config) snapshot() (edition *api.Edition, all *catalog.Snapshot, err error) {
	if c.API, err = c.Emulated(c.API); err != nil {
		return nil, nil, err
	}
	if edition, err = c.Builtin(); err != nil {
		return nil, nil, err
	}
	groups, _, err := c.allGroups(edition, func(string) bool { return false })
	if err != nil {
		return nil, nil, err
	}
	return edition, catalog.New(groups, generated.MetaOf(edition)).Snapshot(), nil
}

// openShared opens the store in etcd, with a replica in the data directory.
func (s *Server) openShared(ctx context.Context, replica store.Config, kinds stored.Kinds) error {
	replica.Dir += "-replica" // the name of a store of the server's own is not used
	replica.Progress = progress.In(s.log).At
	figures := metrics.NewEtcd()
	config := shared.Config{Settings: s.cfg.Etcd, Catalog: s.catalog, Form: kinds.Form(), Cipher: s.cipher, Replica: replica, Logger: s.log,
		Observe: func(operation, key string, took time.Duration) {
			figures.Request(operation, strings.TrimSuffix(catalog.KeyPrefix(key), "/"), took)
		},
		Size: figures.Size,
		Lives: func(key string) time.Duration {
			if t := s.catalog.Snapshot().Type(key); t != nil && t.Stored != nil && t.Stored.Expires {
				return s.cfg.EventTTL
			}
			return 0
		}}
	opened, err := s.cfg.OpenEtcd(ctx, config)
	if err != nil {
		return err
	}
	s.useStore(opened)
	if s.events, err = s.openEvents(ctx, config); err != nil {
		return err
	}
	s.engine = opened.Replica()
	allocations, err := addresses.NewAllocations(&s.cfg.Addresses, s.catalog.Snapshot().Core("services").Prefix(""),
		s.addressing != nil && !s.addressing.DualWrites, s.store)
	if err != nil {
		return err
	}
	s.store = allocations
	s.sharing = &background.Sharing{Store: opened, Allocations: allocations, Figures: figures}
	s.shown = stored.NewShared(s.store)
	s.store = s.shown
	if s.events != nil {
		s.store = &store.Divided{Store: s.shown, Elsewhere: s.events, Prefix: s.catalog.Snapshot().Core("events").Prefix("")}
	}
	return nil
}

// openEvents opens the store of events in an etcd of their own; nil without one.
func (s *Server) openEvents(ctx context.Context, config shared.Config) (store.Store, error) {
	servers, err := config.EventServers()
	if err != nil || servers == nil {
		return nil, err
	}
	config.EtcdServers = servers
	config.Replica.Dir += "-events"
	config.Replica.Progress = progress.In(s.log).At
	opened, err := s.cfg.OpenEtcd(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("--etcd-servers-overrides: %w", err)
	}
	return stored.NewShared(s.wrapped(opened)), nil
}

// useStore has the server read and write a store, and close it at its end.
func (s *Server) useStore(opened store.Store) { s.store = s.wrapped(opened) }

// wrapped is a store that the server closes at its end, in the layers that the configuration asks for.
func (s *Server) wrapped(opened store.Store) store.Store {
	s.closeLater(func() { s.failure = cmp.Or(s.failure, opened.Close()) })
	layered := opened
	if s.cfg.Seams.WrapStore != nil {
		layered = s.cfg.Seams.WrapStore(opened)
	}
	if s.cfg.TracingConfigFile != "" {
		layered = stored.Traced{Store: layered}
	}
	return layered
}

// followEncryption follows the file of the encryption, if that is configured.
func (s *Server) followEncryption() {
	if !s.cfg.EncryptionConfigReload {
		return
	}
	text, _ := os.ReadFile(s.cfg.EncryptionConfigFile) // it was read just now; nil has no hash in the metrics
	s.follow("encryption configuration", "encryption_config_controller", s.cfg.EncryptionConfigFile, text, func([]byte) error { return s.cipher.Reload() })
}

// follow puts changes of a configuration file to use, and counts them, in metrics of a subsystem of kube-apiserver. inUse is the text of the
// start; nil if it is not known.
func (s *Server) follow(what, subsystem, path string, inUse []byte, take func(text []byte) error) {
	reloads := metrics.NewReloads(subsystem, s.cfg.Clock)
	s.metrics.Add(reloads)
	if inUse != nil {
		reloads.Use(inUse)
	}
	s.keys.Watch(what, func(texts [][]byte) ([]any, error) {
		err := take(texts[0])
		reloads.Count(texts[0], err)
		return nil, err
	}, path)
}

// MigrateStore runs a migration on the store of a data directory without a server of the
// configuration. Steps are reported at most once a second, problems all; objects that a
// webhook would have to convert are problems. The next call continues a migration that the
// end of ctx interrupted. Errors: store.ErrLocked when a server uses the directory, and
// those of the store.
func MigrateStore(ctx context.Context, c Config, report func(operate.Step)) error {
	c.setDefaults()
	cipher, err := encryption.Read(c.EncryptionConfigFile, catalog.ResourceOfKey)
	if err != nil {
		return err
	}
	defer cipher.Close()
	_, snapshot, err := c.snapshot()
	if err != nil {
		return err
	}
	more := func(ctx context.Context, s store.Store) (stored.Kinds, error) {
		return custom.KindsOfStore(ctx, s, snapshot)
	}
	return operate.MigrateStore(ctx, c.DataDir, cipher, stored.NewKinds(snapshot), more, report)
}

// openMetrics makes the metrics of the server and its store.
func (s *Server) openMetrics() {
	period := s.cfg.Seams.Durations.Counts
	if s.sharing != nil {
		period = s.cfg.EtcdCountPeriod
	}
	s.metrics = metrics.New(metrics.Sources{Mutating: s.limits.Mutating.InUse.Load, Reading: s.limits.Reading.InUse.Load,
		Objects: s.countObjects, CountsAge: period, Stats: s.engine.Stats, Features: s.features,
		Release: s.edition.Release, Impersonation: s.edition.Since("1.36") && s.features.On("ConstrainedImpersonation")})
	if s.sharing != nil {
		s.metrics.Add(s.sharing.Figures)
	}
}

// countObjects counts the objects of every resource; -1 for those that cannot be counted.
func (s *Server) countObjects() map[string]int64 {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.RequestTimeout)
	defer cancel()
	reader, failed := s.store.At(ctx, s.store.Current())
	if failed == nil {
		defer reader.Close()
	}
	all := map[string]int64{}
	for t := range s.catalog.Snapshot().Types() {
		if t.Stored == nil {
			continue
		}
		n := int64(-1)
		if failed == nil {
			if counted, err := reader.Count(ctx, t.Prefix, ""); err == nil {
				n = counted
			}
		}
		all[t.Stored.GroupResource().String()] = n
	}
	return all
}
