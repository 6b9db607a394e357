package schema

import (
	"slices"
	"strings"
)

// Demand is a rule across the members of an object: if all of If hold, all of Then must
// hold, and the expression Finds finds nothing.
type Demand struct {
	If, Then []Test
	Finds    string   // an expression whose value is the mistakes, see package expression; "" for none
	Was      []Test   // of the object before an update
	Each     []string // path of a list: the rule is for its elements, not for the object; nil for the object
	Cause    string   // the reason; "" for that of the failing test
	At       string   // path of the cause below the object, "." for the object itself; "" for the tested member
	Shown    string   // JSON that an invalid cause shows; "" for the value there
	Shows    []string // path of the member that it shows instead; nil for the value there
	Why      string   // for messages
	Turn     string   // path below the object: the position of the cause among others; "" for its own path
	Hides    string   // path below the object of a value that is not validated because of this mistake, "." for the object; "" for none
}

// Test is a condition on a member of an object, or of an object in it.
type Test struct {
	Path   []string
	Is     Condition
	Values []string // of In, NotIn, Only, Contains and Lacks
	Than   []string // path of the other member of AtLeast, AtMost, Above and Equals
	Most   int      // of Below and Short
}

// Condition is a requirement on a member.
type Condition uint8

// The conditions. A text, a number or a boolean is in a list when its text is, and an
// empty value when "" is.
const (
	Set      Condition = iota + 1 // present and not null, but maybe empty
	Unset                         // absent or null
	Filled                        // neither unset nor "", [] or {}
	Empty                         // not filled
	In                            // one of Values
	NotIn                         // none of Values
	Text                          // a string
	Digits                        // a number
	Formed                        // passing the named check in Values, or a list of such texts
	Single                        // a list of one element
	AtLeast                       // not less than the member at Than, if both are numbers
	AtMost                        // not more than the member at Than; an absent number is 0
	Above                         // more than the member at Than; an absent number is 0
	Below                         // a number that is at most Most
	Short                         // a text of at most Most bytes
	Equals                        // the same text as the member at Than
	Only                          // a list of nothing but Values
	Contains                      // a list that has all Values
	Lacks                         // a list of elements, but none of Values
	Same                          // as it was before the update
	Grown                         // a number that is not less than before the update
)

// Demands are the rules across the members of an object.
type Demands struct {
	State  []Demand // of the present object
	Change []Demand // of updates: those that test the value before
}

// Reasons are the reasons by their names in documents.
var Reasons = map[string]string{"invalid": CauseInvalid, "required": CauseRequired, "forbidden": CauseForbidden, "unsupported": CauseNotSupported,
	"duplicate": CauseDuplicate, "too-long": CauseTooLong}

// reason is the reason that follows from a failing test.
func (t *Test) reason() string {
	switch t.Is {
	case Set, Filled:
		return CauseRequired
	case Unset, Empty:
		return CauseForbidden
	case In, Only:
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

// Changes reports whether the rule is about updates.
func (d *Demand) Changes() bool {
	return len(d.Was) > 0 || strings.Contains(d.Finds, "oldSelf") ||
		slices.ContainsFunc(slices.Concat(d.If, d.Then), func(t Test) bool { return t.Is == Same || t.Is == Grown })
}

// demandsOf gathers the rules across the members of a type; nil when it has none.
func (c *compiler) demandsOf(s *Schema) *Demands {
	if len(s.Rules) == 0 {
		return nil
	}
	demands := &Demands{}
	for _, d := range s.Rules {
		if d.Changes() {
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
			of, ok := t.Element(Ref(i), d.Each)
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

// Steps are the names of a path: "a.b", or "a[b.c]" for a key with dots. "." has none.
func Steps(path string) (steps []string) {
	if path == "." {
		return nil
	}
	for path != "" {
		end := strings.IndexAny(path, ".[")
		if path[0] == '[' {
			steps, path = append(steps, path[1:strings.IndexByte(path+"]", ']')]), strings.TrimPrefix(path[strings.IndexByte(path+"]", ']'):], "]")
		} else if end < 0 {
			return append(steps, path)
		} else {
			steps, path = append(steps, path[:end]), path[end:]
		}
		path = strings.TrimPrefix(path, ".")
	}
	return steps
}

// Element finds the type of the elements of the list at a path below values of a type,
// which may go through lists; without a path the type itself.
func (t *Table) Element(ref Ref, path []string) (of Ref, ok bool) {
	of, ok = ref, true
	for i := range path {
		if of, ok = t.leads(of, path[i:i+1]); ok && t.Types[of].Kind == List {
			of = t.Types[of].Elem
		} else if i == len(path)-1 {
			return of, false
		}
	}
	return of, ok
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
