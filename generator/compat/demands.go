package compat

import (
	"math"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// unknown reports whether clients of the old side cannot have sent the member at a path, and
// the new side does not fill it in.
func unknown(old, now *shape, path []string) bool {
	for _, name := range path {
		if old.kind != "object" || now.kind != "object" || old.open {
			return false
		}
		m, was := now.property(name), old.property(name)
		if was == nil {
			return m != nil && !m.defaulted && m.presence != "always"
		}
		if m == nil {
			return false
		}
		old, now = was.shape, m.shape
	}
	return false
}

// fresh reports whether a rule is for objects with a member that the old side did not have.
func fresh(old, now *shape, d *schema.Demand) bool {
	return unknown(old, now, d.Each) || d.Each == nil && slices.ContainsFunc(d.If, func(t schema.Test) bool {
		switch t.Is {
		case schema.Set, schema.Filled, schema.Single, schema.Text, schema.Digits:
			return unknown(old, now, t.Path)
		case schema.In:
			return !slices.Contains(t.Values, "") && unknown(old, now, t.Path)
		}
		return false
	})
}

// absent are the conditions has(self.member) of an expression about members that the old
// side did not have.
func absent(old, now *shape, text string) map[string]bool {
	facts := map[string]bool{}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "has(self.")
		if !found {
			return facts
		}
		path, _, _ := strings.Cut(after, ")")
		if rest = after; unknown(old, now, strings.Split(path, ".")) {
			facts["has(self."+path+")"] = false
		}
	}
}

// demanded reports whether the rules refuse all that another one refuses, if that can be
// seen from their parts. Messages do not matter.
func demanded(given []schema.Demand, d *schema.Demand, facts map[string]bool) bool {
	asStrict := func(o *schema.Demand) bool {
		return slices.Equal(o.Each, d.Each) && followAll(d.If, o.If) && followAll(d.Was, o.Was)
	}
	if d.Finds != "" {
		var finds []string
		for i := range given {
			if asStrict(&given[i]) && given[i].Finds != "" {
				finds = append(finds, given[i].Finds)
			}
		}
		return refuses(finds, d.Finds, facts)
	}
	for i := range d.Then {
		if !slices.ContainsFunc(given, func(o schema.Demand) bool { return o.Finds == "" && asStrict(&o) && followAll(o.Then, d.Then[i:i+1]) }) {
			return false
		}
	}
	return true
}

// followAll reports whether each of the tests follows from one of the given ones.
func followAll(given, tests []schema.Test) bool {
	return !slices.ContainsFunc(tests, func(t schema.Test) bool {
		return !slices.ContainsFunc(given, func(g schema.Test) bool { return follows(&g, &t) })
	})
}

// follows reports whether a value that passes the test g passes the test t.
func follows(g, t *schema.Test) bool {
	if !slices.Equal(g.Path, t.Path) {
		return false
	}
	some := func(values []string) bool { return !slices.Contains(values, "") }
	switch t.Is {
	case schema.Set:
		if g.Is == schema.Filled || g.Is == schema.In && some(g.Values) || g.Is == schema.Single {
			return true
		}
	case schema.Filled:
		if g.Is == schema.In && some(g.Values) || g.Is == schema.Single {
			return true
		}
	case schema.Empty:
		if g.Is == schema.Unset {
			return true
		}
	case schema.NotIn:
		if g.Is == schema.In && !slices.ContainsFunc(g.Values, func(v string) bool { return slices.Contains(t.Values, v) }) {
			return true
		}
	case schema.In:
		if slices.Contains(t.Values, "") && (g.Is == schema.Unset || g.Is == schema.Empty) {
			return true
		}
	case schema.AtLeast:
		if g.Is == schema.Above && slices.Equal(g.Than, t.Than) {
			return true
		}
	}
	if g.Is != t.Is || !slices.Equal(g.Than, t.Than) || g.Most > t.Most {
		return false
	}
	switch g.Is {
	case schema.In, schema.Only:
		return within(g.Values, t.Values)
	case schema.NotIn, schema.Contains, schema.Lacks:
		return within(t.Values, g.Values)
	case schema.Formed:
		return texts{checks: g.Values, most: math.MaxInt}.within(texts{checks: t.Values, most: math.MaxInt}) == ""
	}
	return slices.Equal(g.Values, t.Values)
}
