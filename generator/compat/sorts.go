package compat

import (
	"fmt"
	"math"
	"slices"
)

// sorts are all the schemas that ask one value, those in allOf, anyOf, if, … among them.
// Two values that each of them answers alike are of one sort.
type sorts []*logic

// mostTried bounds the values that are tried.
const mostTried = 100_000

// sortsOf finds the schemas that schemas apply to the same value.
func sortsOf(schemas ...*logic) (p sorts) {
	for _, l := range schemas {
		if l == nil {
			continue
		}
		p = append(p, l)
		p = append(p, sortsOf(slices.Concat(l.AllOf, l.AnyOf, l.OneOf, []*logic{l.Not, l.If, l.Then, l.Else})...)...)
		for _, name := range sorted(l.DependentSchemas) {
			p = append(p, sortsOf(l.DependentSchemas[name])...)
		}
	}
	return p
}

// elements are the schemas that ask an element of a list.
func (p sorts) elements() (below sorts) {
	for _, l := range p {
		below = append(below, sortsOf(l.Items, l.Contains)...)
	}
	return below
}

// member are the schemas that ask a member; those of one without a name ask members that no
// schema names.
func (p sorts) member(name string) (below sorts) {
	for _, l := range p {
		below = append(below, sortsOf(l.Properties[name], l.Additional)...)
		for _, pattern := range sorted(l.PatternProperties) {
			below = append(below, sortsOf(l.PatternProperties[pattern])...)
		}
	}
	return below
}

// names are the schemas that ask the name of a member.
func (p sorts) names() (below sorts) {
	for _, l := range p {
		below = append(below, sortsOf(l.PropertyNames)...)
		for _, pattern := range sorted(l.PatternProperties) {
			below = append(below, &logic{Pattern: pattern})
		}
	}
	return below
}

