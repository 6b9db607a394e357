// Package background holds the server's own activities: the objects of every cluster,
// its own service and registrations, repairs, the expiry of events, and the controllers' way
// to write.
//
// # Decisions
//
// Events expire without a time of their own in the store. The expiry notes the newest revision
// at each time, and removes the objects that were not written since. An idle store costs nothing,
// nor does a write, and a start gives all events their whole lifetime again, as a new leader of
// etcd does. A removal is a write with one step (server/internal/objects/expire.go): as at the end
// of a lease, neither finalizers nor plug-ins are asked.
package background

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission/quota"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// Config selects the activities, and describes the cluster.
type Config struct {
	Log    *slog.Logger
	Clock  func() time.Time
	Pauses Pauses
	// Release is the release of the built-in kinds, with its features.
	Release bootstrap.Release

	Settings
	ServiceClusterIPRange string
	BindAddress           string // the address listened on; "" when the listener was given
	Port                  int    // of the listener

	Objects *objects.Objects
	Store   store.Store
	Catalog *catalog.Catalog
	Keys    *pki.Keyring
	// Kubeconfig is the administrator's client configuration; nil for none.
	Kubeconfig func() []byte
	Authz      authz.Authorizer

	Elsewhere controller.Elsewhere // extension servers
	Services  *addresses.Services
	Issuer    *authn.TokenIssuer // of tokens in secrets; nil for none
	Quotas    *quota.Quotas

	// Sharing has the parts of a shared store; nil for a store of the server's own.
	Sharing *Sharing
}

// Sharing is a store that other servers use, too, and the allocations of services in it.
type Sharing struct {
	Store       shared.Store
	Allocations *addresses.Allocations
	Figures     prometheus.Collector // of the requests to etcd
}

// Controllers are the server's own activities.
type Controllers struct {
	cfg      Config
	log      *slog.Logger
	objects  *objects.Objects
	store    store.Store
	catalog  *catalog.Catalog
	services *addresses.Services
	keys     *pki.Keyring

	startup        startup
	chores         []chore
	reported       reports
	othersDropped  atomic.Bool                        // the API services of other releases
	portKept       atomic.Bool                        // the port of the server's own service, since the start
	manager        atomic.Pointer[controller.Manager] // nil while the controllers do not run here
	background     sync.WaitGroup
	lasting        context.Context // ends when Stop is called
	stopBackground context.CancelFunc
}

// New makes the controllers of a server. They are idle until Start.
func New(cfg Config) *Controllers {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Controllers{cfg: cfg, log: cfg.Log, objects: cfg.Objects, store: cfg.Store, catalog: cfg.Catalog, services: cfg.Services, keys: cfg.Keys,
		startup: newStartup(), lasting: ctx, stopBackground: cancel}
	c.chores = c.choresOf()
	return c
}

// Start starts all activities.
func (c *Controllers) Start() {
	if names := controller.NotHere(c.cfg.Controllers); names != nil {
		c.log.Warn("--controllers: this server does not have these controllers; run kube-controller-manager with them, or leave them out", "controllers",
			strings.Join(names, " "))
	}
	ctx, first := c.lasting, c.catalog.Snapshot()
	c.runControllers(ctx)
	c.background.Go(func() { c.keepBootstrapped(ctx) })
	pauses := c.cfg.Pauses
	for _, chore := range c.chores {
		chore.begin(c, ctx, first)
	}
	c.every(ctx, pauses.Reload, "certificates and tokens", func(context.Context) error { c.keys.Reload(); return nil })
	c.every(ctx, pauses.Renewal, "the server's own certificates", func(context.Context) error { return c.keys.RenewOwn() })
	c.every(ctx, pauses.Namespaces, "the system namespaces", c.CreateNamespaces)
	c.expire(ctx)
	c.startOwn()
}

// Run runs do until it returns. Its context ends when the server stops.
func (c *Controllers) Run(do func(context.Context)) {
	c.background.Go(func() { do(c.lasting) })
}

// Stop ends all activities, and waits for them.
func (c *Controllers) Stop() {
	c.stopBackground()
	c.background.Wait()
	c.manager.Load().Stop()
}

