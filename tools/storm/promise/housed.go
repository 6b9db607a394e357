package promise

import (
	"fmt"
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// housed follows the tape: an object is made in a namespace that is there, and gone before
// its namespace is.
func housed(r *record.Record) (wrong []string) {
	spaces := make(map[string]bool)
	inside := make(map[string]map[string]uint64) // by namespace: revisions by key
	for _, e := range r.Tape {
		space := e.Meta.Namespace
		switch {
		case e.Resource == "namespaces" && e.Type == history.Deleted:
			delete(spaces, e.Meta.Name)
			for _, key := range slices.Sorted(maps.Keys(inside[e.Meta.Name])) {
				wrong = append(wrong, fmt.Sprintf("namespace %s was gone at %d, %s@%d was there", e.Meta.Name, e.Revision, key, inside[e.Meta.Name][key]))
			}
			delete(inside, e.Meta.Name)
		case e.Resource == "namespaces":
			spaces[e.Meta.Name] = true
		case space == "":
		case e.Type == history.Deleted:
			delete(inside[space], e.Key())
		default:
			if !spaces[space] && !e.Initial {
				wrong = append(wrong, fmt.Sprintf("%s %s@%d: its namespace is not there", e.Type, e.Key(), e.Revision))
			}
			if inside[space] == nil {
				inside[space] = make(map[string]uint64)
			}
			inside[space][e.Key()] = e.Revision
		}
	}
	return wrong
}
