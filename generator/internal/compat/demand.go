package compat

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// asStrict reports whether the rule a refuses all that the rule b refuses, if that can be
// seen from their parts. Messages do not matter.
func asStrict(a, b *schema.Demand) bool {
	return a.Finds == b.Finds && slices.Equal(a.Each, b.Each) && followAll(b.If, a.If) && followAll(b.Was, a.Was) && followAll(a.Then, b.Then)
}

// followAll reports whether each of the tests follows from one of the given ones.
func followAll(given, tests []schema.Test) bool {
	return !slices.ContainsFunc(tests, func(t schema.Test) bool {
		return !slices.ContainsFunc(given, func(g schema.Test) bool { return follows(&g, &t) })
	})
}

// follows reports whether what passes the test g passes the test t.
func follows(g, t *schema.Test) bool {
	if g.Is != t.Is || !slices.Equal(g.Path, t.Path) || !slices.Equal(g.Than, t.Than) || g.Most > t.Most {
		return false
	}
	switch g.Is {
	case schema.In, schema.Only:
		return within(g.Values, t.Values)
	case schema.NotIn, schema.Contains, schema.Lacks:
		return within(t.Values, g.Values)
	}
	return slices.Equal(g.Values, t.Values)
}

// within reports whether all elements of a are in b.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
}
