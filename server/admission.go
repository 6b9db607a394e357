package server

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admissionobjects"
	"github.com/capstan-dev/capstan/server/internal/admissionpolicies"
	"github.com/capstan-dev/capstan/server/internal/admissionwebhooks"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/matching"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/quota"
	"github.com/capstan-dev/capstan/server/internal/rbac"
)

// openAdmission makes the chain of admission plug-ins, with the objects that they need.
func (s *Server) openAdmission(ctx context.Context) (err error) {
	config := s.cfg.Admission
	if err = config.Load(); err != nil {
		return err
	}
	for _, name := range config.Deprecated() {
		s.log.Warn("this admission plug-in has no meaning and is deprecated; leave it out", "plugin", name)
	}
	if s.kept, err = admissionobjects.Open(ctx, admissionobjects.Config{Store: s.store, Catalog: s.catalog, Log: s.log}); err != nil {
		return err
	}
	var logins [2]*webhook.Logins
	for i, path := range [...]string{config.Settings.MutatingKubeconfig, config.Settings.ValidatingKubeconfig} {
		if path == "" {
			continue
		}
		if logins[i], err = webhook.ReadLogins(path); err != nil {
			return err
		}
	}
	matcher := &matching.Matcher{Catalog: s.catalog, Authorizer: s.authz, Metrics: s.metrics.Policies, Namespace: func(ctx context.Context, name string) (document.Value, func(), error) {
		return s.reader.Get(ctx, "", "namespaces", "", name)
	}}
	s.webhooks, err = admissionwebhooks.Open(ctx, admissionwebhooks.Config{Mutating: logins[0], Validating: logins[1], Store: s.store, Matcher: matcher, Services: s.backends, Log: s.log, Metrics: s.metrics.Webhooks, MaxBytes: int(s.cfg.MaxRequestBytes)})
	if err != nil {
		return err
	}
	if s.quotas, err = quota.Open(ctx, quota.Config{LimitedResources: config.Settings.LimitedResources, Store: s.store, Catalog: s.catalog, Clock: s.cfg.Clock, Log: s.log}); err != nil {
		return err
	}
	if s.policies, err = admissionpolicies.Open(ctx, admissionpolicies.Config{Store: s.store, Matcher: matcher, Objects: s.reader, Log: s.log, Metrics: s.metrics.Policies, MaxBytes: int(s.cfg.MaxRequestBytes)}); err != nil {
		return err
	}
	config.Webhooks, config.Policies, config.Quotas, config.Metrics, config.Timings = s.webhooks, s.policies, s.quotas, s.metrics.PodSecurity, s.metrics.Admission
	config.RemoteRights = slices.Contains(s.cfg.AuthorizationModes, authz.ModeWebhook)
	s.admission = admission.New(&cluster{s.reader, s.kept, s.authz, s.rbac, s.catalog}, config)
	if s.cfg.wrapAdmission != nil {
		s.admission = s.cfg.wrapAdmission(s.admission)
	}
	return nil
}

// cluster is the store and the authorizer as admission plug-ins see them.
type cluster struct {
	*objects.Reader
	*admissionobjects.Objects
	authz   authz.Authorizer
	rbac    *rbac.Policy
	catalog *catalog.Catalog
}

var _ admission.Objects = &cluster{}

// May implements admission.Objects.
func (c *cluster) May(ctx context.Context, user *authn.User, r admission.Right) (bool, string, error) {
	decision, reason, err := c.authz.Authorize(ctx, &authz.Attributes{User: user, Verb: r.Verb, Group: r.Group, Version: r.Version,
		Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, ResourceRequest: true})
	return decision == authz.Allow, reason, err
}

// Kind implements admission.Objects.
func (c *cluster) Kind(apiVersion, kind string) *api.Resource {
	if row := c.catalog.Snapshot().Kind(apiVersion, kind); row != nil {
		return row.Resource
	}
	return nil
}

// MayGrant implements admission.Objects.
func (c *cluster) MayGrant(ctx context.Context, r *admission.Request) error {
	return c.rbac.MayGrant(ctx, c.authz, r)
}
