package quota

import (
	"context"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Counting lists the quotas, by name, that objects of a type in a namespace have a part
// in.
func (q *Quotas) Counting(namespace string, res *api.Resource) (names []string) {
	for _, quota := range q.quotas.View().Under(q.row.Prefix(namespace)) {
		if !uncounted(res.GroupResource()) && len(quota.bounded(res.GroupResource())) > 0 {
			names = append(names, quota.name)
		}
	}
	return names
}

// Incomplete lists the quotas, by namespace and name, that lack a used amount, as one of
// objects whose type does not exist yet.
func (q *Quotas) Incomplete() (all [][2]string) {
	for key, quota := range q.quotas.View().Under(q.row.Prefix("")) {
		if len(quota.used.only(quota.wanted)) < len(quota.wanted) {
			namespace, name := q.row.SplitKey(key)
			all = append(all, [2]string{namespace, name})
		}
	}
	return all
}

// Elsewhere lists the types that a quota counts and that are not of this server.
func (q *Quotas) Elsewhere(namespace, name string) (all []api.GroupResource) {
	quota := q.quotas.View().Get(q.row.Key(namespace, name))
	if quota == nil {
		return nil
	}
	for _, name := range quota.wanted {
		of, ok := strings.CutPrefix(name, "count/")
		plural, group, _ := strings.Cut(of, ".")
		if ok && group != "" && q.cfg.Catalog.Snapshot().Stored(group, plural) == nil {
			all = append(all, api.GroupResource{Group: group, Resource: plural})
		}
	}
	return all
}

// used counts the amounts that a quota bounds by its spec, in a view of the store; the
// numbers of the objects elsewhere are given. Those that objects of no known type have a
// part in are left out.
func (q *Quotas) used(ctx context.Context, view store.Reader, quota document.Value, elsewhere map[api.GroupResource]int) (amounts, error) {
	namespace, spec := quota.At("metadata", "namespace").Text(), quota.Get("spec")
	wanted, scopes := readAmounts(spec.Get("hard")).names(), readScopes(spec)
	total := amounts{}
	for t := range q.cfg.Catalog.Snapshot().Types() {
		if t.Stored == nil || !t.Stored.Namespaced || uncounted(t.Stored.GroupResource()) {
			continue
		}
		bounded := amounts{}
		for _, name := range wanted {
			if counts(t.Stored.GroupResource(), name) {
				bounded[name] = number(0)
			}
		}
		if len(bounded) == 0 {
			continue
		}
		if err := q.count(ctx, view, t.Stored, namespace, scopes, bounded); err != nil {
			return nil, err
		}
		total.add(bounded)
	}
	for of, n := range elsewhere {
		if name := countName(of); slices.Contains(wanted, name) {
			if total[name] = number(n); len(scopes) > 0 {
				total[name] = number(0) // as of all types without scopes
			}
		}
	}
	return total, nil
}

// count adds the objects of a type in a namespace to the amounts that are bounded.
func (q *Quotas) count(ctx context.Context, view store.Reader, row *catalog.Row, namespace string, scopes []admission.QuotaScope, bounded amounts) (err error) {
	of := row.GroupResource()
	if len(scopes) > 0 && !isPod(of) && !isClaim(of) {
		return nil
	}
	names, now := bounded.names(), q.cfg.Clock()
	if countsOnly(of, names) && len(scopes) == 0 {
		n, err := view.Count(ctx, row.Prefix(namespace), "")
		for _, name := range names {
			bounded[name] = quantity.New(n, quantity.Decimal)
		}
		return err
	}
	failed := view.Scan(ctx, row.Prefix(namespace), "", func(e *store.Entry) bool {
		var doc *document.Document
		if doc, err = document.ReadStored(row.GV.Types(), row.Type, e.Body); err != nil {
			return false
		}
		defer doc.Release()
		if obj := doc.Root(); inAll(of, scopes, obj) {
			bounded.add(q.usage(of, obj, now).only(names))
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return err
}

// countsOnly reports whether amounts of a type are all the number of its objects.
func countsOnly(of api.GroupResource, names []string) bool {
	for _, name := range names {
		if name != countName(of) && (name == "pods" || name != of.Resource) {
			return false
		}
	}
	return true
}

// Calculated is a quota's usage, as it is in a view of the store.
//
// What writes are charged for is that in the status of the quota, where three cases differ:
// a used amount with a bound is right at any later time but for its drift, since every
// create is charged to it; an unknown amount with a bound lets nothing be created; an
// amount that only the spec bounds counts as it was in the view, while nothing was
// created since.
type Calculated struct {
	spec, status string  // the bounds in the spec and in the status, as texts
	whole        amounts // the used amounts
	known, drift amounts // those that the status has, with a bound, and their differences from whole
	fresh        bool    // the status has the amounts of the spec, used and allowed

	// Seen is the read set of a write of the calculated amounts: that nothing was created of
	// what the status does not bound yet.
	Seen []store.Seen
}

// Calculate counts the usage of a stored quota, with the known numbers of objects elsewhere.
func (q *Quotas) Calculate(ctx context.Context, view store.Reader, quota document.Value, elsewhere map[api.GroupResource]int) (*Calculated, error) {
	whole, err := q.used(ctx, view, quota, elsewhere)
	if err != nil {
		return nil, err
	}
	spec, status := quota.At("spec", "hard"), quota.At("status", "hard")
	bounded := readAmounts(status)
	known := readAmounts(quota.At("status", "used")).only(bounded.names()).only(whole.names())
	c := &Calculated{spec: textOf(spec), status: textOf(status), whole: whole, known: known, drift: whole.only(known.names()).less(known)}
	c.fresh = document.Equal(spec, status) && len(known) == len(whole)
	for t := range q.cfg.Catalog.Snapshot().Types() {
		if t.Stored != nil && t.Stored.Namespaced && slices.ContainsFunc(whole.names(), func(name string) bool {
			_, already := bounded[name]
			return !already && counts(t.Stored.GroupResource(), name)
		}) {
			c.Seen = append(c.Seen, store.Seen{Key: t.Stored.Prefix(quota.At("metadata", "namespace").Text()), Revision: view.Revision(), Collection: true})
		}
	}
	return c, nil
}

func textOf(v document.Value) string { return string(v.AppendJSON(nil)) }

// Settled reports whether the status of the quota is as it should be.
func (c *Calculated) Settled() bool { return c.fresh && len(c.drift) == 0 }

// Set makes the bounds of the spec those of the status, and sets the used amounts. Amounts
// that could not be calculated stay. It reports whether the quota has the bounds that were
// calculated with.
func (c *Calculated) Set(quota document.Value) bool {
	if !c.stands(quota) {
		return false
	}
	setBounds(quota, func(used amounts) {
		used.add(c.drift.only(used.names()))
		for name, amount := range c.whole {
			if _, known := c.known[name]; !known {
				used[name] = amount
			}
		}
	})
	return true
}

// setBounds makes the bounds of the spec those of the status, and edits the used amounts
// that they bound.
func setBounds(quota document.Value, edit func(used amounts)) {
	status, hard := quota.SetObject("status"), quota.At("spec", "hard")
	used := readAmounts(status.Get("used")).only(readAmounts(hard).names())
	edit(used)
	status.Remove("used")
	status.Put("hard", hard)
	setAmounts(status, "used", used)
}

// Announce makes the bounds of the spec those of the status, without used amounts that are
// not known: from then on nothing is created that they bound, so that it can be counted.
// It reports what Set does.
func (c *Calculated) Announce(quota document.Value) bool {
	if !c.stands(quota) {
		return false
	}
	setBounds(quota, func(used amounts) {
		for name := range c.whole {
			if _, known := c.known[name]; !known {
				delete(used, name)
			}
		}
	})
	return true
}

// stands reports whether a quota has the bounds that were calculated with.
func (c *Calculated) stands(quota document.Value) bool {
	return textOf(quota.At("spec", "hard")) == c.spec && textOf(quota.At("status", "hard")) == c.status
}

func setAmounts(status document.Value, member string, all amounts) {
	if len(all) == 0 {
		return
	}
	to := status.SetObject(member)
	for _, name := range all.names() {
		to.SetString(name, all[name].String())
	}
}
