package controllers

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/quota"
)

// Cluster has the rooms that the activities for the built-in groups use.
type Cluster struct {
	Elsewhere controller.Elsewhere
	Services  *addresses.Services
	Issuer    *authn.TokenIssuer
	Quotas    *quota.Quotas
}

// chore is an activity for the built-in groups.
type chore struct {
	step  func(*startup) *startupStep // of the start; nil for none
	do    func(*Controllers, context.Context) error
	begin func(*Controllers, context.Context, *catalog.Snapshot)
}

// ServeCluster adds the activities for the built-in groups.
func (c *Config) ServeCluster(of Cluster) {
	periodic := func(pause func(*Pauses) time.Duration, what string, do func(*Controllers, context.Context) error) func(*Controllers, context.Context, *catalog.Snapshot) {
		return func(c *Controllers, ctx context.Context, _ *catalog.Snapshot) {
			c.every(ctx, pause(&c.cfg.Pauses), what, func(ctx context.Context) error { return do(c, ctx) })
		}
	}
	c.cluster, c.begins = of, controller.All()
	c.token = func(namespace, account, uid, secret string) (string, error) {
		return of.Issuer.IssueForSecret(namespace, authn.Reference{Name: account, UID: uid}, secret)
	}
	c.quotas = func(c *Controllers) controller.Quotas {
		return &quotas{of.Quotas, c, objects.Options{User: authn.ServiceAccount("kube-system", "resourcequota-controller", ""), Manager: controllersManager}}
	}
	c.chores = []chore{
		{func(s *startup) *startupStep { return s.service }, (*Controllers).KeepOwnService,
			periodic(func(p *Pauses) time.Duration { return p.OwnService }, "the service of the server", (*Controllers).KeepOwnService)},
		{func(s *startup) *startupStep { return s.extensions }, (*Controllers).KeepExtensionConfig,
			periodic(func(p *Pauses) time.Duration { return p.Extensions }, "what extension servers are told", (*Controllers).KeepExtensionConfig)},
		{func(s *startup) *startupStep { return s.apis }, (*Controllers).KeepAPIServices,
			periodic(func(p *Pauses) time.Duration { return p.Registrations }, "the objects of group versions", (*Controllers).KeepAPIServices)},
		{func(s *startup) *startupStep { return s.flows }, (*Controllers).followFlowSchemas,
			periodic(func(p *Pauses) time.Duration { return p.FlowControl }, "flow schemas and priority levels", (*Controllers).ReconcileFlowControl)},
		{nil, nil, periodic(func(p *Pauses) time.Duration { return p.Services }, "the addresses of services", (*Controllers).RepairServices)},
		{nil, nil, func(c *Controllers, ctx context.Context, first *catalog.Snapshot) {
			c.background.Go(func() { c.followCustomVersions(ctx, first) })
		}},
	}
}
