package house

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// relations finds objects that go with another one, as long as no third one keeps them.
func (c *checker) relations(m *model.Model, r *model.Resource) {
	for _, ref := range r.References {
		if ref.OnDelete != "cascade" || r.StoredAs != nil {
			continue
		}
		if by, field := keeper(m, r); by != nil {
			c.add(ref.Pos, "outlives", true, "write onDelete: orphan or cascade at one of the two",
				"goes with the %s that %s names, unless a %s names it: then %s keeps it, and it stays without its %s", ref.To.Kind, dotted(ref), by.Kind, field, ref.To.Kind)
		}
	}
}

// keeper is a resource whose references keep objects of a kind from being deleted, and the field that does; nil for none.
func keeper(m *model.Model, kept *model.Resource) (by *model.Resource, field string) {
	for _, gv := range m.GroupVersions {
		for _, r := range gv.Resources {
			for _, ref := range r.References {
				if ref.To == kept && ref.OnDelete == "restrict" {
					return r, dotted(ref)
				}
			}
		}
	}
	return nil, ""
}

func dotted(r model.Reference) string { return strings.Join(r.Path, ".") }
