package server

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/admission/policies"
	"github.com/capstan-dev/capstan/server/internal/admission/quota"
	"github.com/capstan-dev/capstan/server/internal/admission/webhooks"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/identity/rbac"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/outbound"
)

// admitting is the chain of admission plug-ins, with the rooms that others need too.
type admitting struct {
	chain    objects.Admitter
	quotas   *quota.Quotas
	policies *policies.Policies
}

// openAdmission makes the chain of admission plug-ins, with the objects that they need.
func (s *Server) openAdmission(ctx context.Context, reader *objects.Reader, rights rbac.Rights, services *outbound.Backends) (*admitting, error) {
	config, authorizer := s.cfg.Admission, rights.Authorizer
	err := config.Load()
	if err != nil {
		return nil, err
	}
	for _, name := range config.Deprecated() {
		s.log.Warn("this admission plug-in has no meaning and is deprecated; leave it out", "plugin", name)
	}
	for _, form := range config.Settings.OldForms {
		s.log.Warn("--admission-control-config-file has a deprecated form", "form", form)
	}
	kept, err := admission.OpenObjects(ctx, admission.LiveConfig{Store: s.store, Catalog: s.catalog, Log: s.log})
	if err != nil {
		return nil, err
	}
	s.closeLater(kept.Close)
	var logins [2]*webhook.Logins
	for i, path := range [...]string{config.Settings.MutatingKubeconfig, config.Settings.ValidatingKubeconfig} {
		if path == "" {
			continue
		}
		if logins[i], err = webhook.ReadLogins(path); err != nil {
			return nil, err
		}
	}
	matcher := &matching.Matcher{Catalog: s.catalog, Authorizer: authorizer, Selectors: s.selectsRights(), Metrics: s.metrics.Policies,
		Namespace: func(ctx context.Context, name string) (document.Value, func(), error) {
			return reader.Get(ctx, "", "namespaces", "", name)
		}}
	most := int(s.cfg.MaxRequestBytes)
	hooks, err := webhooks.Open(ctx, webhooks.Config{Mutating: logins[0], Validating: logins[1], Store: s.store, Matcher: matcher,
		Services: services, Log: s.log, Metrics: s.metrics.Webhooks, MaxBytes: most})
	if err != nil {
		return nil, err
	}
	s.closeLater(hooks.Close)
	var all admitting
	if all.quotas, err = quota.Open(ctx, quota.Config{LimitedResources: config.Settings.LimitedResources, Store: s.store, Catalog: s.catalog, Clock: s.cfg.Clock,
		Log: s.log, Since: s.edition.Since, Resizes: s.features.On("InPlacePodVerticalScaling")}); err != nil {
		return nil, err
	}
	s.closeLater(all.quotas.Close)
	if all.policies, err = policies.Open(ctx, policies.Config{Store: s.store, Matcher: matcher, Objects: reader, Log: s.log, Metrics: s.metrics.Policies,
		MaxBytes: most}); err != nil {
		return nil, err
	}
	s.closeLater(all.policies.Close)
	config.Webhooks, config.Policies, config.Quotas, config.Metrics, config.Timings = hooks, all.policies, all.quotas, s.metrics.PodSecurity, s.metrics.Admission
	config.Since, config.Gate = s.edition.Since, s.features.On
	config.RemoteRights = slices.Contains(s.cfg.AuthorizationModes, authz.ModeWebhook) || s.cfg.AuthorizationConfigFile != ""
	all.chain = admission.New(&admissionView{reader, kept, rights, s.catalog}, config)
	if s.cfg.Seams.WrapAdmission != nil {
		all.chain = s.cfg.Seams.WrapAdmission(all.chain)
	}
	return &all, nil
}

// admissionView is the store and the authorizer as admission plug-ins see them.
type admissionView struct {
	*objects.Reader
	*admission.LiveObjects
	rbac.Rights
	catalog *catalog.Catalog
}

var _ admission.Objects = &admissionView{}

// Kind implements admission.Objects.
func (v *admissionView) Kind(apiVersion, kind string) *api.Resource {
	if row := v.catalog.Snapshot().Kind(apiVersion, kind); row != nil {
		return row.Resource
	}
	return nil
}
