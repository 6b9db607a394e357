package server

import (
	"context"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expiry"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// startBackground starts what the server does of itself.
func (s *Server) startBackground() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stopBackground = cancel
	s.background.Go(func() { s.keepBootstrapped(ctx) })
	s.background.Go(func() { s.followDefinitions(ctx) })
	pauses := s.cfg.durations
	s.every(ctx, pauses.FlowControl, "flow schemas and priority levels", s.reconcileFlowControl)
	s.every(ctx, pauses.OwnService, "the service of the server", s.keepOwnService)
	s.every(ctx, pauses.Extensions, "what extension servers are told", s.keepExtensionConfig)
	s.every(ctx, pauses.Registrations, "the objects of group versions", s.keepAPIServices)
	s.every(ctx, pauses.Services, "the addresses of services", s.repairServices)
	s.every(ctx, pauses.Reload, "certificates and tokens", func(context.Context) error { s.Reload(); return nil })
	s.every(ctx, pauses.Renewal, "the server's own certificates", func(context.Context) error { return s.keys.RenewOwn() })
	s.every(ctx, pauses.Namespaces, "the system namespaces", s.createNamespaces)
	s.expire(ctx)
}

// expire removes objects that last for a while only.
func (s *Server) expire(ctx context.Context) {
	var prefixes []string
	for t := range s.catalog.Snapshot().Types() {
		if t.Stored != nil && t.Stored.Expires {
			prefixes = append(prefixes, t.Prefix)
		}
	}
	if s.cfg.EventTTL < 0 || len(prefixes) == 0 {
		return
	}
	slices.Sort(prefixes)
	x := expiry.New(expiry.Config{Store: s.store, Prefixes: prefixes, Life: s.cfg.EventTTL, Last: func(e *store.Entry) (store.Value, error) {
		row := s.catalog.Snapshot().Type(e.Key).Stored
		doc, err := document.ReadStored(row.GV.Types(), row.Type, e.Body)
		if err != nil {
			return store.Value{}, err
		}
		defer doc.Release()
		return stored.Seal(row, doc.Root())
	}})
	s.every(ctx, x.Pause(), "events whose time is over", func(ctx context.Context) error { return x.Step(ctx, time.Now()) })
}

// startControllers runs the controllers that the configuration selects. They
// begin by looking at all objects, beside the first requests.
func (s *Server) startControllers() *controller.Manager {
	cfg := controller.Config{
		Controllers: s.cfg.Controllers,
		Acting:      s.actAs,
		Store:       s.store,
		Kinds:       make(map[controller.Kind]string),
		RootCA:      s.CA,
		Now:         s.cfg.Clock,
		Logger:      s.log,
	}
	for t := range s.catalog.Snapshot().Types() {
		if t.Stored == nil {
			continue
		}
		for _, row := range t.Rows {
			cfg.Kinds[controller.Kind{APIVersion: row.GV.APIVersion(), Kind: row.Kind}] = t.Prefix
		}
		cfg.Types = append(cfg.Types, controller.Type{Resource: t.Stored.Resource, Prefix: t.Prefix})
	}
	return controller.Start(cfg)
}

// actor is the server's own writing operations, as a controller's.
type actor struct {
	server *Server
	opts   objects.Options
}

// actAs gives the writing operations as a service account of kube-system.
func (s *Server) actAs(account string) controller.Cluster {
	user := &authn.User{Name: "system:serviceaccount:kube-system:" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", authn.GroupAuthenticated}}
	return &actor{server: s, opts: objects.Options{User: user, Validation: "Ignore", FieldManager: "kube-controller-manager"}}
}

// row is the row of a resource that the controllers know.
func (a *actor) row(res *api.Resource) *catalog.Row {
	return a.server.catalog.Snapshot().Resource(res.GV.Group, res.GV.Version, res.Plural)
}

// Create implements controller.Cluster.
func (a *actor) Create(ctx context.Context, res *api.Resource, namespace string, object []byte) error {
	row := a.row(res)
	_, err := a.server.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: row, Namespace: namespace}, Opts: a.opts, Creates: true,
		Change: objects.NewObject(nil, func() (*document.Document, error) { return a.server.objects.DecodeOwn(row, object) })})
	return err
}

// Edit implements controller.Cluster.
func (a *actor) Edit(ctx context.Context, res *api.Resource, namespace, name, subresource string, edit func(obj document.Value)) error {
	of := objects.Ref{Row: a.row(res), Namespace: namespace, Name: name}
	if subresource != "" {
		of.Sub = res.Subresource(subresource)
	}
	_, err := a.server.objects.Write(ctx, &objects.Write{Ref: of, Opts: a.opts, Change: objects.Editing(func(obj document.Value) error {
		edit(obj)
		return nil
	})})
	return err
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
	_, _, err := a.server.objects.DeleteObject(ctx, objects.Ref{Row: a.row(res), Namespace: namespace, Name: name}, opts)
	return err
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// every calls do now and then, until ctx ends. What it cannot do is logged, and
// tried again next time.
func (s *Server) every(ctx context.Context, pause time.Duration, what string, do func(context.Context) error) {
	s.background.Go(func() {
		for wait(ctx, pause); ctx.Err() == nil; wait(ctx, pause) {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("cannot look after "+what, "error", err)
			}
		}
	})
}
