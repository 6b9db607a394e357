package cluster

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admissionobjects"
	"github.com/capstan-dev/capstan/server/internal/admissionpolicies"
	"github.com/capstan-dev/capstan/server/internal/admissionwebhooks"
	"github.com/capstan-dev/capstan/server/internal/backends"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/matching"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/quota"
	"github.com/capstan-dev/capstan/server/internal/rbac"
)

// Writes implements parts.Rooms.
func (r *Rooms) Writes(ctx context.Context) (_ objects.Admitter, _ *addresses.Services, err error) {
	if r.Services, err = addresses.Open(ctx, r.Addresses, r.Catalog.Snapshot().Core("services"), r.Store, r.Log); err != nil {
		return nil, nil, err
	}
	if r.backends, err = backends.Open(ctx, backends.Config{Store: r.Store, Catalog: r.Catalog, Logger: r.Log, ByEndpoint: r.EnableAggregatorRouting, Self: r.Host}); err != nil {
		return nil, nil, err
	}
	chain, err := r.admission(ctx)
	return chain, r.Services, err
}

// admission makes the chain of admission plug-ins, with the objects that they need.
func (r *Rooms) admission(ctx context.Context) (objects.Admitter, error) {
	config := r.Admission
	err := config.Load()
	if err != nil {
		return nil, err
	}
	for _, name := range config.Deprecated() {
		r.Log.Warn("this admission plug-in has no meaning and is deprecated; leave it out", "plugin", name)
	}
	for _, form := range config.Settings.OldForms {
		r.Log.Warn("--admission-control-config-file has a deprecated form", "form", form)
	}
	if r.Kept, err = admissionobjects.Open(ctx, admissionobjects.Config{Store: r.Store, Catalog: r.Catalog, Log: r.Log}); err != nil {
		return nil, err
	}
	var logins [2]*webhook.Logins
	for i, path := range [...]string{config.Settings.MutatingKubeconfig, config.Settings.ValidatingKubeconfig} {
		if path == "" {
			continue
		}
		if logins[i], err = webhook.ReadLogins(path); err != nil {
			return nil, err
		}
	}
	matcher := &matching.Matcher{Catalog: r.Catalog, Authorizer: r.Authz, Metrics: r.Metrics.Policies, Namespace: func(ctx context.Context, name string) (document.Value, func(), error) {
		return r.Reader.Get(ctx, "", "namespaces", "", name)
	}}
	r.webhooks, err = admissionwebhooks.Open(ctx, admissionwebhooks.Config{Mutating: logins[0], Validating: logins[1], Store: r.Store, Matcher: matcher, Services: r.backends, Log: r.Log, Metrics: r.Metrics.Webhooks, MaxBytes: int(r.MaxRequestBytes)})
	if err != nil {
		return nil, err
	}
	if r.Quotas, err = quota.Open(ctx, quota.Config{LimitedResources: config.Settings.LimitedResources, Store: r.Store, Catalog: r.Catalog, Clock: r.Clock, Log: r.Log}); err != nil {
		return nil, err
	}
	if r.policies, err = admissionpolicies.Open(ctx, admissionpolicies.Config{Store: r.Store, Matcher: matcher, Objects: r.Reader, Log: r.Log, Metrics: r.Metrics.Policies, MaxBytes: int(r.MaxRequestBytes)}); err != nil {
		return nil, err
	}
	config.Webhooks, config.Policies, config.Quotas, config.Metrics, config.Timings = r.webhooks, r.policies, r.Quotas, r.Metrics.PodSecurity, r.Metrics.Admission
	config.RemoteRights = slices.Contains(r.AuthorizationModes, authz.ModeWebhook)
	return admission.New(&cluster{r.Reader, r.Kept, rbac.Rights{Policy: r.RBAC, Authorizer: r.Authz}, r.Catalog}, config), nil
}

// cluster is the store and the authorizer as admission plug-ins see them.
type cluster struct {
	*objects.Reader
	*admissionobjects.Objects
	rbac.Rights
	catalog *catalog.Catalog
}

var _ admission.Objects = &cluster{}

// Kind implements admission.Objects.
func (c *cluster) Kind(apiVersion, kind string) *api.Resource {
	if row := c.catalog.Snapshot().Kind(apiVersion, kind); row != nil {
		return row.Resource
	}
	return nil
}
