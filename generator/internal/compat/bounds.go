package compat

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// rules compares the rules for the values of a type.
func (c *comparison) rules(s scope, old, now *schema.Schema, path string) {
	switch {
	case len(now.Enum) == 0:
	case len(old.Enum) == 0:
		c.find(s, "enum-added", now.Pos, "%s takes only %s now", path, strings.Join(now.Enum, ", "))
	default:
		for _, value := range old.Enum {
			if !slices.Contains(now.Enum, value) {
				c.find(s, "enum-value-removed", now.Pos, "%s no longer takes %q", path, value)
			}
		}
	}
	if now.Pattern != "" && now.Pattern != old.Pattern {
		c.find(s, "pattern-changed", now.Pos, "%s has to match %s", path, now.Pattern)
	}
	if now.FormatCheck != "" && now.FormatCheck != old.FormatCheck {
		c.find(s, "pattern-changed", now.Pos, "%s has to be a %s", path, now.FormatCheck)
	}
	if now.KeyCheck != "" && now.KeyCheck != old.KeyCheck {
		c.find(s, "pattern-changed", now.Pos, "the keys of %s have to be a %s", path, now.KeyCheck)
	}
	if now.Unique != nil && !slices.Equal(now.Unique, old.Unique) {
		c.find(s, "bounds-tightened", now.Pos, "elements of %s may not have the same %s", path, strings.Join(now.Unique, ", "))
	}
	for _, d := range now.Rules {
		if !slices.ContainsFunc(old.Rules, func(o schema.Demand) bool { return asStrict(&o, &d) }) {
			why := d.Why
			if why == "" && len(d.Then) > 0 {
				why = strings.Join(d.Then[0].Path, ".")
			}
			c.find(s, "rule-added", now.Pos, "%s has to keep a rule: %s", path, why)
		}
	}
	tightened := func(what string, tighter bool) {
		if tighter {
			c.find(s, "bounds-tightened", now.Pos, "%s of %s allows less", what, path)
		}
	}
	oldLow, oldOpen := lower(old)
	low, open := lower(now)
	tightened("the minimum", above(low, open, oldLow, oldOpen))
	oldHigh, oldOpen := upper(old)
	high, open := upper(now)
	tightened("the maximum", above(high, open, oldHigh, oldOpen))
	tightened("minLength", more(now.MinLength, old.MinLength))
	tightened("maxLength", more(negated(now.MaxLength), negated(old.MaxLength)))
	tightened("x-cluster-max-bytes", more(negated(now.MaxBytes), negated(old.MaxBytes)))
	tightened("minItems", more(now.MinItems, old.MinItems))
	tightened("maxItems", more(negated(now.MaxItems), negated(old.MaxItems)))
}

// lower is the lower bound of a schema, and whether it is itself excluded.
func lower(s *schema.Schema) (bound *float64, open bool) {
	if s.ExclusiveMinimum != nil {
		return s.ExclusiveMinimum, true
	}
	return s.Minimum, false
}

// upper is the negated upper bound, so that a greater one is the tighter.
func upper(s *schema.Schema) (bound *float64, open bool) {
	bound, open = s.Maximum, false
	if s.ExclusiveMaximum != nil {
		bound, open = s.ExclusiveMaximum, true
	}
	if bound != nil {
		v := -*bound
		bound = &v
	}
	return bound, open
}

// above reports whether the bound a excludes values that b allowed.
func above(a *float64, aOpen bool, b *float64, bOpen bool) bool {
	switch {
	case a == nil:
		return false
	case b == nil:
		return true
	}
	return *a > *b || *a == *b && aOpen && !bOpen
}

// more reports whether the bound a excludes values that b allowed.
func more(a, b *int) bool { return a != nil && (b == nil && *a != 0 || b != nil && *a > *b) }

func negated(n *int) *int {
	if n == nil {
		return nil
	}
	v := -*n
	return &v
}
