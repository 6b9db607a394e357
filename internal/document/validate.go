package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Validate returns all breaches of the schema's rules in v: required fields, the Rules of
// types and, unless hooks is nil, their validation hooks. Paths begin at the document's
// root.
//
// A required field is missing when it was not sent, and also when it is null, an empty
// string, list or map. An optional string that is always written is not checked while it
// is empty. After 256 causes validation ends.
func Validate(v Value, hooks *Hooks) []schema.Cause {
	t, _ := v.Type()
	if t == nil {
		return nil
	}
	c := checker{d: v.d, table: t, hooks: hooks}
	c.value(v.n, Value{})
	return c.causes
}

// checker collects causes.
type checker struct {
	d      *Document
	table  *schema.Table
	hooks  *Hooks // nil for none
	update bool   // leave out earlier mistakes, see ValidateTouched
	before Value  // with update: the root before the update
	causes []schema.Cause
}

func (c *checker) add(reason, path, message string) {
	c.causes = append(c.causes, schema.Cause{Reason: reason, Message: message, Field: path})
}

func (c *checker) path(n int32) string { return string(c.d.appendPath(nil, n, true)) }

// invalid adds a cause that names the value.
func (c *checker) invalid(n int32, problem string) {
	c.add(schema.CauseInvalid, c.path(n), "Invalid value: "+c.shown(n)+": "+problem)
}

// maxShown bounds the text of a value in a message, in bytes. 1.25 has no bound; here
// MaxCauses values of this size are about as much as a body may have.
const maxShown = 8 << 10

func (c *checker) shown(n int32) string { return Shown(Value{c.d, n}) }

// Shown writes a value for a message, cut where it is long.
func Shown(v Value) string {
	if !v.Exists() {
		return "null"
	}
	return cutText(string(v.AppendJSON(nil)))
}

