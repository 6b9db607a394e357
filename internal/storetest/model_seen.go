package storetest

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
)

// unchanged reports whether the read sets of writes stand.
func (m *Model) unchanged(writes []store.Write) bool {
	state := m.state(m.current())
	for _, w := range writes {
		for _, s := range w.Seen {
			if s.Mark {
				if m.marks[s.Key] > s.Revision {
					return false
				}
				continue
			}
			if !s.Collection && state[s.Key].Revision != s.Revision {
				return false
			}
			if s.Collection && slices.ContainsFunc(m.changes, func(c *store.Change) bool {
				name, below := strings.CutPrefix(c.Entry.Key, s.Key)
				return c.Op == store.OpCreate && c.Entry.Revision > s.Revision && below && !strings.Contains(name, "/")
			}) {
				return false
			}
		}
	}
	return true
}
