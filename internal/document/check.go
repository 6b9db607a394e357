package document

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Hooks are the hand-written parts of the validation of types. They see the present
// values only, not those before an update. A table may be used without them.
type Hooks struct {
	// Checks report the mistakes of an object that a schema cannot express, by
	// schema.Type.Check - 1. Paths of causes begin at the document's root.
	Checks []func(Value) []schema.Cause
	// Skips name the members of an object that are not validated, by schema.Type.Skip -
	// 1.
	Skips []func(Value) []string
	// Finds evaluates the expression of a rule: for v, an object or an element of a list
	// in the object of, that was old before an update. Nil: such rules hold.
	Finds func(d *schema.Demand, v, of, old Value) []Finding
}

// Wrong reports whether the last validation found a mistake in an object. A validation
// hook may ask this of values below its own.
func (v Value) Wrong() bool { return v.Kind() == Object && v.d.nodes[v.n].flags&wrong != 0 }

// Chosen is the first set member of those of which an object may have only one, with its
// name; it is absent when none is set.
func (v Value) Chosen() (name string, member Value) {
	table, typ := v.Type()
	if typ == schema.None || table.Types[typ].OneOf == nil {
		return "", Value{}
	}
	t := &table.Types[typ]
	at := len(t.OneOf.Fields)
	for m := v.d.children(v.n); m != 0; m = v.d.nodes[m].next {
		nd := &v.d.nodes[m]
		if i := slices.Index(t.OneOf.Fields[:at], nd.field); i >= 0 && nd.kind != Null {
			at, name, member = i, t.Fields[nd.field].Name, Value{v.d, m}
		}
	}
	return name, member
}

// check adds the causes of a validation hook.
func (c *checker) check(n int32, check func(Value) []schema.Cause, old Value, mark int) {
	if found := check(Value{c.d, n}); len(found) > 0 {
		c.merge(found, old, mark, func() []schema.Cause { return check(old) })
	}
}

// demands adds which rules across its members an object breaks.
func (c *checker) demands(n int32, demands []schema.Demand, old Value, mark int) {
	if found := c.hooks.Broken(Value{c.d, n}, Value{}, demands); len(found) > 0 {
		c.merge(found, old, mark, func() []schema.Cause { return c.hooks.Broken(old, Value{}, demands) })
	}
}

// merge inserts the causes of an object, whose value was old before an update, among
// those of its members since mark, each in its position. inBefore finds the earlier
// mistakes.
func (c *checker) merge(found []schema.Cause, old Value, mark int, inBefore func() []schema.Cause) {
	if c.update && old.Exists() {
		found = StillWrong(found, c.d.Root(), c.before, inBefore)
	}
	c.causes = append(c.causes[:mark], MergeCauses(c.d.Root(), slices.Clone(c.causes[mark:]), found)...)
}

// skipped adds the members that a hook leaves out to the fields that are not validated.
func (c *checker) skipped(n int32, t *schema.Type, fields []uint16) []uint16 {
	for _, name := range c.hooks.Skips[t.Skip-1](Value{c.d, n}) {
		if i := t.Field(name); i >= 0 {
			fields = append(fields, uint16(i))
		}
	}
	return fields
}
