// Package cluster has the rooms of the built-in groups: those that only a control plane of
// a cluster needs, with their wiring.
package cluster

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/extras"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/admissionobjects"
	"github.com/capstan-dev/capstan/server/internal/admissionpolicies"
	"github.com/capstan-dev/capstan/server/internal/admissionwebhooks"
	"github.com/capstan-dev/capstan/server/internal/agents"
	"github.com/capstan-dev/capstan/server/internal/backends"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/controllers"
	"github.com/capstan-dev/capstan/server/internal/conversion"
	"github.com/capstan-dev/capstan/server/internal/conversionreview"
	"github.com/capstan-dev/capstan/server/internal/definitions"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/extensions"
	"github.com/capstan-dev/capstan/server/internal/forward"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/nodes"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/parts"
	"github.com/capstan-dev/capstan/server/internal/pki"
	"github.com/capstan-dev/capstan/server/internal/policy"
	"github.com/capstan-dev/capstan/server/internal/quota"
	"github.com/capstan-dev/capstan/server/internal/registrar"
	"github.com/capstan-dev/capstan/server/internal/stored"
	"github.com/capstan-dev/capstan/server/internal/swagger"
)

// Builtin are the built-in groups.
type Builtin struct{}

// Groups implements parts.Builtin: the catalog of the documents, with the rules that they
// name.
func (Builtin) Groups(clock func() time.Time, on func(feature string) bool) []*api.GroupVersion {
	rules := policy.New(clock)
	rules.Features = on
	return generated.New(rules, conversion.Hooks{})
}

// Documents implements parts.Builtin.
func (Builtin) Documents() api.Documents { return openapi.Documents() }

// Extras implements parts.Builtin.
func (Builtin) Extras() parts.Extras { return extras.All() }

// Rooms implements parts.Builtin.
func (Builtin) Rooms(core *parts.Core) parts.Rooms { return &Rooms{Core: core} }

// CustomKinds implements parts.Builtin.
func (Builtin) CustomKinds(ctx context.Context, snapshot *catalog.Snapshot, s store.Store) (stored.Kinds, error) {
	rows, err := customRows(snapshot, func(document.Value) api.Converter { return conversionreview.Unreachable{} })
	if err != nil {
		return nil, err
	}
	return registrar.Kinds(ctx, s, definitionsRow(snapshot), rows)
}

// Rooms are the rooms in one server; nil before they are opened.
type Rooms struct {
	*parts.Core
	Kept        *admissionobjects.Objects
	Quotas      *quota.Quotas
	Services    *addresses.Services
	Issuer      *authn.TokenIssuer     // of requested tokens
	secrets     *authn.TokenIssuer     // of tokens in secrets
	documents   *authn.IssuerDocuments // nil when the issuer is not a URL
	nodes       *nodes.Authorizer      // nil unless the authorization mode Node is on
	webhooks    *admissionwebhooks.Webhooks
	policies    *admissionpolicies.Policies
	backends    *backends.Backends
	definitions *registrar.Follower
	forwarder   *forward.Forwarder
	extensions  *extensions.Extensions
}

// Types implements parts.Rooms.
func (r *Rooms) Types(ctx context.Context) error {
	rows, err := customRows(r.Catalog.Snapshot(), func(spec document.Value) api.Converter { return conversionreview.New(spec, r.backends) })
	if err != nil {
		return err
	}
	r.definitions, err = registrar.Open(ctx, registrar.Config{Row: definitionsRow(r.Catalog.Snapshot()), Store: r.Shown,
		Catalog: r.Catalog, Objects: r.Objects, Rows: rows, Logger: r.Log, Retry: r.Retry, Idle: r.Settings.Types})
	if err != nil {
		return err
	}
	r.forwarder = &forward.Forwarder{Log: r.Log, Sweeper: r.Sweeper, Proxied: r.Keys.UntrustedHeaders(), Stopping: r.Stopping}
	r.extensions, err = extensions.Open(ctx, extensions.Config{Log: r.Log, Store: r.Store, Catalog: r.Catalog, Objects: r.Objects, Backends: r.backends, Forwarder: r.forwarder, Metrics: r.Metrics.Extensions,
		Certificate: func() *tls.Certificate { return r.Keys.Credentials().FrontProxy() }, ForwardRedirects: r.ForwardExtensionRedirects, Times: r.Settings.Extensions})
	return err
}

// customRows makes rows of definitions, with converters for those that have a webhook.
func customRows(snapshot *catalog.Snapshot, converter func(spec document.Value) api.Converter) (*definitions.Rows, error) {
	meta, err := definitions.NewMeta(generated.Meta())
	if err != nil {
		return nil, err
	}
	rows := &definitions.Rows{Meta: meta, Converter: converter}
	if deployments := snapshot.Resource("apps", "v1", "deployments"); deployments != nil {
		rows.Scale = *deployments.Subresource("scale")
	}
	return rows, nil
}

func definitionsRow(snapshot *catalog.Snapshot) *catalog.Row {
	return snapshot.Stored(objects.DefinitionGroup, "customresourcedefinitions")
}

// Equip implements parts.Rooms.
func (r *Rooms) Equip(c *controllers.Config) {
	c.ServeCluster(controllers.Cluster{Elsewhere: r.extensions, Services: r.Services, Issuer: r.secrets, Quotas: r.Quotas})
}

// Answer implements parts.Rooms.
func (r *Rooms) Answer(f *front.Config, e *endpoints.Config) {
	f.Extensions, f.AwaitTypes = r.extensions.Serve, r.definitions.Await
	e.More = (*endpoints.Endpoints).OfCluster
	e.Binary, e.Issuer, e.IssuerDocuments, e.Forwarder = swagger.Binary, r.Issuer, r.documents, r.forwarder
	e.Agents = agents.New(r.Settings.Agents, func() *pki.AgentTrust { return r.Keys.Credentials().Agents() })
}

// Run implements parts.Rooms.
func (r *Rooms) Run(c *controllers.Controllers, hub *watch.Hub) {
	r.definitions.Announce(hub)
	c.Run(r.definitions.Run)
	c.Run(r.extensions.Run)
	if controller.Enabled(r.Controllers, controller.PolicyStatus) {
		c.Run(func(ctx context.Context) { r.policies.CheckTypes(ctx, r.Objects) })
	}
}

// Close implements parts.Rooms.
func (r *Rooms) Close() {
	if r.Services != nil {
		r.Services.Close()
	}
	r.extensions.Close()
	if r.nodes != nil {
		r.nodes.Close()
	}
	if r.policies != nil {
		r.policies.Close()
	}
	if r.webhooks != nil {
		r.webhooks.Close()
	}
	r.Quotas.Close()
	if r.backends != nil {
		r.backends.Close()
	}
	if r.Kept != nil {
		r.Kept.Close()
	}
}
