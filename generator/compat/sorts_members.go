package compat

import "slices"

// objects are all combinations of the members that schemas name, with further ones where the
// shape takes any.
func (y *trial) objects(t *shape, p sorts) []any {
	all := []entries{{}}
	names := p.named()
	if t.kind != "object" {
		names = slices.Concat(names, constants[string](p.names()), []string{""})
		slices.Sort(names)
		names = slices.Compact(names)
	} else {
		for _, m := range t.members {
			if !slices.Contains(names, m.name) && (m.required || y.asks(p, m.name)) {
				names = append(names, m.name)
			}
		}
	}
	for _, name := range names {
		choices, absent := y.choices(t, name, p.member(name))
		if t.kind == "map" {
			choices = slices.DeleteFunc(choices, func(v any) bool { return !t.takes(entry{name, v, 1}) })
		}
		var next []entries
		for _, v := range all {
			if absent {
				next = append(next, v)
			}
			for _, choice := range choices {
				next = append(next, append(slices.Clone(v), entry{name, choice, 1}))
			}
		}
		if all = next; len(all) > mostTried {
			y.unsure = true
			return nil
		}
	}
	if t.kind != "object" || t.open {
		all = y.filled(t, p, all)
	}
	values := make([]any, len(all))
	for i, v := range all {
		values[i] = v
	}
	return values
}

// asks reports whether a schema may refuse a member that none names.
func (y *trial) asks(p sorts, _ string) bool {
	return p.counted() || len(p.names()) > 0 || len(p.member("")) > 0
}

// choices are the values of a member, and whether it may be absent.
func (y *trial) choices(t *shape, name string, p sorts) (choices []any, absent bool) {
	if t.kind != "object" {
		if t.kind == "map" {
			return y.of(t.elem.shape, p), true
		}
		return p.each(y.any(p)), true
	}
	m := t.property(name)
	switch {
	case m == nil && t.open:
		return p.each(y.any(p)), true
	case m == nil:
		return nil, true
	}
	choices = y.of(m.shape, p)
	if m.presence == "implicit" {
		choices = slices.DeleteFunc(choices, empty)
	}
	if m.def != "" && m.when == "" || m.presence == "always" { // always there
		if m.def != "" {
			choices = append(choices, given(valueOf(m.def)))
		}
		return choices, false
	}
	return choices, !m.required
}

// filled adds entries whose names no schema has, as many as counts tell apart.
func (y *trial) filled(t *shape, p sorts, all []entries) (values []entries) {
	var bounds []*int
	for _, l := range p {
		bounds = append(bounds, l.MinProperties, l.MaxProperties)
		if t.kind == "map" {
			bounds = append(bounds, l.MinItems, l.MaxItems)
		}
	}
	var kinds []any
	choices, _ := y.choices(&shape{kind: map[bool]string{true: "map", false: "any"}[t.kind == "map"], elem: t.elem}, "", p.member(""))
	for _, name := range y.strings(p.names()) {
		if !isWord(name) {
			continue
		}
		for _, v := range choices {
			kinds = append(kinds, entry{name, v, 1})
		}
	}
	kinds = slices.DeleteFunc(kinds, func(v any) bool { return t.kind == "map" && !t.takes(v.(entry)) })
	kinds = p.distinct(kinds, func(l *logic, v any) bool { return l.entry(v.(entry)) }, func(any) bool { return false })
	counts := y.counts(len(kinds), []int{0, 1}, around(bounds...))
	if len(counts)*len(all) > mostTried {
		y.unsure = true
		return nil
	}
	for _, v := range all {
		for _, counts := range counts {
			with := slices.Clone(v)
			for i, n := range counts {
				if e := kinds[i].(entry); n > 0 {
					with = append(with, entry{e.name, e.value, n})
				}
			}
			values = append(values, with)
		}
	}
	return values
}

// takes reports whether a map may have an entry, whatever the others are.
func (t *shape) takes(e entry) bool {
	for _, check := range t.entries.checks {
		if !(&logic{Format: check}).holds(e.name) {
			return false
		}
	}
	return accepts(t.elem.shape, e.value, true)
}

func isWord(v any) bool { _, is := v.(word); return is }
