package background

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// chore is an activity of the server about objects of one kind, which only a server does
// that serves the kind.
type chore struct {
	group, plural string                                                 // of the kind
	step          *startupStep                                           // of the start; nil for none
	do            func(*Controllers, context.Context) error              // the step; nil for none
	begin         func(*Controllers, context.Context, *catalog.Snapshot) // what goes on afterwards
}

// networkGroup is the group of the ranges of services' addresses.
const networkGroup = "networking." + profile.GroupSuffix

// choresOf lists the chores of a server. The steps of those that it does not have are done.
func (c *Controllers) choresOf() (all []chore) {
	periodic := func(pause time.Duration, what string, do func(*Controllers, context.Context) error) func(*Controllers, context.Context, *catalog.Snapshot) {
		return func(c *Controllers, ctx context.Context, _ *catalog.Snapshot) {
			c.every(ctx, pause, what, func(ctx context.Context) error { return do(c, ctx) })
		}
	}
	p, steps := &c.cfg.Pauses, &c.startup
	for _, one := range []chore{
		{networkGroup, "servicecidrs", steps.ranges, (*Controllers).KeepServiceRanges,
			periodic(p.OwnService, "the ranges of services' addresses", (*Controllers).KeepServiceRanges)},
		{"", "services", steps.service, (*Controllers).KeepOwnService,
			periodic(p.OwnService, "the service of the server", (*Controllers).KeepOwnService)},
		{"", "configmaps", steps.extensions, (*Controllers).KeepExtensionConfig,
			periodic(p.Extensions, "what extension servers are told", (*Controllers).KeepExtensionConfig)},
		{registrationGroup, "apiservices", steps.apis, (*Controllers).KeepAPIServices,
			periodic(p.Registrations, "the objects of group versions", (*Controllers).KeepAPIServices)},
		{flowGroup, "flowschemas", steps.flows, (*Controllers).followFlowSchemas,
			periodic(p.FlowControl, "flow schemas and priority levels", (*Controllers).ReconcileFlowControl)},
		{"", "services", steps.addresses, (*Controllers).repairAtStart, periodic(p.Services, "the addresses of services", (*Controllers).RepairServices)},
		{registrationGroup, "apiservices", nil, nil, func(c *Controllers, ctx context.Context, first *catalog.Snapshot) {
			c.background.Go(func() { c.followCustomVersions(ctx, first) })
		}},
	} {
		switch {
		case c.catalog.Snapshot().Serves(one.group, one.plural):
			all = append(all, one)
		case one.step != nil:
			close(one.step.done)
		}
	}
	return all
}
