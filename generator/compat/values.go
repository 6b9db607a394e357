package compat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// rules are the demands of a shape on its values.
type rules struct {
	enum     []string // sorted; nil for any
	openEnum bool     // others are not refused
	text     texts
	bytes    int // math.MaxInt for no limit
	low      bound
	high     bound // negated, so that a greater one is the tighter
	least    int   // elements of a list, entries of a map
	most     int   // math.MaxInt for no limit
	unique   []string
	entries  texts // names in a map
	demands  []schema.Demand
}

// bound is the lower end of an interval.
type bound struct {
	at   float64 // -Inf for none
	open bool    // at itself is not in it
}

// tighter reports whether a bound excludes values that another allows.
func (b bound) tighter(o bound) bool { return b.at > o.at || b.at == o.at && b.open && !o.open }

func rulesOf(s *schema.Schema) rules {
	r := rules{openEnum: s.OpenEnum, text: texts{most: math.MaxInt}, entries: texts{most: math.MaxInt}, bytes: countOf(s.MaxBytes, math.MaxInt),
		least: countOf(s.MinItems, 0), most: countOf(s.MaxItems, math.MaxInt), demands: s.Rules}
	r.text.least, r.text.most = countOf(s.MinLength, 0), countOf(s.MaxLength, math.MaxInt)
	if s.Pattern != "" {
		r.text.patterns = []string{s.Pattern}
	}
	if s.FormatCheck != "" {
		r.text.checks = []string{s.FormatCheck}
	}
	if textual(s) {
		r.text.checks = append(r.text.checks, s.Format)
	}
	if s.KeyCheck != "" {
		r.entries.checks = []string{s.KeyCheck}
	}
	if s.Enum != nil {
		r.enum = slices.Compact(slices.Sorted(slices.Values(s.Enum)))
	}
	if s.Unique != nil {
		r.unique = slices.Sorted(slices.Values(s.Unique))
	}
	r.low = lowest(s.Minimum, s.ExclusiveMinimum)
	r.high = lowest(negative(s.Maximum), negative(s.ExclusiveMaximum))
	if s.Type == "integer" {
		whole := func(b bound, limit float64) bound {
			if up := math.Ceil(b.at); up == b.at && b.open {
				b.at = up + 1
			} else {
				b.at = up
			}
			return bound{at: max(b.at, limit)}
		}
		low, high := -float64(1<<63), -float64(1<<63-1)
		if s.Format == "int32" {
			low, high = -float64(1<<31), -float64(1<<31-1)
		}
		r.low, r.high = whole(r.low, low), whole(r.high, high)
	}
	return r
}

// countOf is a count that a schema may say. 0 as a greatest one is none.
func countOf(n *int, absent int) int {
	if n == nil || *n == 0 {
		return absent
	}
	return *n
}

func negative(v *float64) *float64 {
	if v == nil {
		return nil
	}
	n := -*v
	return &n
}

// lowest is the tighter of an inclusive and an exclusive bound.
func lowest(inclusive, exclusive *float64) bound {
	b := bound{at: math.Inf(-1)}
	if inclusive != nil {
		b.at = *inclusive
	}
	if exclusive != nil {
		if e := (bound{*exclusive, true}); e.tighter(b) {
			b = e
		}
	}
	return b
}

// values compares the rules for the values of a type. Keywords that only few schemas have
// are looked at together with the others: their findings do not count if they allow the same.
func (c *comparison) values(u use, old, now *shape, path string) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	first := len(c.findings)
	c.words(u, old, now, path)
	c.numbers(u, old, now, path)
	c.further(u, old, now, path)
	if found := c.findings[first:]; len(found) > 0 && (old.more.restricts() || now.more.restricts()) {
		same, wider := implied(old, now), implied(now, old)
		c.findings = append(c.findings[:first], slices.DeleteFunc(slices.Clone(found), func(f Finding) bool {
			return f.Rule == "enum-value-added" && wider || f.Rule != "enum-value-added" && same
		})...)
	}
	if old.more.nullable && !now.more.nullable {
		find("rule-added", "may no longer be null")
	}
	for _, text := range now.more.claims {
		if !ruled(old.more.claims, text, absent(old, now, text)) {
			find("rule-added", "has to keep a rule: %s", text)
		}
	}
	for _, text := range now.more.others {
		if !slices.Contains(old.more.others, text) {
			keyword, _, _ := strings.Cut(text, " ")
			find("rule-added", "has to keep another schema: %s", keyword)
		}
	}
	if why := old.entries.within(now.entries); why != "" {
		find("pattern-changed", "has narrower keys: %s", why)
	}
	c.sizes(u, old, now, path)
	for i := range now.demands {
		if d := &now.demands[i]; !fresh(old, now, d) && !demanded(old.demands, d, absent(old, now, d.Finds)) {
			find("rule-added", "has to keep a rule: %s", says(d))
		}
	}
}

