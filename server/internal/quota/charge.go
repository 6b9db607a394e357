package quota

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// resourceQuota is a stored quota as it bounds writes: by its status.
type resourceQuota struct {
	key, name  string
	scopes     []admission.QuotaScope
	hard, used amounts
	wanted     []string // the names in the spec
	bounds     string   // everything but the used amounts, as text
}

func (q *Quotas) readQuota(obj document.Value) *resourceQuota {
	meta, spec, status := obj.Get("metadata"), obj.Get("spec"), obj.Get("status")
	return &resourceQuota{key: q.row.Key(meta.Get("namespace").Text(), meta.Get("name").Text()), name: meta.Get("name").Text(), scopes: readScopes(spec),
		hard: readAmounts(status.Get("hard")), used: readAmounts(status.Get("used")), wanted: readAmounts(spec.Get("hard")).names(),
		bounds: string(status.Get("hard").AppendJSON(spec.AppendJSON(nil)))}
}

// of lists the quotas of a namespace.
func (q *Quotas) of(namespace string) (all []*resourceQuota) {
	for _, quota := range q.quotas.View().Under(q.row.Prefix(namespace)) {
		all = append(all, quota)
	}
	return all
}

// bounded are the names of the amounts that a quota bounds and objects of a type have a
// part in.
func (b *resourceQuota) bounded(of api.GroupResource) (names []string) {
	for name := range b.hard {
		if counts(of, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// charge is what a write adds to the quotas of its namespace.
type charge struct {
	quotas  *Quotas
	all     []*resourceQuota // of the namespace
	keys    []string         // of those that it adds to
	amounts amounts
	of      api.GroupResource // of the object
	name    string            // its name
}

func (c *charge) refuse(why string) error { return api.Forbidden(c.of, c.name, why) }

// Keys implements admission.Charge.
func (c *charge) Keys() []string { return c.keys }

// Stands implements admission.Charge.
func (c *charge) Stands(namespace string) bool {
	return slices.EqualFunc(c.all, c.quotas.of(namespace), func(a, b *resourceQuota) bool {
		return a == b || a.key == b.key && a.bounds == b.bounds
	})
}

// Add implements admission.Charge.
func (c *charge) Add(quota document.Value) error {
	status := quota.SetObject("status")
	now, err := c.sum(quota.At("metadata", "name").Text(), readAmounts(status.Get("hard")), readAmounts(status.Get("used")))
	if err != nil {
		return err
	}
	setAmounts(status, "used", now)
	return nil
}

// sum adds the charge to the used amounts that a quota bounds. Errors: 403 when there is
// not that much left.
func (c *charge) sum(name string, hard, used amounts) (amounts, error) {
	requested := c.amounts.only(hard.names())
	now := used.only(requested.names())
	now.add(requested)
	var exceeded []string
	for name, q := range now {
		if q.Cmp(hard[name]) > 0 {
			exceeded = append(exceeded, name)
		}
	}
	if len(exceeded) > 0 {
		return nil, c.refuse(fmt.Sprintf("exceeded quota: %s, requested: %s, used: %s, limited: %s", name, requested.only(exceeded), used.only(exceeded), hard.only(exceeded)))
	}
	return now, nil
}

// Charge implements admission.Quotas.
func (q *Quotas) Charge(_ context.Context, r *admission.Request) error {
	of := r.Resource.GroupResource()
	if r.Subresource != "" || r.OtherKind || !r.Resource.Namespaced || uncounted(of) {
		return nil
	}
	if r.Operation == admission.Update && (of.Group != "" || of.Resource != "services" && of.Resource != "persistentvolumeclaims") {
		return nil
	}
	all := q.of(r.Namespace)
	if len(all) == 0 && len(q.cfg.LimitedResources) == 0 {
		r.Charge = q.none
		return nil
	}
	c := &charge{quotas: q, all: all, of: of, name: nameOf(r.Object)}
	if err := c.decide(r); err != nil || r.DryRun {
		return err
	}
	r.Charge = c
	return nil
}

// decide computes the charge, and refuses it if a quota bounds it now.
func (c *charge) decide(r *admission.Request) error {
	of, isPod := c.of, c.of == api.GroupResource{Resource: "pods"}
	var matching []*resourceQuota
	var covered []string
	for _, quota := range c.all {
		bounded := quota.bounded(of)
		if len(bounded) == 0 || !inAll(quota.scopes, r.Object, isPod) {
			continue
		}
		if isPod {
			if missing := unnamed(r.Object, bounded); missing != "" {
				return c.refuse("failed quota: " + quota.name + ": must specify " + missing)
			}
		}
		if len(quota.used.only(bounded)) < len(bounded) {
			return c.refuse("status unknown for quota: " + quota.name + ", resources: " + strings.Join(bounded, ","))
		}
		matching, covered = append(matching, quota), append(covered, bounded...)
	}
	now := c.quotas.cfg.Clock()
	total := usage(of, r.Object, now)
	c.amounts = total.less(nil)
	if r.Operation == admission.Update {
		c.amounts = total.less(usage(of, r.Old, now))
	}
	for name, n := range c.amounts {
		if n.Sign() < 0 {
			delete(c.amounts, name)
		}
	}
	if len(c.amounts) == 0 {
		return nil
	}
	if err := c.limited(r.Object, total, covered, isPod); err != nil {
		return err
	}
	for _, quota := range matching {
		if len(c.amounts.only(quota.hard.names())) == 0 {
			continue
		}
		if _, err := c.sum(quota.name, quota.hard, quota.used); err != nil {
			return err
		}
		c.keys = append(c.keys, quota.key)
	}
	return nil
}

// limited refuses what only a quota permits, and none does. covered are the names of the
// amounts that quotas of the object bound.
func (c *charge) limited(obj document.Value, total amounts, covered []string, isPod bool) error {
	var open []string
	var scopes []admission.QuotaScope
	for _, l := range c.quotas.cfg.LimitedResources {
		for _, scope := range l.MatchScopes {
			if isPod && inScope(scope, obj) && !c.covers(scope, obj) {
				scopes = append(scopes, scope)
			}
		}
		if l.APIGroup != c.of.Group || l.Resource != c.of.Resource {
			continue
		}
		for name, n := range total {
			contains := func(part string) bool { return strings.Contains(name, part) }
			if n.Sign() > 0 && slices.ContainsFunc(l.MatchContains, contains) && !slices.Contains(covered, name) && !slices.Contains(open, name) {
				open = append(open, name)
			}
		}
	}
	switch {
	case len(open) > 0:
		slices.Sort(open)
		return c.refuse("insufficient quota to consume: " + strings.Join(open, ","))
	case len(scopes) > 0:
		return c.refuse(fmt.Sprintf("insufficient quota to match these scopes: %v", scopes))
	}
	return nil
}

// covers reports whether a quota has a scope of that name that the pod is in.
func (c *charge) covers(scope admission.QuotaScope, pod document.Value) bool {
	return slices.ContainsFunc(c.all, func(quota *resourceQuota) bool {
		return slices.ContainsFunc(quota.scopes, func(s admission.QuotaScope) bool { return s.ScopeName == scope.ScopeName && inScope(s, pod) })
	})
}