// runControllers begins to run the controllers, on one of the servers that share a store.
func (c *Controllers) runControllers(ctx context.Context) {
	if c.cfg.Sharing == nil {
		c.manager.Store(c.startControllers(context.WithoutCancel(ctx))) // until Stop
		return
	}
	c.background.Go(func() {
		c.cfg.Sharing.Store.Lead(ctx, "controllers", func(led context.Context) {
			c.log.Info("this server runs the controllers of the cluster")
			m := c.startControllers(led)
			c.manager.Store(m)
			<-led.Done()
			c.manager.Store(nil)
			m.Stop()
			c.log.Info("this server does not run the controllers of the cluster any more")
		})
	})
}

// RootCAChanged notifies the controllers of another authority for clients.
func (c *Controllers) RootCAChanged() {
	if m := c.manager.Load(); m != nil {
		m.RootCAChanged()
	}
}

// Bootstrapped is closed when the objects of every cluster exist.
func (c *Controllers) Bootstrapped() <-chan struct{} { return c.startup.done }

// Hooks are the steps of the start.
func (c *Controllers) Hooks() []Hook {
	all := c.startup.hooks()
	if c.services.RangeRow() != nil {
		all = append(all, Hook{Name: "poststarthook/start-" + rangesManager, Step: c.startup.ranges})
	}
	return all
}

// expire removes objects some time after their last write.
func (c *Controllers) expire(ctx context.Context) {
	var prefixes []string
	for t := range c.catalog.Snapshot().Types() {
		if t.Stored != nil && t.Stored.Expires {
			prefixes = append(prefixes, t.Prefix)
		}
	}
	if c.cfg.EventTTL < 0 || len(prefixes) == 0 || c.cfg.Sharing != nil { // a shared store lets them expire
		return
	}
	slices.Sort(prefixes)
	x := newExpiry(expiryConfig{Store: c.store, Prefixes: prefixes, Life: c.cfg.EventTTL, Remove: func(ctx context.Context, key string, since uint64) error {
		of := objects.Ref{Row: c.catalog.Snapshot().Type(key).Stored}
		of.Namespace, of.Name = of.Row.SplitKey(key)
		return c.objects.Expire(ctx, of, since)
	}})
	c.every(ctx, x.Pause(), "events whose time is over", func(ctx context.Context) error { return x.Step(ctx, time.Now()) })
}

// startControllers runs the controllers that the configuration selects. They begin with a
// scan of all objects, while the first requests are served.
func (c *Controllers) startControllers(ctx context.Context) *controller.Manager {
	cfg := controller.Config{
		Controllers: c.cfg.Controllers,
		Acting:      c.actAs,
		Store:       c.store,
		Kinds:       make(map[controller.Kind]string),
		Custom:      &customTypes{catalog: c.catalog},

		Elsewhere: c.cfg.Elsewhere,
		Since:     c.cfg.Release.Since,
		On:        c.cfg.Release.On,
		Served:    c.served,
		RootCA:    func() []byte { return c.keys.Credentials().CA },
		Now:       c.cfg.Clock,
		Logger:    c.log,

		Certificates: controller.Certificates{Authority: c.keys.Authority, Longest: c.cfg.ClusterSigningDuration, Permitted: c.mayHaveCertificate,
			Cleaning: c.cfg.Pauses.Certificates},
		Quotas: &quotas{c.cfg.Quotas, c, objects.Options{User: authn.ServiceAccount("kube-system", "resourcequota-controller", ""),
			Manager: controllersManager}},
		QuotaResync: c.cfg.Pauses.Quotas,
		RangeGrace:  c.cfg.Pauses.RangeGrace,
	}
	if issuer := c.cfg.Issuer; issuer != nil {
		cfg.SecretToken = func(namespace, account, uid, secret string) (string, error) {
			return issuer.IssueForSecret(namespace, authn.Reference{Name: account, UID: uid}, secret)
		}
	}
	for t := range c.catalog.Snapshot().Types() {
		if t.Stored == nil || t.Stored.Definition != nil {
			continue
		}
		for _, row := range t.Rows {
			cfg.Kinds[controller.Kind{APIVersion: row.GV.APIVersion(), Kind: row.Kind}] = t.Prefix
		}
		cfg.Types = append(cfg.Types, controller.Type{Resource: t.Stored.Resource, Prefix: t.Prefix, Off: !t.Served()})
	}
	return controller.Start(ctx, cfg)
}