// words compares the texts that a type allows.
func (c *comparison) words(u use, old, now *shape, path string) {
	closed := len(old.enum) > 0 && !old.openEnum
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	if now.enum != nil && !now.openEnum && !closed {
		find("enum-added", "takes only %s now", strings.Join(now.enum, ", "))
	}
	for _, v := range old.enum {
		if closed && !old.text.holds(v) {
			continue
		}
		if len(now.enum) > 0 && !now.openEnum && closed && !slices.Contains(now.enum, v) {
			find("enum-value-removed", "no longer takes %q", v)
		} else if closed && !now.text.holds(v) {
			find("pattern-changed", "no longer takes %q", v)
		}
	}
	if old.enum != nil && now.enum == nil {
		find("enum-value-added", "has any value now")
	}
	for _, v := range now.enum {
		if len(old.enum) > 0 && !slices.Contains(old.enum, v) {
			find("enum-value-added", "has the new value %q", v)
		}
	}
	if why := old.textsOf().within(now.text); why != "" && !closed {
		rule := "pattern-changed"
		if strings.HasPrefix(why, "it has to have") || strings.HasPrefix(why, "it may have") {
			rule = "bounds-tightened"
		}
		find(rule, "is a narrower text: %s", why)
	}
}

// says is a rule in short.
func says(d *schema.Demand) string {
	return cmp.Or(d.Why, strings.Join(strings.Fields(d.Finds), " "), pathOf(d))
}

func pathOf(d *schema.Demand) string {
	if len(d.Then) == 0 {
		return ""
	}
	return strings.Join(d.Then[0].Path, ".")
}

// textsOf are the strings of a shape, whose bytes bound their characters, and which are not
// empty where that is the same as absent.
func (t *shape) textsOf() texts {
	set := t.text
	set.most = min(set.most, t.bytes)
	if t.filled {
		set.least = max(set.least, 1)
	}
	return set
}

// numbers compares the bounds of a type.
func (c *comparison) numbers(u use, old, now *shape, path string) {
	what := map[bool]string{true: "Properties", false: "Items"}[now.kind != "list"]
	for _, n := range []struct {
		what    string
		tighter bool
		limit   any
	}{{"the minimum", now.low.tighter(old.low), now.low.at}, {"the maximum", now.high.tighter(old.high), -now.high.at},
		{"min" + what, now.least > old.least || now.more.least > old.more.least, max(now.least, now.more.least)},
		{"max" + what, now.most < old.most || now.more.most < old.more.most, min(now.most, now.more.most)},
		{"multipleOf", now.more.multiple != 0 && (old.more.multiple == 0 || math.Mod(old.more.multiple, now.more.multiple) != 0), now.more.multiple}} {
		if n.tighter {
			c.find(u, "bounds-tightened", now.pos, path, "%s allows less: %v", n.what, n.limit)
		}
	}
}

// sizes compares the bytes of texts, and the members that tell elements of lists apart.
func (c *comparison) sizes(u use, old, now *shape, path string) {
	find := func(format string, args ...any) { c.find(u, "bounds-tightened", now.pos, path, format, args...) }
	bytes := old.bytes
	if m := old.textsOf().plain(); len(m.checks) > 0 && m.most < math.MaxInt { // named checks allow ASCII only
		bytes = min(bytes, m.most)
	}
	if closed := len(old.enum) > 0 && !old.openEnum; now.bytes < bytes &&
		(!closed || slices.ContainsFunc(old.enum, func(v string) bool { return len(v) > now.bytes })) {
		find("x-cluster-max-bytes allows less: %d", now.bytes)
	}
	if now.unique != nil && (old.unique == nil || !coversUnique(old.unique, now.unique)) {
		find("x-cluster-unique allows less: elements may not have the same %s", strings.Join(now.unique, ", "))
	}
}

// coversUnique reports whether elements that differ by some members differ by others too.
func coversUnique(old, now []string) bool {
	if slices.Equal(now, []string{"."}) {
		return true
	}
	return !slices.ContainsFunc(old, func(name string) bool {
		return !slices.Contains(now, name) && !slices.Contains(now, name+"?")
	})
}

// within reports whether all elements of a are in b.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
}

// unlike reports a list of words that differs from another one, in any order.
func unlike(a, b []string) bool { return !within(a, b) || !within(b, a) }

func list(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return fmt.Sprint(strings.Join(words, ", "))
}
