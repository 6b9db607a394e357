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
			bounded.add(usage(of, obj, now).only(names))
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
type Calculated struct {
	hard  string  // in the spec, as text
	whole amounts // the used amounts
	drift amounts // their differences from those in the status
	fresh bool    // the status has the amounts of the spec, used and allowed
}

// Calculate counts the usage of a stored quota, with the known numbers of objects elsewhere.
func (q *Quotas) Calculate(ctx context.Context, view store.Reader, quota document.Value, elsewhere map[api.GroupResource]int) (*Calculated, error) {
	whole, err := q.used(ctx, view, quota, elsewhere)
	if err != nil {
		return nil, err
	}
	status := quota.Get("status")
	before := readAmounts(status.Get("used"))
	c := &Calculated{hard: string(quota.At("spec", "hard").AppendJSON(nil)), whole: whole, drift: whole.less(before)}
	c.fresh = document.Equal(quota.At("spec", "hard"), status.Get("hard")) && len(before.only(whole.names())) == len(whole)
	return c, nil
}

// Settled reports whether the status of the quota is as it should be.
func (c *Calculated) Settled() bool { return c.fresh && len(c.drift) == 0 }

// Fresh reports whether charges are made by the quota's status as it is. Then it is
// enough to correct it, while charges go on; else no object may be created meanwhile.
func (c *Calculated) Fresh() bool { return c.fresh }

// Correct adds to the used amounts what they were wrong by. It reports whether the quota
// has the amounts that were calculated.
func (c *Calculated) Correct(quota document.Value) bool {
	status := quota.SetObject("status")
	if string(quota.At("spec", "hard").AppendJSON(nil)) != c.hard || string(status.Get("hard").AppendJSON(nil)) != c.hard {
		return false
	}
	now := readAmounts(status.Get("used")).only(c.drift.names())
	now.add(c.drift)
	setAmounts(status, "used", now)
	return true
}

// Set makes the allowed amounts of the spec those of the status, with the used ones.
// Amounts that could not be calculated stay.
func (c *Calculated) Set(quota document.Value) {
	status, hard := quota.SetObject("status"), quota.At("spec", "hard")
	used := readAmounts(status.Get("used")).only(readAmounts(hard).names())
	status.Remove("used")
	status.Put("hard", hard)
	for name, q := range c.whole {
		used[name] = q
	}
	setAmounts(status, "used", used)
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
