package compat

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// further are the keywords of JSON Schema that restrict values beyond their shape.
type further struct {
	values    []string // canonical JSON of the allowed scalars; nil for any
	multiple  float64  // 0 for any
	least     int      // members of an object
	most      int      // math.MaxInt for no limit
	logic     *logic   // schemas that combine or restrict the value; nil for none
	claims    []string // rules in CEL, spelled as usual
	others    []string // rules that are compared as texts
	nullable  bool     // null is allowed
	keepsNull bool     // null stays null, allowed or not, where there is a default
}

// furtherOf reads the keywords of a schema in documents.
func furtherOf(s *schema.Schema) further {
	f := further{most: math.MaxInt, nullable: s.Nullable, keepsNull: s.Nullable}
	k := s.Further
	if k == nil {
		return f
	}
	if f.values = slices.Sorted(slices.Values(k.Enum)); k.Const != "" {
		f.values = []string{k.Const}
	}
	if k.MultipleOf != nil {
		f.multiple = *k.MultipleOf
	}
	f.least, f.most = countOf(k.MinProperties, 0), countOf(k.MaxProperties, math.MaxInt)
	if l := combined(k); l.String() != "{}" {
		f.logic = l
	}
	return f
}

// restricts reports whether there are keywords that only few schemas have.
func (f *further) restricts() bool { return f.logic != nil || f.values != nil || f.multiple != 0 }

// further compares the keywords of JSON Schema that only few schemas have.
func (c *comparison) further(u use, old, now *shape, path string) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	was, is := old.more, now.more
	switch {
	case is.values == nil && was.values != nil:
		find("enum-value-added", "has any value now")
	case is.values == nil:
	case was.values == nil:
		find("enum-added", "takes only %s now", strings.Join(is.values, ", "))
	default:
		for _, v := range was.values {
			if !slices.Contains(is.values, v) {
				find("enum-value-removed", "no longer takes %s", v)
			}
		}
		if !within(is.values, was.values) {
			find("enum-value-added", "has new values")
		}
	}
	if is.logic != nil && is.logic.String() != fmt.Sprint(was.logic) {
		find("rule-added", "has to keep other schemas: %s", is.logic)
	}
}