// named are the members that a schema names.
func (p sorts) named() (names []string) {
	for _, l := range p {
		names = slices.Concat(names, l.Required, sorted(l.Properties), sorted(l.DependentSchemas))
		for name, members := range l.DependentRequired {
			names = append(append(names, name), members...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// counted reports whether a schema counts members.
func (p sorts) counted() bool {
	return slices.ContainsFunc(p, func(l *logic) bool { return l.MinProperties != nil || l.MaxProperties != nil })
}

// constants are the scalars of some type that values are compared with.
func constants[T any](p sorts) (all []T) {
	for _, l := range p {
		for _, v := range append(slices.Clone(l.Enum), l.Const) {
			if v, ok := v.(T); ok {
				all = append(all, v)
			}
		}
	}
	return all
}

// around are the counts that bounds tell apart.
func around(bounds ...*int) []int {
	all := []int{0, 1, 2}
	for _, n := range bounds {
		if n != nil {
			all = append(all, max(*n-1, 0), *n, *n+1)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// trial makes values of a shape, one of each sort.
type trial struct{ unsure bool }

// of lists the values that a shape accepts, one of each sort.
func (y *trial) of(t *shape, p sorts) []any {
	p = append(sortsOf(t.inline()), p...)
	var values []any
	switch t.kind {
	case "boolean":
		values = []any{true, false}
	case "int32", "int64", "number":
		values = y.amounts(p, t.kind == "number")
	case "string":
		values = y.strings(p)
	case "object", "map":
		values = y.objects(t, p)
	case "list":
		values = y.lists(p, y.of(t.elem.shape, p.elements()))
	case "any", "int-or-string":
		values = y.any(p)
	default:
		y.unsure = y.unsure || slices.ContainsFunc(p, func(l *logic) bool { return l.String() != "{}" })
		values = []any{word{length: 1}}
	}
	if t.more.nullable {
		values = append(values, nil)
	}
	return p.each(slices.DeleteFunc(values, func(v any) bool { return !accepts(t, v, true) }))
}

// any lists JSON of any type.
func (y *trial) any(p sorts) []any {
	values := []any{nil, true, false}
	values = append(values, y.amounts(p, true)...)
	values = append(values, y.strings(p)...)
	if len(p) == 0 {
		return append(values, series{}, entries{})
	}
	values = append(values, y.lists(p, p.elements().each(y.any(p.elements())))...)
	return append(values, y.objects(&shape{kind: "any"}, p)...)
}

// each is one value of each sort, set or not.
func (p sorts) each(values []any) []any {
	return p.distinct(values, func(l *logic, v any) bool { return l.holds(v) }, empty)
}

// distinct are values of which no two get the same answer of all schemas.
func (p sorts) distinct(values []any, answer func(*logic, any) bool, unset func(any) bool) (some []any) {
	seen := map[string]bool{}
	for _, v := range values {
		answers := fmt.Sprint(unset(v))
		for _, l := range p {
			answers += map[bool]string{true: "+", false: "-"}[answer(l, v)]
		}
		if !seen[answers] {
			seen[answers] = true
			some = append(some, v)
		}
	}
	return some
}

// amounts are the numbers at all bounds, between them, and next to them; where multiples count,
// those of a whole period.
func (y *trial) amounts(p sorts, fractions bool) (values []any) {
	bounds, period := append(constants[float64](p), 0), 1.0
	for _, l := range p {
		for _, n := range []*float64{l.Minimum, l.Maximum, l.ExclusiveMinimum, l.ExclusiveMaximum} {
			if n != nil {
				bounds = append(bounds, *n)
			}
		}
		if l.MultipleOf != nil {
			period = multiple(period, *l.MultipleOf)
		}
	}
	if period == 0 || period > 1000 {
		y.unsure = true
		return nil
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	tried := map[float64]bool{}
	try := func(v float64) {
		if !tried[v] && (fractions || v == math.Trunc(v)) {
			tried[v] = true
			values = append(values, v)
		}
	}
	for i, b := range bounds {
		try(b)
		for n := -period - 1; n <= period+1; n++ {
			try(math.Floor(b) + n)
			try(math.Floor(b) + n + 0.5)
		}
		if i > 0 {
			try((bounds[i-1] + b) / 2)
		}
	}
	return values
}

// multiple is the least common multiple of whole numbers, 0 for others.
func multiple(a, b float64) float64 {
	if a == 0 || b != math.Trunc(b) || b <= 0 {
		return 0
	}
	x, y := a, b
	for y != 0 {
		x, y = y, math.Mod(x, y)
	}
	return a / x * b
}

// strings are the constants, and words of all lengths, patterns and formats.
func (y *trial) strings(p sorts) (values []any) {
	texts := slices.Compact(slices.Sorted(slices.Values(append(constants[string](p), ""))))
	var atoms []string
	lengths := []int{1} // where words begin to be told apart
	for _, l := range p {
		if l.MinLength != nil {
			lengths = append(lengths, max(*l.MinLength, 1))
		}
		if l.MaxLength != nil {
			lengths = append(lengths, *l.MaxLength+1)
		}
		if l.Pattern != "" {
			atoms = append(atoms, l.Pattern)
		}
		if l.Format != "" {
			atoms = append(atoms, ":"+l.Format)
		}
	}
	for _, s := range texts {
		values = append(values, s)
	}
	slices.Sort(atoms)
	if atoms = slices.Compact(atoms); len(atoms) > 6 {
		y.unsure = true
		return nil
	}
	slices.Sort(lengths)
	lengths = append(slices.Compact(lengths), math.MaxInt)
	for i, n := range lengths[:len(lengths)-1] {
		for set := range 1 << len(atoms) {
			w, not := word{length: n, most: lengths[i+1] - 1}, []string{}
			if w.most == math.MaxInt-1 {
				w.most = math.MaxInt
			}
			for i, atom := range atoms {
				if set&(1<<i) != 0 {
					w.is = append(w.is, atom)
				} else {
					not = append(not, atom)
				}
			}
			if w.exists(not, texts) {
				values = append(values, w)
			}
		}
	}
	return values
}

// lists have elements of all sorts, each as often as counts tell apart, and as many of one
// more as make the length.
func (y *trial) lists(p sorts, elements []any) (values []any) {
	var lengths, found []*int
	contains := false
	for _, l := range p {
		lengths, found = append(lengths, l.MinItems, l.MaxItems), append(found, l.MinContains, l.MaxContains)
		contains = contains || l.Contains != nil
	}
	often := around(found...)
	if !contains {
		often = []int{0, 1}
	}
	for _, counts := range y.counts(len(elements), often, around(lengths...)) {
		v := series{}
		for i, n := range counts {
			if n > 0 {
				v = append(v, run{elements[i], n})
			}
		}
		values = append(values, v)
	}
	return values
}

// counts are combinations of how often each of some kinds is there, and those with one kind
// filled up to a length.
func (y *trial) counts(kinds int, often, lengths []int) [][]int {
	all := [][]int{make([]int, kinds)}
	for i := range kinds {
		var next [][]int
		for _, counts := range all {
			for _, n := range often {
				with := slices.Clone(counts)
				with[i] = n
				next = append(next, with)
			}
		}
		if all = next; len(all)*(1+kinds*len(lengths)) > mostTried {
			y.unsure = true
			return nil
		}
	}
	for _, counts := range all {
		sum := 0
		for _, n := range counts {
			sum += n
		}
		for i := range kinds {
			for _, length := range lengths {
				if length > sum {
					with := slices.Clone(counts)
					with[i] += length - sum
					all = append(all, with)
				}
			}
		}
	}
	return all
}
