package compat

import (
	"math"
	"slices"
)

// sorts are the constants that schemas compare a value with.
type sorts struct {
	numbers []float64
	counts  []int // of characters, elements
	texts   []string
	atoms   []string // patterns, and formats with a colon before them
	repeats []float64
	members map[string]*sorts
	elem    *sorts
	names   *sorts
	counted bool // the number of members counts
	unsure  bool
}

func newSorts() *sorts { return &sorts{members: map[string]*sorts{}} }

// mostTried bounds the values that are tried.
const mostTried = 20_000

// read collects the constants of a schema.
func (p *sorts) read(l *logic) {
	if l == nil {
		return
	}
	for _, n := range []*float64{l.Minimum, l.Maximum, l.ExclusiveMinimum, l.ExclusiveMaximum} {
		if n != nil {
			p.numbers = append(p.numbers, *n)
		}
	}
	for _, v := range append(slices.Clone(l.Enum), l.Const) {
		switch v := v.(type) {
		case float64:
			p.numbers = append(p.numbers, v)
		case string:
			p.texts = append(p.texts, v)
		}
	}
	if l.MultipleOf != nil {
		p.repeats = append(p.repeats, *l.MultipleOf)
	}
	for _, n := range []*int{l.MinLength, l.MaxLength, l.MinItems, l.MaxItems, l.MinContains, l.MaxContains} {
		if n != nil {
			p.counts = append(p.counts, *n)
		}
	}
	p.atom(l.Pattern, l.Format)
	p.counted = p.counted || l.MinProperties != nil || l.MaxProperties != nil
	p.readMembers(l)
	p.readElements(l)
	for _, s := range slices.Concat(l.AllOf, l.AnyOf, l.OneOf, []*logic{l.Not, l.If, l.Then, l.Else}) {
		p.read(s)
	}
}

func (p *sorts) readMembers(l *logic) {
	below := map[string]*logic{}
	for _, name := range l.Required {
		below[name] = nil
	}
	for name, members := range l.DependentRequired {
		for _, name := range append(members, name) {
			below[name] = nil
		}
	}
	for name, s := range l.DependentSchemas {
		below[name] = nil
		p.read(s)
	}
	for name, s := range l.Properties {
		below[name] = s
	}
	for name, s := range below {
		if p.members[name] == nil {
			p.members[name] = newSorts()
		}
		p.members[name].read(s)
	}
}

func (p *sorts) readElements(l *logic) {
	part := func(of **sorts, s *logic) {
		if *of == nil {
			*of = newSorts()
		}
		(*of).read(s)
	}
	for _, s := range []*logic{l.Items, l.Contains, l.Additional} {
		if s != nil {
			part(&p.elem, s)
		}
	}
	if l.PropertyNames != nil {
		part(&p.names, l.PropertyNames)
	}
	for pattern, s := range l.PatternProperties {
		part(&p.names, &logic{Pattern: pattern})
		part(&p.elem, s)
	}
}

func (p *sorts) atom(pattern, format string) {
	if pattern != "" && !slices.Contains(p.atoms, pattern) {
		p.atoms = append(p.atoms, pattern)
	}
	if format != "" && !slices.Contains(p.atoms, ":"+format) {
		p.atoms = append(p.atoms, ":"+format)
	}
}

// of lists values of a shape, one of each sort.
func (p *sorts) of(t *shape) (values []any) {
	p.read(t.inline())
	if t.more.nullable {
		values = append(values, nil)
	}
	switch t.kind {
	case "boolean":
		return append(values, true, false)
	case "int32", "int64", "number":
		return append(values, p.amounts(t.kind == "number")...)
	case "string":
		return append(values, p.strings()...)
	case "object":
		return append(values, p.objects(t)...)
	case "list":
		return append(values, p.lists(p.below(t))...)
	case "map":
		return append(values, p.maps(p.below(t))...)
	}
	p.unsure = p.unsure || len(p.numbers)+len(p.counts)+len(p.texts)+len(p.atoms)+len(p.members) > 0
	return append(values, word{length: 1})
}

// below are the sorts of elements.
func (p *sorts) below(t *shape) []any {
	if p.elem == nil {
		p.elem = newSorts()
	}
	values := p.elem.of(t.elem.shape)
	p.unsure = p.unsure || p.elem.unsure
	return values
}

