package promise

import (
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Uncollected finds objects at rest all of whose owners are gone, and those whose deletion
// has not ended.
func Uncollected(rest map[string][]*record.Object) (wrong []string) {
	live := make(map[string]bool)
	for _, all := range rest {
		for _, o := range all {
			live[o.Meta.UID] = true
		}
	}
	for _, all := range rest {
		for _, o := range all {
			if owners := o.Meta.OwnerReferences; len(owners) > 0 && !slices.ContainsFunc(owners, func(w record.Owner) bool { return live[w.UID] }) {
				wrong = append(wrong, fmt.Sprintf("%s@%d is there, its owner %s with uid %s is not", o.Key(), o.Revision, owners[0].Name, owners[0].UID))
			}
			if o.Meta.DeletionTimestamp != "" {
				wrong = append(wrong, fmt.Sprintf("the deletion of %s has not ended: %v", o.Key(), o.Meta.Finalizers))
			}
		}
	}
	return wrong
}

func collected(r *record.Record) []string { return Uncollected(r.Rest) }

// sheltered looks for objects that were collected though an owner was there: nobody asked for
// their deletion, nor for that of their namespace.
func sheltered(r *record.Record) (wrong []string) {
	deletable := make(map[string]bool) // keys, and namespaces as a key without a resource
	for i := range r.Calls {
		c := &r.Calls[i]
		switch {
		case c.Verb == "delete" && c.Resource == "namespaces":
			deletable[c.Name] = true
		case c.Verb == "delete":
			deletable[c.Key()] = true
		case c.Verb == "deletecollection":
			deletable[c.Resource+" in "+c.Namespace] = true
		}
	}
	there := make(map[string]*record.Object) // by uid
	for _, e := range r.Tape {
		before := there[e.Meta.UID]
		if there[e.Meta.UID] = e.Object; e.Type == history.Deleted {
			delete(there, e.Meta.UID)
		} else if e.Meta.DeletionTimestamp == "" {
			continue
		}
		// A deletion is decided when it begins; owners that come later do not end it.
		if before == nil || before.Meta.DeletionTimestamp != "" || deletable[e.Key()] || deletable[e.Meta.Namespace] ||
			deletable[e.Resource+" in "+e.Meta.Namespace] {
			continue
		}
		for _, owner := range before.Meta.OwnerReferences {
			if o := there[owner.UID]; o != nil && o.Meta.DeletionTimestamp == "" {
				wrong = append(wrong, fmt.Sprintf("%s was collected at %d, its owner %s@%d was there", e.Key(), e.Revision, o.Key(), o.Revision))
			}
		}
	}
	return wrong
}
