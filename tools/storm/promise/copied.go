package promise

import (
	"fmt"
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// copied compares each backup with the state at its revision, by the order of all changes.
func copied(r *record.Record) (wrong []string) {
	for _, b := range r.Backups {
		if b.Revision < b.NotBefore {
			wrong = append(wrong, fmt.Sprintf("backup %s ends at %d, %d was acknowledged before", b.Name, b.Revision, b.NotBefore))
		}
		state := make(map[string]uint64)
		for _, e := range r.Tape {
			switch {
			case e.Revision > b.Revision:
			case e.Type == history.Deleted:
				delete(state, e.Key())
			default:
				state[e.Key()] = e.Revision
			}
		}
		all := maps.Clone(state)
		maps.Copy(all, b.Objects)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if state[key] != b.Objects[key] {
				wrong = append(wrong, fmt.Sprintf("backup %s of revision %d has %s@%d, it was @%d then (0 is its absence)", b.Name, b.Revision, key,
					b.Objects[key], state[key]))
			}
		}
	}
	return wrong
}
