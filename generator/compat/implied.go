package compat

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// implied reports whether the values that a shape accepts keep the schemas of another one.
// It tries values of all sorts that the schemas tell apart: both sides of each bound, each
// constant and another value, each member and none. Where these are too many it says no.
func implied(old, now *shape) bool {
	if (old.more.nullable == now.more.nullable || now.more.nullable) && looser(now.inline(), old.inline()) {
		return true
	}
	y := &trial{}
	p := sortsOf(now.inline())
	if slices.ContainsFunc(append(p, sortsOf(old.inline())...), (*logic).strange) {
		return false
	}
	return !slices.ContainsFunc(y.of(old, p), func(v any) bool { return !accepts(now, v, false) }) && !y.unsure
}

// word is a text, of a length that no schema tells from those up to another one, that has no more in common with the constants than the
// patterns that it matches and the formats that it has.
type word struct {
	length int
	most   int // math.MaxInt for any
	is     []string
}

// exists reports whether there may be such a word that matches none of some atoms and is none
// of some texts.
func (w word) exists(not, texts []string) bool {
	set := textsIn(w.is)
	set.least, set.most = w.length, w.most
	switch {
	case w.most < 1000:
		set.patterns = append(set.patterns, fmt.Sprintf("^(?s:.{%d,%d})$", w.length, w.most))
	case w.length < 1000:
		set.patterns = append(set.patterns, fmt.Sprintf("^(?s:.{%d,})$", w.length))
	}
	other := "[^\\s\\S]" // nothing
	for _, atom := range not {
		if !strings.HasPrefix(atom, ":") {
			other += "|(?:" + atom + ")"
		} else if set.within(textsIn([]string{atom})) == "" {
			return false
		}
	}
	for _, text := range texts {
		other += "|^" + regexp.QuoteMeta(text) + "$"
	}
	return set.within(textsIn([]string{other})) != ""
}

// textsIn are the texts that match all atoms.
func textsIn(atoms []string) texts {
	t := texts{most: math.MaxInt}
	for _, atom := range atoms {
		if check, is := strings.CutPrefix(atom, ":"); is {
			t.checks = append(t.checks, check)
		} else {
			t.patterns = append(t.patterns, atom)
		}
	}
	return t
}

// empty reports whether a member with the value counts as absent.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case word:
		return v.length == 0
	case series:
		return len(v) == 0
	case entries:
		return len(v) == 0
	}
	return false
}

// series is a list with runs of equal elements.
type series []run

type run struct {
	value any
	n     int
}

// entries are the members of an object; one whose name is a word stands for n of such names.
type entries []entry

type entry struct {
	name, value any
	n           int
}

// given is a value of JSON in the form that is tried.
func given(v any) any {
	switch v := v.(type) {
	case []any:
		all := series{}
		for _, e := range v {
			all = append(all, run{given(e), 1})
		}
		return all
	case map[string]any:
		all := entries{}
		for _, name := range sorted(v) {
			all = append(all, entry{name, given(v[name]), 1})
		}
		return all
	}
	return v
}

// accepts reports whether a shape allows a value by its rules, and those of its members and
// elements if it is deep.
func accepts(t *shape, v any, deep bool) bool {
	if v == nil {
		return t.more.nullable || t.kind == "any"
	}
	if deep && t.kind != "any" && t.kind != "int-or-string" {
		switch v := v.(type) {
		case series:
			deep = !slices.ContainsFunc(v, func(e run) bool { return !accepts(t.elem.shape, e.value, true) })
		case entries:
			deep = !slices.ContainsFunc(v, func(e entry) bool {
				if t.kind == "map" {
					return !accepts(t.elem.shape, e.value, true)
				}
				name, _ := e.name.(string)
				m := t.property(name)
				return m != nil && !accepts(m.shape, e.value, true)
			})
		}
		if !deep {
			return false
		}
	}
	return t.inline().holds(v)
}

// refusesNone reports whether the rules of a member with x-cluster-missing by-rules refuse objects without it: as in the
// server, its words, patterns, checks and bounds judge the empty text or 0.
func (t *shape) refusesNone() bool {
	none := ""
	switch t.kind {
	case "string":
	case "int32", "int64", "number", "int-or-string":
		none = "0"
		if zero := (bound{}); t.low.tighter(zero) || t.high.tighter(zero) {
			return true
		}
	default:
		return false
	}
	refuses := func(pattern string) bool {
		re, err := regexp.Compile(pattern)
		return err == nil && !re.MatchString(none)
	}
	return len(t.enum) > 0 && !t.openEnum || slices.ContainsFunc(t.text.patterns, refuses) ||
		slices.ContainsFunc(t.text.checks, func(check string) bool { return len(document.CheckFormat(check, none)) > 0 })
}

// inline are the rules of a shape as a schema.
func (t *shape) inline() *logic {
	limit := func(n, none int) *int {
		if n == none {
			return nil
		}
		return &n
	}
	l := &logic{MinLength: limit(t.text.least, 0), MaxLength: limit(t.text.most, math.MaxInt)}
	if t.kind == "object" {
		l.MinProperties, l.MaxProperties = limit(t.more.least, 0), limit(t.more.most, math.MaxInt)
	} else {
		l.MinItems, l.MaxItems = limit(t.least, 0), limit(t.most, math.MaxInt)
	}
	low, high := t.low.at, -t.high.at
	switch {
	case math.IsInf(low, 0):
	case t.low.open:
		l.ExclusiveMinimum = &low
	default:
		l.Minimum = &low
	}
	switch {
	case math.IsInf(high, 0):
	case t.high.open:
		l.ExclusiveMaximum = &high
	default:
		l.Maximum = &high
	}
	if t.more.multiple != 0 {
		l.MultipleOf = &t.more.multiple
	}
	for _, text := range t.text.patterns {
		l.AllOf = append(l.AllOf, &logic{Pattern: text})
	}
	for _, check := range t.text.checks {
		l.AllOf = append(l.AllOf, &logic{Format: check})
	}
	if len(t.enum) > 0 && !t.openEnum {
		for _, text := range t.enum {
			l.Enum = append(l.Enum, text)
		}
	}
	for _, text := range t.more.values {
		l.Enum = append(l.Enum, valueOf(text))
	}
	for _, check := range t.entries.checks {
		l.AllOf = append(l.AllOf, &logic{PropertyNames: &logic{Format: check}})
	}
	if t.more.logic != nil {
		l.AllOf = append(l.AllOf, t.more.logic)
	}
	return l
}