// cutText is a text for a message, cut where it is long.
func cutText(text string) string {
	if len(text) > maxShown {
		return strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

// MaxCauses bounds the number of collected causes.
const MaxCauses = 256

// value checks n, whose value was old before an update.
func (c *checker) value(n int32, old Value) {
	nd := &c.d.nodes[n]
	if nd.typ >= 0 && c.table.Types[nd.typ].Values != nil {
		c.custom(n, &c.table.Types[nd.typ], old)
		return
	}
	if nd.typ < 0 || len(c.causes) >= MaxCauses || nd.flags&(stored|clean) == stored|clean {
		return
	}
	t, kind := &c.table.Types[nd.typ], nd.kind
	if t.Rules != nil {
		c.rules(n, t, old)
	}
	switch t.Kind {
	case schema.Object:
		if kind != Object {
			return
		}
		mark := len(c.causes)
		c.object(n, t, old)
		if t.Demands != nil {
			c.demands(n, t.Demands.State, old, mark)
		}
		if i := int(t.Check) - 1; i >= 0 && c.hooks != nil && i < len(c.hooks.Checks) {
			c.check(n, c.hooks.Checks[i], old, mark)
		}
		if nd = &c.d.nodes[n]; len(c.causes) > mark {
			nd.flags |= wrong
		} else {
			nd.flags &^= wrong
		}
	case schema.Map, schema.List:
		mark := len(c.causes)
		if elem := t.Elem; elem >= 0 && !c.free(&c.table.Types[elem]) {
			c.children(n, t, old)
		}
		if t.Rules != nil && len(t.Rules.Unique) > 0 {
			if found := c.repeated(n, t.Rules.Unique, old); len(found) > 0 {
				c.causes = append(c.causes[:mark], MergeCauses(c.d.Root(), slices.Clone(c.causes[mark:]), found)...)
			}
		}
	}
}

// children checks the elements of a list or the members of a map.
func (c *checker) children(n int32, t *schema.Type, old Value) {
	if !c.update {
		for m := c.d.children(n); m != 0; m = c.d.nodes[m].next {
			c.value(m, Value{})
		}
		return
	}
	was, _ := before(Value{c.d, n}, old, t)
	i := 0
	for m := c.d.children(n); m != 0; m = c.d.nodes[m].next {
		c.value(m, was[i])
		i++
	}
}

// free reports whether values of a type cannot break a rule.
func (c *checker) free(t *schema.Type) bool {
	return t.Rules == nil && t.Kind != schema.Object && t.Kind != schema.Map && t.Kind != schema.List
}

// object checks the members of an object that may break a rule, and its required members.
func (c *checker) object(n int32, t *schema.Type, old Value) {
	m := c.d.children(n)
	var extra []uint16
	if t.OneOf != nil {
		extra = c.oneOf(n, t, old)
	}
	if t.Skip != 0 && c.hooks != nil && int(t.Skip) <= len(c.hooks.Skips) {
		extra = c.skipped(n, t, extra)
	}
	for _, i := range t.Checks {
		for m != 0 && c.d.nodes[m].field < i {
			m = c.d.nodes[m].next
		}
		f := &t.Fields[i]
		if m == 0 || c.d.nodes[m].field != i {
			if (f.Required || f.ByRules) && !c.lacked(0, old, f.Name) {
				c.without(string(appendField(c.d.appendPath(nil, n, true), f)), f)
			}
			continue
		}
		before := Value{}
		if c.update {
			before = old.Get(f.Name)
		}
		switch {
		case f.Unchecked:
		case (f.Required || f.ByRules) && (c.missing(m) && !(f.MayBeZero && c.wasSent(m)) || f.Nonzero && c.d.isZero(m)):
			if !c.lacked(m, old, f.Name) {
				c.without(c.path(m), f)
			}
		case f.Presence == schema.Always && !f.Required && c.empty(m):
		case extra != nil && slices.Contains(extra, i):
		default:
			c.value(m, before)
		}
	}
}

// without adds the cause of a field without a value.
func (c *checker) without(path string, f *schema.Field) {
	if f.Required {
		c.add(schema.CauseRequired, path, "Required value")
		return
	}
	t := &c.table.Types[f.Type]
	if t.Rules == nil {
		return
	}
	invalid := func(shown, problem string) { c.add(schema.CauseInvalid, path, "Invalid value: "+shown+": "+problem) }
	switch t.Kind {
	case schema.Integer, schema.Number, schema.IntOrString:
		if problem := outside(t.Rules, 0); problem != "" {
			invalid("0", cmp.Or(t.Rules.Why, problem))
		}
		for _, problem := range CheckFormat(t.Rules.Format, "0") {
			invalid("0", problem)
		}
	case schema.String:
		if len(t.Rules.Enum) > 0 {
			c.unsupported(path, `""`, t.Rules)
		}
		for _, problem := range CheckFormat(t.Rules.Format, "") {
			invalid(`""`, problem)
		}
		if re := pattern(t.Rules.Pattern); t.Rules.Pattern != "" && re != nil && !re.MatchString("") {
			invalid(`""`, cmp.Or(t.Rules.Why, "must match the pattern "+t.Rules.Pattern))
		}
	}
}

// oneOf checks the members of which only one may be set, and returns the surplus ones.
func (c *checker) oneOf(n int32, t *schema.Type, old Value) (extra []uint16) {
	if !c.update && c.setOf(n, t.OneOf.Fields) == 1 {
		return nil
	}
	one, first, mark, same := t.OneOf, true, len(c.causes), c.update && old.Exists()
	for i, field := range one.Fields {
		m := c.d.children(n)
		for m != 0 && c.d.nodes[m].field != field {
			m = c.d.nodes[m].next
		}
		set := m != 0 && c.d.nodes[m].kind != Null
		same = same && set == (old.Get(t.Fields[field].Name).Kind() == Object)
		switch {
		case !set:
		case first || one.Names[i] == "":
			first = false
		default:
			extra = append(extra, field)
			c.add(schema.CauseForbidden, string(appendStep(c.d.appendPath(nil, n, true), one.Names[i])), "Forbidden: may not specify more than 1 "+one.What)
		}
	}
	if first && one.Required {
		c.add(schema.CauseRequired, c.path(n), "Required value: must specify a "+one.What)
	}
	if same { // set before the update too
		c.causes = c.causes[:mark]
	}
	return extra
}

// setOf counts the members among fields that are set.
func (c *checker) setOf(n int32, fields []uint16) int {
	count := 0
	for m := c.d.children(n); m != 0; m = c.d.nodes[m].next {
		if nd := &c.d.nodes[m]; nd.kind != Null && slices.Contains(fields, nd.field) {
			count++
		}
	}
	return count
}

// missing reports whether a required member has no value.
func (c *checker) missing(n int32) bool {
	nd := &c.d.nodes[n]
	if nd.kind != Null && nd.typ >= 0 && c.table.Types[nd.typ].Kind == schema.Any {
		return nd.flags&filled != 0 // whatever was sent
	}
	switch nd.kind {
	case Null:
		return true
	case String:
		return nd.size == 2 || nd.flags&filled != 0
	case Array:
		return c.d.childless(n)
	case Object:
		if nd.typ >= 0 && c.table.Types[nd.typ].Kind == schema.Map {
			return c.d.childless(n)
		}
		return nd.flags&filled != 0
	}
	return nd.flags&filled != 0
}

// wasSent reports whether a member has a value of its author, maybe an empty one.
func (c *checker) wasSent(n int32) bool {
	nd := &c.d.nodes[n]
	return nd.kind != Null && nd.flags&filled == 0
}

// empty reports whether a member is null or the empty string.
func (c *checker) empty(n int32) bool {
	nd := &c.d.nodes[n]
	return nd.kind == Null || nd.kind == String && nd.size == 2
}
