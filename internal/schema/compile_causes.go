package schema

import (
	"slices"
	"strings"
)

// causeOrders gives the table the orders of causes: the declared ones, and those of types
// with a OneOf.
func (c *compiler) causeOrders(t *Table) {
	for i := range t.Types {
		typ := &t.Types[i]
		var order []string
		if n := c.types[typ.Name]; n != nil && n.Schema.CauseOrder != nil {
			order = c.causeOrder(t, typ, n.Schema)
		} else if typ.OneOf != nil {
			order = append(oneOfNames(typ), ".")
		}
		if order == nil {
			continue
		}
		if t.CauseOrders == nil {
			t.CauseOrders = map[Ref][]string{}
		}
		t.CauseOrders[Ref(i)] = order
	}
}

// causeOrder is the declared order of a type, with names for "one-of".
func (c *compiler) causeOrder(t *Table, typ *Type, s *Schema) (order []string) {
	for _, path := range s.CauseOrder {
		name := path
		if end := strings.IndexAny(path, ".[:"); end > 0 {
			name = path[:end]
		}
		switch {
		case path == "one-of" && typ.OneOf != nil:
			order = append(order, oneOfNames(typ)...)
			continue
		case path != "." && !inCauses(t, typ, name):
			c.fail(s.Pos, "begin with a property, or with what causes call one", "x-cluster-cause-order names %s, which leads nowhere", path)
		}
		order = append(order, path)
	}
	return order
}

// inCauses reports whether the path of a cause may continue with a name after a value of
// the type: with the name of a field, or, where causes leave out a step, of a field
// below.
func inCauses(t *Table, typ *Type, name string) bool {
	called := func(f Field) bool { return strings.EqualFold(f.Name, name) || f.Rest().CauseName == name }
	return slices.ContainsFunc(typ.Fields, func(f Field) bool {
		return called(f) || f.Type != None && slices.ContainsFunc(t.Types[f.Type].Fields, called)
	})
}

// oneOfNames lists all names in causes of the members of which one may be set, in their
// order.
func oneOfNames(typ *Type) (names []string) {
	for i, at := range typ.OneOf.Fields {
		f := &typ.Fields[at]
		for _, name := range []string{typ.OneOf.Names[i], f.Name, f.Rest().CauseName} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
