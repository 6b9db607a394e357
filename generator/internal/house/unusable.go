package house

import (
	"cmp"
	"math"
	"reflect"
	"regexp"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/drawing"
	"github.com/capstan-dev/capstan/internal/schema"
)

// unusable finds fields that no value, or not each value that they name, can ever have.
func (c *checker) unusable(p schema.Property, ref schema.Ref) {
	before := len(c.found)
	for _, value := range p.Schema.Enum {
		if why := refuses(p.Schema, value); why != "" {
			c.add(p.Pos, "enum-refused", false, "drop the value, or the "+why, "lists %q, which its %s refuses", value, why)
		} else if !c.usable.Takes(p.Schema, c.in, value) {
			c.add(p.Pos, "enum-refused", false, "drop the value, or make the other keywords wider", "lists %q, which its other keywords refuse", value)
		}
	}
	if s := p.Schema; integer(s) || s.Type == "number" {
		if r := rangeOf(s); r.empty(integer(s)) {
			c.add(p.Pos, "no-number", false, "widen a bound, or drop multipleOf", "can have no number: its bounds and multipleOf exclude each other")
		}
	}
	if f := p.Schema.Further; f != nil {
		for i, branch := range f.OneOf {
			if slices.ContainsFunc(f.OneOf[:i], func(other *schema.Schema) bool { return same(branch, other) }) {
				c.add(p.Pos, "branch-twice", false, "drop one of them, or write anyOf", "has a branch of oneOf twice: no value is of one of them alone")
			}
		}
	}
	if len(c.found) == before {
		c.sorts(p.Pos, p.Schema, ref)
	}
}

// sorts finds schemas that no value keeps, and parts of them that make no difference, by values of all sorts.
func (c *checker) sorts(pos schema.Position, s *schema.Schema, ref schema.Ref) {
	if !c.drawn(ref) && c.usable.Never(s, c.in) {
		if !c.neverBelow(s) {
			c.add(pos, "no-value", false, "drop one of the keywords, or make it wider", "can have no value: its keywords exclude each other")
		}
		return
	}
	for _, idle := range c.usable.Idle(s, c.in) {
		rule := map[bool]string{true: "schema-idle", false: "schema-dead"}[idle.Always]
		c.add(cmp.Or(idle.Pos, pos), rule, idle.Always, idle.Mend, "has keywords in vain: %s", idle.What)
	}
}

// neverBelow reports whether no value keeps a schema since none keeps the type that it refers to, or a member that it
// requires, where the finding is.
func (c *checker) neverBelow(s *schema.Schema) bool {
	if to := c.resolve(place{s, c.in}); to.s != s && c.usable.Never(to.s, to.in) {
		return true
	}
	return slices.ContainsFunc(s.Properties, func(p schema.Property) bool {
		return (s.Publishes(p.Name) || s.Enforces(p.Name)) && c.usable.Never(p.Schema, c.in)
	})
}

// below is the type of a member, or of elements, of a type of the table; None for an unknown one.
func (c *checker) below(of schema.Ref, step string) schema.Ref {
	if of < 0 {
		return of
	}
	r := ruled{table: c.in.GV.Table}
	if at, ok := r.member(of, []string{step}); ok {
		return at
	}
	return schema.None
}

// drawn reports whether a right value of a type is drawn soon: then its keywords do not exclude each other.
func (c *checker) drawn(ref schema.Ref) bool {
	if ref < 0 {
		return false
	}
	table := c.in.GV.Table
	d := drawing.New(table, 1)
	d.Deepest = 2
	decoder := document.Decoder{Table: table, Defaults: noDefaults(table)}
	for range leastTried {
		doc, _, err := decoder.Decode(ref, d.Value(ref))
		if err != nil {
			continue
		}
		right := len(document.Validate(doc.Root(), nil)) == 0
		if doc.Release(); right {
			return true
		}
	}
	return false
}

// refuses names the keyword of a schema that refuses one of its own values; "" for none.
func refuses(s *schema.Schema, value string) string {
	n := len([]rune(value))
	switch pattern, err := regexp.Compile(s.Pattern); {
	case s.MinLength != nil && n < *s.MinLength:
		return "minLength"
	case s.MaxLength != nil && n > *s.MaxLength:
		return "maxLength"
	case err == nil && s.Pattern != "" && !pattern.MatchString(value):
		return "pattern"
	}
	return ""
}

// span is a range of numbers.
type span struct {
	least, most       float64
	leastOut, mostOut bool // the bound itself is not allowed
	multiples         []float64
}

// rangeOf is the range that a schema and its allOf allow.
func rangeOf(s *schema.Schema) span {
	r := span{least: math.Inf(-1), most: math.Inf(1)}
	r.narrow(s)
	return r
}

func (r *span) narrow(s *schema.Schema) {
	raise := func(to *float64, out bool) {
		if to != nil && (*to > r.least || *to == r.least && out) {
			r.least, r.leastOut = *to, out
		}
	}
	lower := func(to *float64, out bool) {
		if to != nil && (*to < r.most || *to == r.most && out) {
			r.most, r.mostOut = *to, out
		}
	}
	raise(s.Minimum, false)
	raise(s.ExclusiveMinimum, true)
	lower(s.Maximum, false)
	lower(s.ExclusiveMaximum, true)
	if s.Further == nil {
		return
	}
	if s.Further.MultipleOf != nil {
		r.multiples = append(r.multiples, *s.Further.MultipleOf)
	}
	for _, also := range s.Further.AllOf {
		r.narrow(also)
	}
}

// empty reports whether no number is in the range, whole ones for integers.
func (r *span) empty(whole bool) bool {
	if r.least > r.most || r.least == r.most && (r.leastOut || r.mostOut) {
		return true
	}
	steps := r.multiples
	if whole {
		steps = append(slices.Clone(steps), 1)
	}
	return slices.ContainsFunc(steps, func(step float64) bool {
		if step <= 0 || math.IsInf(r.least, 0) || math.IsInf(r.most, 0) {
			return false
		}
		first := math.Ceil(r.least/step) * step
		if r.leastOut && first == r.least {
			first += step
		}
		return first > r.most || r.mostOut && first == r.most
	})
}

// same reports whether two schemas say the same, wherever they stand. Those with schemas below them count as different.
func same(a, b *schema.Schema) bool {
	x, y := *a, *b
	x.Pos, y.Pos = schema.Position{}, schema.Position{}
	x.Description, y.Description, x.Title, y.Title = "", "", "", ""
	return reflect.DeepEqual(x, y)
}