func (p *sorts) amounts(fractions bool) (values []any) {
	period := 1.0
	for _, n := range p.repeats {
		if n != math.Trunc(n) || n > 60 || fractions {
			p.unsure = true
			return nil
		}
		for a, b := period, n; ; a, b = b, math.Mod(a, b) { // the least common multiple
			if b == 0 {
				period *= n / a
				break
			}
		}
	}
	step := 1.0
	if fractions {
		step = 0.25
	}
	tried := map[float64]bool{}
	for _, b := range append(p.numbers, 0) {
		for i := -period - 1; i <= period+1 && period < 1000; i++ {
			if v := b + i*step; !tried[v] {
				tried[v] = true
				values = append(values, v)
			}
		}
	}
	p.unsure = p.unsure || period >= 1000
	return values
}

func (p *sorts) strings() (values []any) {
	for _, s := range slices.Compact(slices.Sorted(slices.Values(p.texts))) {
		values = append(values, s)
	}
	lengths := []int{0, 1}
	for _, n := range p.counts {
		lengths = append(lengths, max(n-1, 0), n, n+1)
	}
	slices.Sort(lengths)
	if p.unsure = p.unsure || len(p.atoms) > 6; p.unsure {
		return nil
	}
	for _, n := range slices.Compact(lengths) {
		for set := range 1 << len(p.atoms) {
			w, not := word{length: n}, []string{}
			for i, atom := range p.atoms {
				if set&(1<<i) != 0 {
					w.is = append(w.is, atom)
				} else {
					not = append(not, atom)
				}
			}
			if w.exists(not) {
				values = append(values, w)
			}
		}
	}
	return values
}

func (p *sorts) lists(elements []any) (values []any) {
	longest := 2
	for _, n := range p.counts {
		longest = max(longest, n+1)
	}
	if longest > 4 || len(elements) > 12 { // of one sort, and of two
		if p.elem != nil && len(p.elem.numbers)+len(p.elem.atoms)+len(p.elem.texts)+len(p.elem.members) > 0 || longest > 5000 {
			p.unsure = true
			return nil
		}
		elements = elements[:1]
	}
	level := [][]any{{}}
	for range longest + 1 {
		var next [][]any
		for _, list := range level {
			values = append(values, any(list))
			for _, e := range elements {
				next = append(next, append(slices.Clone(list), e))
			}
		}
		if level = next; len(values) > mostTried {
			p.unsure = true
			return nil
		}
	}
	return values
}

// entry is an entry of a map.
type entry struct{ name, value any }

func (p *sorts) maps(elements []any) (values []any) {
	if p.names == nil {
		p.names = &sorts{}
	}
	var all []any
	for _, name := range p.names.strings() {
		for _, v := range elements {
			all = append(all, entry{name, v})
		}
	}
	p.unsure = p.unsure || p.names.unsure || len(p.members) > 0
	for _, list := range p.lists(all) {
		entries := []entry{}
		for _, e := range list.([]any) {
			entries = append(entries, e.(entry))
		}
		values = append(values, entries)
	}
	return values
}

// objects are all combinations of the members that schemas speak of.
func (p *sorts) objects(t *shape) []any {
	all := []map[string]any{{}}
	for _, m := range t.members {
		below := p.members[m.name]
		if below == nil {
			if !p.counted {
				continue
			}
			below = newSorts()
		}
		choices := below.of(m.shape)
		p.unsure = p.unsure || below.unsure
		if p.members[m.name] == nil && len(choices) > 1 {
			choices = choices[:1]
		}
		if m.presence == "implicit" {
			choices = slices.DeleteFunc(choices, empty)
		}
		absent := !m.required
		if m.def != "" && m.when == "" || m.presence == "always" { // always there
			absent = false
			if m.def != "" {
				choices = append(choices, valueOf(m.def))
			}
		}
		var next []map[string]any
		for _, v := range all {
			if absent {
				next = append(next, v)
			}
			for _, choice := range choices {
				with := map[string]any{m.name: choice}
				for name, value := range v {
					with[name] = value
				}
				next = append(next, with)
			}
		}
		if all = next; len(all) > mostTried {
			p.unsure = true
			return nil
		}
	}
	values := make([]any, len(all))
	for i, v := range all {
		values[i] = v
	}
	return values
}
