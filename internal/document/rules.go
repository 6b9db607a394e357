package document

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/internal/schema"
)

// rules checks the rules of one value, which was old before an update.
func (c *checker) rules(n int32, t *schema.Type, old Value) {
	r, v, mark := t.Rules, Value{c.d, n}, len(c.causes)
	if r.Further != nil {
		c.further(n, r.Further)
		c.forgive(mark, n, old)
	}
	switch v.Kind() {
	case String:
		c.text(n, t, v)
	case Number:
		value, ok := v.Float()
		if ok {
			c.bounds(n, r, value)
		}
		if r.Format != "" && !(r.Format == "port-number" && value >= 1 && value <= 65535) {
			for _, problem := range CheckFormat(r.Format, Shown(v)) {
				c.invalid(n, problem)
			}
		}
	case Array, Object:
		if t.Kind != schema.Object && (r.MinItems > 0 || r.MaxItems > 0) {
			if count := v.Len(); !c.update || !old.Exists() || count != old.Len() {
				c.count(n, r, count)
			}
		}
		if r.Keys != "" {
			c.keys(v, r.Keys, old)
		}
		if r.MaxBytes > 0 && c.sizeOf(v) > int(r.MaxBytes) {
			c.tooLong(n, r.MaxBytes)
			c.forgive(mark, n, old)
		}
		return
	}
	c.forgive(mark, n, old)
}

// keys checks the names of a map that old does not have.
func (c *checker) keys(m Value, check string, old Value) {
	for e := c.d.children(m.n); e != 0 && len(c.causes) < MaxCauses; e = c.d.nodes[e].next {
		name := c.d.name(e)
		if problems := CheckFormat(check, name); len(problems) > 0 && !old.Get(name).Exists() {
			for _, problem := range problems {
				c.add(schema.CauseInvalid, c.path(e), "Invalid value: "+strconv.Quote(name)+": "+problem)
			}
		}
	}
}

// sizeOf is the number of bytes of the names and texts of a map.
func (c *checker) sizeOf(m Value) int {
	size := 0
	for e := c.d.children(m.n); e != 0; e = c.d.nodes[e].next {
		nd := &c.d.nodes[e]
		size += int(nd.keySize) + int(nd.size) - 2
		if nd.flags&(escaped|keyEscaped) != 0 {
			size += len(c.d.name(e)) + len(Value{c.d, e}.Text()) - int(nd.keySize) - int(nd.size) + 2
		}
	}
	return size
}

func (c *checker) tooLong(n int32, limit uint32) {
	c.add(schema.CauseTooLong, c.path(n), fmt.Sprintf("Too long: must have at most %d bytes", limit))
}

func (c *checker) text(n int32, t *schema.Type, v Value) {
	r := t.Rules
	if t.Kind == schema.Quantity {
		if r.HasMin || r.HasMax {
			if q, err := quantity.Parse(v.Text()); err == nil {
				c.bounds(n, r, q.Float())
			}
		}
		return
	}
	if t.Kind == schema.IntOrString && r.Format == "port-number" {
		r = &schema.Rules{Format: "port-name"} // the other way to name a port
	}
	if len(r.Enum) > 0 && !equalsAny(v, r.Enum) {
		at := n
		if r.AtParent {
			at = c.d.nodes[n].parent
		}
		c.unsupported(c.path(at), c.shown(n), r)
	}
	if r.Pattern == "" && r.Format == "" && r.MinLength == 0 && r.MaxLength == 0 && r.MaxBytes == 0 {
		return
	}
	raw, escapes := v.inside()
	if !escapes && r.Pattern == "" && r.MinLength == 0 && r.MaxLength == 0 && (r.MaxBytes == 0 || len(raw) <= int(r.MaxBytes)) &&
		wellFormed(r.Format, string(raw)) {
		return // a short text is not copied
	}
	s := v.Text()
	if r.MaxBytes > 0 && len(s) > int(r.MaxBytes) {
		c.tooLong(n, r.MaxBytes)
	}
	if length := uint32(utf8.RuneCountInString(s)); length < r.MinLength {
		c.invalid(n, fmt.Sprintf("must be at least %d characters long", r.MinLength))
	} else if r.MaxLength > 0 && length > r.MaxLength {
		c.add(schema.CauseTooLong, c.path(n), fmt.Sprintf("Too long: must have at most %d characters", r.MaxLength))
	}
	if r.Pattern != "" {
		if re := pattern(r.Pattern); re != nil && !re.MatchString(s) {
			c.invalid(n, cmp.Or(r.Why, "must match the pattern "+r.Pattern))
		}
	}
	for _, problem := range CheckFormat(r.Format, s) {
		c.invalid(n, problem)
	}
}

// unsupported adds the cause of a text, at path, that is not one of the allowed ones.
func (c *checker) unsupported(path, shown string, r *schema.Rules) {
	reason, what := schema.CauseNotSupported, "Unsupported value: "
	if r.Invalid {
		reason, what = schema.CauseInvalid, "Invalid value: "
	}
	c.add(reason, path, what+shown+": supported values: "+quoted(r.Enum))
}

// quoted lists texts for messages.
func quoted(texts []string) string {
	list := make([]string, len(texts))
	for i, s := range texts {
		list[i] = strconv.Quote(s)
	}
	return strings.Join(list, ", ")
}

func equalsAny(v Value, texts []string) bool {
	for _, s := range texts {
		if v.Equals(s) {
			return true
		}
	}
	return false
}

func (c *checker) bounds(n int32, r *schema.Rules, value float64) {
	if problem := outside(r, value); problem != "" {
		c.invalid(n, cmp.Or(r.Why, problem))
	}
}

// outside describes how a number breaks its bounds, "" when it keeps them.
func outside(r *schema.Rules, value float64) string {
	number := func(f float64) string { return string(appendFloat(nil, f)) }
	switch {
	case r.HasMin && r.ExclusiveMin && value <= r.Min:
		return "must be greater than " + number(r.Min)
	case r.HasMin && value < r.Min:
		return "must be greater than or equal to " + number(r.Min)
	case r.HasMax && r.ExclusiveMax && value >= r.Max:
		return "must be less than " + number(r.Max)
	case r.HasMax && value > r.Max:
		return "must be less than or equal to " + number(r.Max)
	}
	return ""
}

func (c *checker) count(n int32, r *schema.Rules, count int) {
	if count < int(r.MinItems) {
		c.add(schema.CauseInvalid, c.path(n), fmt.Sprintf("Invalid value: %d: must have at least %d items", count, r.MinItems))
	}
	if r.MaxItems > 0 && count > int(r.MaxItems) && r.Invalid {
		c.invalid(n, r.Why)
	} else if r.MaxItems > 0 && count > int(r.MaxItems) {
		c.add(schema.CauseTooMany, c.path(n), fmt.Sprintf("Too many: %d: must have at most %d items", count, r.MaxItems))
	}
}
