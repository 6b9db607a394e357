package quota

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// resourceQuota is a stored quota as it bounds writes: by its status.
type resourceQuota struct {
	key, name  string
	scopes     []admission.QuotaScope
	hard, used amounts
	wanted     []string // the names in the spec
	bounds     string   // everything but the used amounts, as text
	revision   uint64
}

func (q *Quotas) readQuota(obj document.Value) *resourceQuota {
	meta, spec, status := obj.Get("metadata"), obj.Get("spec"), obj.Get("status")
	revision, _ := strconv.ParseUint(meta.Get("resourceVersion").Text(), 10, 64)
	return &resourceQuota{revision: revision, key: q.row.Key(meta.Get("namespace").Text(), meta.Get("name").Text()), name: meta.Get("name").Text(),
		scopes: readScopes(spec),
		hard:   readAmounts(status.Get("hard")), used: readAmounts(status.Get("used")), wanted: readAmounts(spec.Get("hard")).names(),
		bounds: string(status.Get("hard").AppendJSON(spec.AppendJSON(nil)))}
}

// of lists the quotas of a namespace at a revision.
func (q *Quotas) of(namespace string) (all []*resourceQuota, revision uint64) {
	view := q.quotas.View()
	for _, quota := range view.Under(q.row.Prefix(namespace)) {
		all = append(all, quota)
	}
	return all, view.Revision()
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
	quotas *Quotas
	all    []*resourceQuota // of the namespace
	parts  []part
	of     api.GroupResource // of the object
	name   string            // its name
}

// part is the part of a charge in one quota.
type part struct {
	quota   *resourceQuota
	amounts amounts
}

func (c *charge) refuse(why string) error { return api.Forbidden(c.of, c.name, why) }

// Keys implements admission.Charge.
func (c *charge) Keys() (keys []string) {
	for _, p := range c.parts {
		keys = append(keys, p.quota.key)
	}
	return keys
}

// Stands implements admission.Charge. The read set has the quotas as they are now, and that
// none is added to them.
func (c *charge) Stands(namespace string, seen []store.Seen) (more []store.Seen, stand bool) {
	now, revision := c.quotas.of(namespace)
	stand = slices.EqualFunc(c.all, now, func(a, b *resourceQuota) bool {
		return a == b || a.key == b.key && a.bounds == b.bounds
	})
	seen = append(seen, store.Seen{Key: c.quotas.row.Prefix(namespace), Revision: revision, Collection: true})
	for _, quota := range now {
		seen = append(seen, store.Seen{Key: quota.key, Revision: quota.revision})
	}
	return seen, stand
}

// Add implements admission.Charge.
func (c *charge) Add(quota document.Value) error {
	name, status := quota.At("metadata", "name").Text(), quota.SetObject("status")
	i := slices.IndexFunc(c.parts, func(p part) bool { return p.quota.name == name })
	now, err := c.sum(c.parts[i], readAmounts(status.Get("hard")), readAmounts(status.Get("used")))
	if err == nil {
		setAmounts(status, "used", now)
	}
	return err
}

// sum adds a part of the charge to the used amounts that its quota bounds. Errors: 403
// when there is not that much left.
func (c *charge) sum(p part, hard, used amounts) (amounts, error) {
	requested := p.amounts.only(hard.names())
	now := used.only(requested.names())
	now.add(requested)
	var exceeded []string
	for name, q := range now {
		if q.Compare(hard[name]) > 0 {
			exceeded = append(exceeded, name)
		}
	}
	if len(exceeded) > 0 {
		return nil, c.refuse(fmt.Sprintf("exceeded quota: %s, requested: %s, used: %s, limited: %s", p.quota.name, requested.only(exceeded),
			used.only(exceeded), hard.only(exceeded)))
	}
	return now, nil
}

// Charge implements admission.Quotas.
func (q *Quotas) Charge(_ context.Context, r *admission.Request) error {
	of := r.Resource.GroupResource()
	if r.Subresource != "" && !resizes(r) || r.OtherKind || !r.Resource.Namespaced || uncounted(of) {
		return nil
	}
	if r.Operation == admission.Update && !changes(of) && !resizes(r) && !q.ends(r) {
		return nil
	}
	all, _ := q.of(r.Namespace)
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

// ends reports whether an update makes a pod one that ends by itself, or no longer, so that other quotas count it. Until 1.32 the next
// recalculation counts it there.
func (q *Quotas) ends(r *admission.Request) bool {
	return isPod(r.Resource.GroupResource()) && q.cfg.Since("1.33") && ends(r.Object.Get("spec")) != ends(r.Old.Get("spec"))
}

// changes reports whether an update may add to quotas.
func changes(of api.GroupResource) bool {
	return of.Group == "" && (of.Resource == "services" || of.Resource == "persistentvolumeclaims")
}

// decide computes the charge, and refuses it if a quota bounds it now.
func (c *charge) decide(r *admission.Request) error {
	var matching []*resourceQuota
	var covered []string
	for _, quota := range c.all {
		bounded := quota.bounded(c.of)
		if len(bounded) == 0 || !inAll(c.of, quota.scopes, r.Object) {
			continue
		}
		if isPod(c.of) {
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
	total := c.quotas.usage(c.of, r.Object, now)
	more := total
	if r.Operation == admission.Update {
		more = total.above(c.quotas.usage(c.of, r.Old, now))
	}
	adds := len(matching) == 0 && len(more) > 0
	for _, quota := range matching {
		p := part{quota, total}
		if r.Operation == admission.Update && inAll(c.of, quota.scopes, r.Old) {
			p.amounts = more
		}
		adds = adds || len(p.amounts) > 0
		if p.amounts = p.amounts.above(nil).only(quota.hard.names()); len(p.amounts) > 0 {
			c.parts = append(c.parts, p)
		}
	}
	if !adds {
		return nil
	}
	if err := c.limited(r.Object, total, covered); err != nil {
		return err
	}
	for _, p := range c.parts {
		if _, err := c.sum(p, p.quota.hard, p.quota.used); err != nil {
			return err
		}
	}
	return nil
}

// limited refuses what only a quota permits, and none does. covered are the names of the
// amounts that quotas of the object bound.
func (c *charge) limited(obj document.Value, total amounts, covered []string) error {
	var open []string
	var scopes []admission.QuotaScope
	for _, l := range c.quotas.cfg.LimitedResources {
		for _, scope := range l.MatchScopes {
			if inScope(c.of, scope, obj) && !c.covers(scope, obj) {
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

// covers reports whether a quota has a scope of that name that the object is in.
func (c *charge) covers(scope admission.QuotaScope, obj document.Value) bool {
	return slices.ContainsFunc(c.all, func(quota *resourceQuota) bool {
		return slices.ContainsFunc(quota.scopes, func(s admission.QuotaScope) bool { return s.ScopeName == scope.ScopeName && inScope(c.of, s, obj) })
	})
}
