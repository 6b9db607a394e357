package server

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admissionwebhooks"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/quota"
	"github.com/capstan-dev/capstan/server/internal/rbac"
)

// openAdmission makes the chain of admission plug-ins, with the objects that they need.
func (s *Server) openAdmission(ctx context.Context) (err error) {
	if s.classes, err = openClasses(ctx, s.store, s.catalog.Snapshot().Stored(schedulingGroup, "priorityclasses"), s.log); err != nil {
		return err
	}
	s.webhooks, err = admissionwebhooks.Open(ctx, admissionwebhooks.Config{Store: s.store, Catalog: s.catalog, Services: s.backends, Log: s.log, Metrics: s.metrics.Webhooks, MaxBytes: int(s.cfg.MaxRequestBytes),
		Namespace: func(ctx context.Context, name string) (document.Value, func(), error) {
			return s.reader.Get(ctx, "", "namespaces", "", name)
		}})
	if err != nil {
		return err
	}
	if s.quotas, err = quota.Open(ctx, quota.Config{Store: s.store, Catalog: s.catalog, Log: s.log}); err != nil {
		return err
	}
	config := s.cfg.Admission
	config.Webhooks, config.Quotas, config.RemoteRights = s.webhooks, s.quotas, slices.Contains(s.cfg.AuthorizationModes, authz.ModeWebhook)
	s.admission = admission.New(&cluster{s.reader, s.classes, s.authz, s.rbac, s.catalog}, config)
	if s.cfg.wrapAdmission != nil {
		s.admission = s.cfg.wrapAdmission(s.admission)
	}
	return nil
}

// classes are the priority classes, which every new pod needs.
type classes struct {
	*live.Collection[*admission.Class]
	row      *catalog.Row
	standard live.Index[*admission.Class, []*admission.Class] // the default ones, by value and name
}

func openClasses(ctx context.Context, s store.Store, row *catalog.Row, log *slog.Logger) (*classes, error) {
	all, err := live.Open(ctx, live.Config[*admission.Class]{Store: s, Prefixes: []string{row.Prefix("")}, Decode: live.Read(row, admission.ReadClass), Logger: log})
	if err != nil {
		return nil, err
	}
	return &classes{all, row, live.Derive(all, standardClasses)}, nil
}

func standardClasses(before []*admission.Class, changes []live.Change[*admission.Class]) []*admission.Class {
	now := slices.Clone(before)
	for _, c := range changes {
		now = slices.DeleteFunc(now, func(class *admission.Class) bool { return class == c.Before })
		if c.After != nil && c.After.Default {
			now = append(now, c.After)
		}
	}
	slices.SortFunc(now, func(a, b *admission.Class) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return now
}

// cluster is the store and the authorizer as admission plug-ins see them.
type cluster struct {
	*objects.Reader
	classes *classes
	authz   authz.Authorizer
	rbac    *rbac.Policy
	catalog *catalog.Catalog
}

var _ admission.Objects = &cluster{}

// Class implements admission.Objects.
func (c *cluster) Class(name string) *admission.Class {
	k := c.classes
	view := k.View()
	if name != "" {
		return view.Get(k.row.Key("", name))
	}
	if standard := k.standard.Of(view); len(standard) > 0 {
		return standard[0]
	}
	return nil
}

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
