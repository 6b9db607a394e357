package schema

import (
	"slices"
	"strings"
)

// Demand is a rule across the members of an object: if all of If hold, all of Then must
// hold.
type Demand struct {
	If, Then []Test
	Was      []Test   // of the object before an update
	Each     []string // path of a list: the rule is for its elements, not for the object; nil for the object
	Cause    string   // the reason; "" for that of the failing test
	At       string   // path of the cause below the object, "." for the object itself; "" for the tested member
	Shown    string   // JSON that an invalid cause shows; "" for the value there
	Shows    []string // path of the member that it shows instead; nil for the value there
	Why      string   // for messages
	Hides    string   // path below the object of a value that is not validated because of this mistake, "." for the object; "" for none
}

// Test is a condition on a member of an object, or of an object in it.
type Test struct {
	Path   []string
	Is     Condition
	Values []string // of In and NotIn
	Than   []string // path of the other member of AtLeast
}

// Condition is a requirement on a member.
type Condition uint8

// The conditions. A text, a number or a boolean is in a list when its text is, and an
// empty value when "" is.
const (
	Set     Condition = iota + 1 // present and not null, but maybe empty
	Unset                        // absent or null
	Filled                       // neither unset nor "", [] or {}
	Empty                        // not filled
	In                           // one of Values
	NotIn                        // none of Values
	Text                         // a string
	Digits                       // a number
	Formed                       // passing the named check in Values, or a list of such texts
	Single                       // a list of one element
	AtLeast                      // not less than the member at Than, if both are numbers
	Same                         // as it was before the update
)

// Demands are the rules across the members of an object.
type Demands struct {
	State  []Demand // of the present object
	Change []Demand // of updates: those that test the value before
}

// reason is the reason that follows from a failing test.
func (t *Test) reason() string {
	switch t.Is {
	case Set, Filled:
		return CauseRequired
	case Unset, Empty:
		return CauseForbidden
	case In:
		return CauseNotSupported
	}
	return CauseInvalid
}

// Reason is the reason of the cause when a test fails.
func (d *Demand) Reason(t *Test) string {
	if d.Cause != "" {
		return d.Cause
	}
	return t.reason()
}

// changes reports whether the rule is about updates.
func (d *Demand) changes() bool {
	return len(d.Was) > 0 || slices.ContainsFunc(slices.Concat(d.If, d.Then), func(t Test) bool { return t.Is == Same })
}

// demandsOf gathers the rules across the members of a type; nil when it has none.
func (c *compiler) demandsOf(s *Schema) *Demands {
	if len(s.Rules) == 0 {
		return nil
	}
	demands := &Demands{}
	for _, d := range s.Rules {
		if d.changes() {
			demands.Change = append(demands.Change, d)
		} else {
			demands.State = append(demands.State, d)
		}
	}
	return demands
}

// checkDemands refuses rules whose paths lead to nothing.
func (c *compiler) checkDemands(t *Table) {
	for i := range t.Types {
		n := c.types[t.Types[i].Name]
		if n == nil || n.Schema.Rules == nil {
			continue
		}
		for _, d := range n.Schema.Rules {
			of, ok := t.leads(Ref(i), d.Each)
			if ok && d.Each != nil {
				of, ok = t.Types[of].Elem, t.Types[of].Kind == List
			}
			if !ok {
				c.fail(n.Schema.Pos, "name a list", "x-cluster-rules names the elements of %s, which is no list", strings.Join(d.Each, "."))
				continue
			}
			for _, test := range slices.Concat(d.If, d.Was, d.Then) {
				for _, path := range [][]string{test.Path, test.Than, d.Shows} {
					if _, ok := t.leads(of, path); !ok {
						c.fail(n.Schema.Pos, "name members of the type, with dots between", "x-cluster-rules names %s, which leads nowhere", strings.Join(path, "."))
					}
				}
			}
		}
	}
}

// leads finds the type at a path below values of a type.
func (t *Table) leads(ref Ref, path []string) (at Ref, ok bool) {
	for _, name := range path {
		switch typ := &t.Types[ref]; typ.Kind {
		case Map:
			ref = typ.Elem
		case Object:
			i := slices.IndexFunc(typ.Fields, func(f Field) bool { return f.Name == name })
			if i < 0 {
				return None, false
			}
			ref = typ.Fields[i].Type
		default:
			return None, false
		}
	}
	return ref, true
}