// served reports whether a resource of this server is served in a version, "" for any, and in which one.
func (c *Controllers) served(group, plural, version string) (string, bool) {
	for _, v := range c.catalog.Snapshot().ServedIn(group) {
		if version != "" && v.Version != version {
			continue
		}
		if row := c.catalog.Snapshot().Resource(group, v.Version, plural); row != nil && !row.Off {
			return v.Version, true
		}
	}
	return "", false
}

// controllersManager is the manager of the writes of controllers.
const controllersManager = "kube-controller-manager"

// actor is the server's own write operations, as one controller.
type actor struct {
	server *Controllers
	opts   objects.Options
}

// actAs returns the write operations as a service account of kube-system, or as the server itself.
func (c *Controllers) actAs(account string) controller.Cluster {
	if account == "" {
		user := &authn.User{Name: "system:apiserver", Groups: []string{"system:masters", "system:authenticated"}}
		return &actor{server: c, opts: objects.Options{User: user, Validation: "Ignore", Manager: "kube-apiserver"}}
	}
	user := authn.ServiceAccount("kube-system", account, "")
	return &actor{server: c, opts: objects.Options{User: user, Validation: "Ignore", Manager: controllersManager}}
}

// row is the row of a resource that the controllers know; 404 for one that has been removed.
func (a *actor) row(res *api.Resource) (*catalog.Row, error) {
	if row := a.server.catalog.Snapshot().Resource(res.GV.Group, res.GV.Version, res.Plural); row != nil {
		return row, nil
	}
	return nil, api.UnknownPath()
}

// Create implements controller.Cluster.
func (a *actor) Create(ctx context.Context, res *api.Resource, namespace string, object []byte) error {
	row, err := a.row(res)
	if err != nil {
		return err
	}
	_, err = a.server.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: row, Namespace: namespace}, Opts: a.opts, Creates: true,
		Change: objects.NewObject(nil, func() (*document.Document, error) { return a.server.objects.DecodeOwn(row, object) })})
	return err
}

// Edit implements controller.Cluster.
func (a *actor) Edit(ctx context.Context, res *api.Resource, namespace, name, subresource string, edit func(obj document.Value)) error {
	row, err := a.row(res)
	if err != nil {
		return err
	}
	of := objects.Ref{Row: row, Namespace: namespace, Name: name}
	if subresource != "" {
		of.Sub = res.Subresource(subresource)
	}
	_, err = a.server.objects.Write(ctx, &objects.Write{Ref: of, Opts: a.opts, Change: objects.Editing(func(obj document.Value) error {
		edit(obj)
		return nil
	})})
	return err
}

// Apply implements controller.Cluster.
func (a *actor) Apply(ctx context.Context, res *api.Resource, name, subresource, manager string, config []byte) error {
	row, err := a.row(res)
	if err != nil {
		return err
	}
	opts := a.opts
	opts.Manager = manager
	return a.server.objects.ApplyOwn(ctx, objects.Ref{Row: row, Sub: res.Subresource(subresource), Name: name}, opts, config)
}

// Delete implements controller.Cluster.
func (a *actor) Delete(ctx context.Context, res *api.Resource, namespace, name string, o controller.DeleteOptions) error {
	opts := objects.DeleteOptions{Propagation: o.Propagation, By: a.opts.User}
	if o.UID != "" {
		opts.UID = &o.UID
	}
	if o.Revision != "" {
		opts.Revision = &o.Revision
	}
	row, err := a.row(res)
	if err != nil {
		return err
	}
	_, _, err = a.server.objects.DeleteObject(ctx, objects.Ref{Row: row, Namespace: namespace, Name: name}, opts)
	return err
}

// every calls do periodically, until ctx ends. A failure is logged, and retried the next
// time.
func (c *Controllers) every(ctx context.Context, pause time.Duration, what string, do func(context.Context) error) {
	c.background.Go(func() {
		for controller.Pause(ctx, pause); ctx.Err() == nil; controller.Pause(ctx, pause) {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				c.log.Error("cannot look after "+what, "error", err)
			}
		}
	})
}
