package drawing

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// member is a member of an object.
type member struct {
	of   schema.Ref
	name string
}

// hints are the texts that the rules of a table compare members with: without them few objects would meet a condition.
func hints(t *schema.Table) map[member][]string {
	all := map[member][]string{}
	for i := range t.Types {
		demands := t.Types[i].Demands
		if demands == nil {
			continue
		}
		for _, d := range slices.Concat(demands.State, demands.Change) {
			self, ok := t.Element(schema.Ref(i), d.Each)
			for _, test := range slices.Concat(d.If, d.Then) {
				if at, known := memberAt(t, self, test.Path); ok && known {
					all[at] = append(all[at], test.Values...)
				}
			}
		}
	}
	return all
}

// memberAt is the member at a path below values of a type.
func memberAt(t *schema.Table, ref schema.Ref, path []string) (at member, ok bool) {
	for _, name := range path {
		if ref < 0 {
			return at, false
		}
		switch typ := &t.Types[ref]; typ.Kind {
		case schema.Map:
			ref, ok = typ.Elem, false
		case schema.Object:
			i := typ.Field(name)
			if i < 0 {
				return at, false
			}
			at, ok = member{ref, name}, true
			ref = typ.Fields[i].Type
		default:
			return at, false
		}
	}
	return at, ok && ref >= 0 && t.Types[ref].Kind == schema.String
}
