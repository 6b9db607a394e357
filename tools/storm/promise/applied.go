package promise

import (
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// applied compares what a manager owns after an acknowledged apply with what the apply had.
func applied(r *record.Record) (wrong []string) {
	for i := range r.Calls {
		c := &r.Calls[i]
		if len(c.Set) == 0 || c.Mark == "" || c.Object == nil || mark(c.Object) != c.Mark {
			continue
		}
		var owned []string
		for _, m := range c.Object.Meta.ManagedFields {
			if m.Manager == c.Manager && m.Operation == "Apply" && m.Sub == "" {
				owned = append(owned, leaves("", m.Fields)...)
			}
		}
		slices.Sort(owned)
		if !slices.Equal(owned, c.Set) {
			wrong = append(wrong, fmt.Sprintf("%s@%d: %s applied %v and owns %v", c.Key(), c.Object.Revision, c.Manager, c.Set, owned))
		}
	}
	return wrong
}

// leaves are the paths in a set of fields below which is nothing.
func leaves(path string, set map[string]any) (all []string) {
	for name, below := range set {
		if name == "." {
			continue
		}
		if inner, _ := below.(map[string]any); len(inner) > 0 {
			all = append(all, leaves(path+"/"+name, inner)...)
		} else {
			all = append(all, path+"/"+name)
		}
	}
	return all
}
