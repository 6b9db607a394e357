package apply

import (
	"cmp"
	"slices"
	"strings"
)

// maxUpdaters is the number of entries of operation Update that an object keeps; the
// fields of older entries go to the manager ancient.
const (
	maxUpdaters = 10
	ancient     = "ancient-changes"
)

// limit merges the oldest entries of operation Update until at most maxUpdaters are left.
func (l ledger) limit() ledger {
	var updaters ledger
	for _, e := range l {
		if e.id.Operation == opUpdate {
			updaters = append(updaters, e)
		}
	}
	count := len(updaters)
	if count <= maxUpdaters {
		return l
	}
	slices.SortFunc(updaters, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.time, b.time), strings.Compare(a.id.String(), b.id.String()))
	})
	firsts := map[string]*entry{}
	gone := map[*entry]bool{}
	for _, e := range updaters {
		if count <= maxUpdaters {
			break
		}
		first := firsts[e.version]
		if first == nil {
			firsts[e.version] = e
			continue
		}
		id := identity{Manager: ancient, Operation: opUpdate, APIVersion: e.version}
		bucket := l.find(id)
		if bucket == e {
			continue
		}
		if bucket == nil {
			bucket = &entry{id: id, version: e.version}
			bucket.own(first.owned())
			gone[first] = true
			l = append(l, bucket)
		}
		bucket.own(bucket.owned().Union(e.owned()))
		bucket.time, bucket.changed = e.time, true
		gone[e] = true
		count--
	}
	return slices.DeleteFunc(l, func(e *entry) bool { return gone[e] })
}
