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
	line          int                                                    // of the step
	step          *startupStep                                           // of the start; nil for none
	do            func(*Controllers, context.Context) error              // the step; nil for none
	begin         func(*Controllers, context.Context, *catalog.Snapshot) // what goes on afterwards
}

// The steps of the start are in lines, which run at the same time. Those of one line follow each other.
const (
	objectsLine    = iota // the objects of every cluster, then the status of flow schemas
	addressesLine         // the ranges of addresses, the server's own service, the objects of addresses
	extensionsLine        // the configuration of extension servers
	versionsLine          // the objects of group versions
	lines                 // their number
)

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
		{networkGroup, "servicecidrs", addressesLine, steps.ranges, (*Controllers).KeepServiceRanges,
			periodic(p.OwnService, "the ranges of services' addresses", (*Controllers).KeepServiceRanges)},
		{"", "services", addressesLine, steps.service, (*Controllers).KeepOwnService,
			periodic(p.OwnService, "the service of the server", (*Controllers).KeepOwnService)},
		{"", "configmaps", extensionsLine, steps.extensions, (*Controllers).KeepExtensionConfig,
			periodic(p.Extensions, "what extension servers are told", (*Controllers).KeepExtensionConfig)},
		{registrationGroup, "apiservices", versionsLine, steps.apis, (*Controllers).KeepAPIServices,
			periodic(p.Registrations, "the objects of group versions", (*Controllers).KeepAPIServices)},
		{flowGroup, "flowschemas", objectsLine, steps.flows, (*Controllers).followFlowSchemas,
			periodic(p.FlowControl, "flow schemas and priority levels", (*Controllers).ReconcileFlowControl)},
		{"", "services", addressesLine, steps.addresses, (*Controllers).repairAtStart,
			periodic(p.Services, "the addresses of services", (*Controllers).RepairServices)},
		{registrationGroup, "apiservices", versionsLine, nil, nil, func(c *Controllers, ctx context.Context, first *catalog.Snapshot) {
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
